"""The end of a conversation: what was just said, and which files are being worked on.

Read while somebody waits: backwards from the end of the file until a person has spoken, without the output of tools,
which is most of it. An object that is not on one line is passed over here; mining reads those too.
"""

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memem.core import plain
from memem.core.mining import HUMAN, Turn
from memem.transcript import harness
from memem.transcript.objects import objects
from memem.transcript.turns import LONGEST_ITEM, Line, read

WIDER = 512 * 1024
"""In bytes: how far back a second look goes. In two of five real prompts the last one is further away than 64 KB."""
MOST_FILES = 12
# What a line has in it that holds neither words nor the name of a file. In a text these quotes would be escaped.
_UNSPOKEN = (b'"tool_result"', b'"isSidechain":true', b'"type":"progress"')
_THOUGHT, _TEXT = b'"type":"thinking"', b'"type":"text"'


class Recent(NamedTuple):
    """The last turns, oldest first, and the files that were read or written since the first of them, latest first."""

    said: tuple[Turn, ...] = ()
    files: tuple[str, ...] = ()


def recent(path: Path, *, turns: int = 4, most_bytes: int = 65_536, unless: str = "") -> Recent:
    """The end of a transcript; nothing when there is none. `unless` is the prompt that is being asked right now."""
    prompt, found = harness.said(unless), Recent()
    for size in dict.fromkeys((most_bytes, max(most_bytes, WIDER))):
        data, is_whole = _tail(path, size)
        found = _recent(_backwards(data, path.stem), turns, prompt)
        if is_whole or any(turn.role == HUMAN for turn in found.said):
            break
    return found


def _tail(path: Path, size: int) -> tuple[bytes, bool]:
    """The last lines of a file, without the part of one that they begin with; and whether these are all it has."""
    try:
        with plain.open_plain(path) as file:
            start = max(0, os.fstat(file.fileno()).st_size - size)
            file.seek(start)
            data = file.read(size)
    except (OSError, ValueError):  # gone, not ours to read, or no name of a file at all
        return b"", True
    return (data.partition(b"\n")[2] if start else data), not start


def _backwards(data: bytes, session: str) -> Iterator[Line]:
    """What the lines mean, the last one first."""
    for row in reversed(data.split(b"\n")):
        is_thought = _THOUGHT in row and _TEXT not in row
        if not is_thought and not any(mark in row for mark in _UNSPOKEN):
            for found in reversed(list(objects(io.BytesIO(row)))):
                yield read(found.value, session)


def _recent(lines: Iterator[Line], turns: int, prompt: str) -> Recent:
    """Enough turns, and a person's among them: all that Claude says between its tools is about that one."""
    said: list[Turn] = []
    files: dict[str, None] = {}
    for line in lines:
        if line.work:
            files |= dict.fromkeys(reversed(line.work.files))
        if not line.turn:
            continue
        is_person = line.turn.role == HUMAN
        if is_person and not said and line.turn.text == prompt:
            continue
        if len(said) < turns:
            said.append(line.turn)
        elif is_person:
            said[-1] = line.turn
        if len(said) == turns and any(turn.role == HUMAN for turn in said):
            break
    whole = (file for file in files if len(file) < LONGEST_ITEM)  # a name that was cut is not that of a file any more
    return Recent(tuple(reversed(said)), tuple(whole)[:MOST_FILES])
