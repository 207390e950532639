"""What is new in a transcript since it was last read.

A cursor is only a fast way back to where reading ended. It is trusted while the file is the same, and the bytes before
it are; otherwise all is read again, and whoever reads knows by their uuids which turns are old.
"""

import hashlib
import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from memem.core import plain
from memem.core.mining import Turn
from memem.transcript.objects import objects
from memem.transcript.turns import Line, read

CHECKED = 4096
_SIGNED = 2**63 - 1  # some file systems have larger inodes than a database can hold


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a file; `check` is a digest of the bytes before it."""

    inode: int
    offset: int
    check: str


@dataclass(frozen=True, slots=True)
class Step:
    """An object of a transcript, and the offset just behind it."""

    line: Line
    end: int


def cursor_at(file: BinaryIO, offset: int) -> Cursor:
    start = max(0, offset - CHECKED)
    file.seek(start)
    check = hashlib.blake2b(file.read(offset - start), digest_size=16).hexdigest()
    return Cursor(os.fstat(file.fileno()).st_ino & _SIGNED, offset, check)


def start_of(file: BinaryIO, cursor: Cursor | None) -> int:
    """Where to read on: at the cursor, or from the beginning of a file that is another one or was rewritten."""
    if cursor is None or not 0 <= cursor.offset <= os.fstat(file.fileno()).st_size:
        return 0
    return cursor.offset if cursor_at(file, cursor.offset) == cursor else 0


def steps(file: BinaryIO, start: int, session: str) -> Iterator[Step]:
    """One step for each object from an offset on; reading may end behind any of them, and begin there again."""
    for found in objects(file, start):
        yield Step(read(found.value, session), found.end)


def find_turn(path: Path, uuid: str, around: int = 2) -> tuple[list[Turn], int] | None:
    """A turn with its neighbours, and its place among them; None when the file, or the turn, is gone."""
    before: deque[Turn] = deque(maxlen=around)
    try:
        with plain.open_plain(path) as file:
            turns = _turns(file, path.stem)
            for turn in turns:
                if turn.uuid == uuid:
                    return [*before, turn, *islice(turns, around)], len(before)
                before.append(turn)
    except OSError:
        return None  # Claude Code deletes transcripts after 30 days
    return None


def _turns(file: BinaryIO, session: str) -> Iterator[Turn]:
    return (step.line.turn for step in steps(file, 0, session) if step.line.turn)
