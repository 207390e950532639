"""Real sessions of Claude Code, growing as they did, and a slow reader of them, made without a look at the other one.

They are not part of the project: MEMEM_BENCH_DATA names a folder with `transcripts/` in it.
"""

import gzip
import json
import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DATA = os.environ.get("MEMEM_BENCH_DATA")
SESSIONS = sorted(Path(DATA, "transcripts").iterdir()) if DATA else []
NEEDS_DATA = pytest.mark.skipif(not DATA, reason="MEMEM_BENCH_DATA names no folder with the evaluation files")


def grown(session: Path, path: Path, cuts: int, read: Callable[[], object]) -> Iterator[list[str]]:
    """Let a file grow through all states that a session was seen in, cut anywhere, and read it after each cut.

    Yields, whenever a state is complete, the uuids of all that people have said up to it.
    """
    chance = random.Random(session.name)  # noqa: S311
    states = snapshots(session)
    expected: dict[str, None] = {}
    written = b""
    for data in states:
        if not data.startswith(written):
            written = b""  # rewritten in place
        for cut in [*sorted(chance.randrange(len(data)) for _ in range(cuts // len(states))), len(data)]:
            if cut > len(written):
                with path.open("ab" if written else "wb") as file:
                    file.write(data[len(written) : cut])
                written = data[:cut]
            read()
        expected |= dict.fromkeys(people(data))
        yield list(expected)


def snapshots(session: Path) -> list[bytes]:
    paths = sorted(session.glob("*.jsonl.gz"), key=lambda path: int(path.name.split(".")[0]))
    return [gzip.decompress(path.read_bytes()) for path in paths]


def every_object(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.decode("utf-8", "replace").split("\n"):
        rest = line.strip()
        while rest.startswith("{"):
            value, end = json.JSONDecoder().raw_decode(rest)
            yield value
            rest = rest[end:].strip()


def is_of_a_person(value: dict[str, Any]) -> bool:
    marks = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "toolUseResult")
    if value.get("type") != "user" or any(value.get(mark) for mark in marks):
        return False
    content = value["message"]["content"]
    if not isinstance(content, str):
        if any(block["type"] == "tool_result" for block in content):
            return False
        content = "\n".join(block["text"] for block in content if block["type"] == "text")
    words = re.sub(r"<(system-reminder|ide_\w+)>.*?</\1>", "", content, flags=re.DOTALL).strip()
    return bool(words) and not words.startswith(
        ("<command-", "<local-command-", "<bash-", "[Request interrupted", "Caveat: The messages below")
    )


def people(data: bytes) -> list[str]:
    """The uuids of what people said, without those that a file repeats."""
    return list(dict.fromkeys(value["uuid"] for value in every_object(data) if is_of_a_person(value)))
