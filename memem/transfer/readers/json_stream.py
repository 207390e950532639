"""Read the values of a JSON file one by one, so that a list of any length never has to fit in memory."""

import codecs
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import IO, Any

from memem.core.errors import InputError

BLOCK_BYTES = 1 << 16
MAX_VALUE_BYTES = 64_000_000  # of one element of the list, or of the object
MAX_DEPTH = 200

_DEPTH_CHANGES = {"start_array": 1, "start_map": 1, "end_array": -1, "end_map": -1}


def values(file: IO[bytes]) -> Iterator[Any]:
    """Yield the elements of the file's list, or its one object. Raises InputError."""
    import ijson

    root, depth, pending_bytes, builder = "", 0, 0, None
    for block_bytes, events in _parse_blocks(file):
        pending_bytes += block_bytes
        for event, value in events:
            depth += _DEPTH_CHANGES.get(event, 0)
            if depth > MAX_DEPTH:
                raise InputError(f"it is nested more than {MAX_DEPTH} levels deep")
            if not root:
                root = event
                if root == "start_array":
                    continue
                if root != "start_map":
                    raise InputError("it contains neither a JSON list nor a JSON object")
            if depth == 0 and root == "start_array":
                continue
            builder = builder or ijson.ObjectBuilder()
            builder.event(event, value)
            if depth == (root == "start_array"):
                yield builder.value
                builder, pending_bytes = None, 0
        if pending_bytes > MAX_VALUE_BYTES:
            raise InputError(f"it contains a value of more than {MAX_VALUE_BYTES // 1_000_000} MB")


def _parse_blocks(file: IO[bytes]) -> Iterator[tuple[int, list[tuple[str, Any]]]]:
    """Yield the size of each block read, and its parser events; also those before an error."""
    import ijson

    events = ijson.sendable_list()
    parser = ijson.basic_parse_coro(events, use_float=True)  # without it, a number of 5,000 digits crashes Python
    start = file.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)
    for block in chain([start] if start else [], iter(partial(file.read, BLOCK_BYTES), b""), [b""]):
        problem = ""
        try:
            if block:
                parser.send(block)
            else:
                parser.close()
        except (ijson.JSONError, ValueError) as error:
            is_encoding = isinstance(error, UnicodeDecodeError) or "UTF8" in str(error)
            problem = "it is not UTF-8 text" if is_encoding else "it is not valid JSON, or it is incomplete"
        yield len(block), events
        events.clear()
        if problem:
            raise InputError(problem)
