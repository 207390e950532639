"""The lines of a transcript, one by one and never more of them in memory than is needed."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

LONGEST = 8 * 1024 * 1024
"""In bytes. The longest line in 700 MB of real transcripts has one; what is longer is not prose."""
PASSED_OVER = b"?\n"
"""Stands for a line that is too long: no JSON, so nothing is found in it or across it."""
_BLOCK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Row:
    """A line, or what is left of one behind an object; `ended` says whether its newline has been written yet."""

    start: int
    data: bytes
    ended: bool


class Rows:
    """The rows of a file from an offset on. Those that were taken in vain can be given back."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._ahead: deque[Row] = deque()
        self._file = _lines(file, start)

    def take(self) -> Row | None:
        return self._ahead.popleft() if self._ahead else next(self._file, None)

    def give_back(self, *rows: Row) -> None:
        self._ahead.extendleft(reversed(rows))


def _lines(file: BinaryIO, start: int) -> Iterator[Row]:
    file.seek(start)
    while data := file.readline(LONGEST + 1):
        if len(data) <= LONGEST:
            yield Row(start, data, data.endswith(b"\n"))
            start += len(data)
        else:
            size = len(data)
            while data and not data.endswith(b"\n"):
                data = file.readline(_BLOCK)
                size += len(data)
            if data:
                yield Row(start, PASSED_OVER, True)
            start += size
        if not data.endswith(b"\n"):
            return  # the rest of this line may be written at any moment, and is no line of its own
