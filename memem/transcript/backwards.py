"""Read a session's file backwards from a place in it."""

import io
from collections.abc import Iterator
from typing import BinaryIO

from memem.transcript import lookback
from memem.transcript.objects import IMAGE_DATA, objects
from memem.transcript.turns import TranscriptLine, read

BLOCK_BYTES = 4_000_000
_MIN_IMAGE_BYTES = 20_000  # shorter rows are parsed with their images


def read_back(file: BinaryIO, end: int, most_bytes: int, session: str) -> Iterator[TranscriptLine]:
    """Yield the lines before an offset, the last one first; some of them twice if the file is damaged."""
    for start, data in _read_blocks(file, end, most_bytes):
        yield from _parse_lines(file, start, data, session)


def _read_blocks(file: BinaryIO, end: int, most_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole rows, each with its offset, the last one first."""
    first, size = max(0, end - most_bytes), BLOCK_BYTES
    while end > first:
        start = max(first, end - size)
        file.seek(start)
        data = file.read(end - start)
        row = data.find(b"\n") + 1 if start else 0
        if start and row in (0, len(data)):  # one long row
            if start == first:
                return
            size *= 2
            continue
        end, size = start + row if start > first else first, BLOCK_BYTES
        yield start + row, data[row:]


def _parse_lines(file: BinaryIO, start: int, data: bytes, session: str) -> Iterator[TranscriptLine]:
    end = len(data)
    for row in reversed(data.split(b"\n")):
        end -= len(row)
        found = list(objects(io.BytesIO(_strip_images(row))))
        if not found and row.strip():  # torn, or a part of an object over many rows: only reading on finds that
            whole = objects(io.BytesIO(data))
            lines = [read(each.value, session, lookback.look_back(file, start + each.start)) for each in whole]
            yield from reversed(lines)
            return
        for each in reversed(found):
            yield read(each.value, session, lookback.look_back(file, start + end + each.start))
        end -= 1


def _strip_images(row: bytes) -> bytes:
    return IMAGE_DATA.sub(b"", row) if len(row) > _MIN_IMAGE_BYTES else row
