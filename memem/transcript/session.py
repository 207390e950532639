"""Read a session's file: new turns, its end."""

import hashlib
import io
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from memem.core import safe_open
from memem.core.conversation import HUMAN, Cursor, Turn
from memem.core.files import from_json
from memem.core.home import OWN_FOLDER
from memem.transcript import harness, lookback
from memem.transcript.objects import objects
from memem.transcript.turns import TranscriptLine, read
from memem.transcript.work import LONGEST_ITEM

CHECKED_BYTES = 4096  # before a cursor
_SIGNED = 2**63 - 1  # some file systems have larger inodes than a database can hold


class TranscriptStep(NamedTuple):
    line: TranscriptLine
    end: int  # the offset behind it


def cursor_at(file: BinaryIO, offset: int) -> Cursor:
    start = max(0, offset - CHECKED_BYTES)
    file.seek(start)
    digest = hashlib.blake2b(file.read(offset - start), digest_size=16).hexdigest()
    return Cursor(os.fstat(file.fileno()).st_ino & _SIGNED, offset, digest)


def start_of(file: BinaryIO, cursor: Cursor | None) -> int:
    """Return where to read on: the cursor while file and bytes before it are the same, or 0."""
    if cursor is None or not 0 <= cursor.offset <= os.fstat(file.fileno()).st_size:
        return 0
    return cursor.offset if cursor_at(file, cursor.offset) == cursor else 0


def steps(file: BinaryIO, start: int, session: str) -> Iterator[TranscriptStep]:
    """Yield a step for each object from an offset on; reading may stop and resume behind any of them."""
    for each in objects(file, start):
        yield TranscriptStep(read(each.value, session, lookback.look_back(file, each.start)), each.end)


def find_turn(path: Path, uuid: str, around: int = 2) -> tuple[list[Turn], int] | None:
    """Return a turn with its neighbours, and its place among them; None if the file or the turn is gone."""
    before: deque[Turn] = deque(maxlen=around)
    try:
        with safe_open.open_plain(path) as file:
            turns = (step.line.turn for step in steps(file, 0, path.stem) if step.line.turn)
            for turn in turns:
                if turn.uuid == uuid:
                    return [*before, turn, *islice(turns, around)], len(before)
                before.append(turn)
    except OSError:
        return None  # Claude Code deletes transcripts after 30 days
    return None


def find_sessions(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield every session file in these folders and their project folders, except sub-agents' and memem's own."""
    for folder in folders:
        entries = _entries(folder)
        # Claude Code names a project's folder after its path, with a dash for every slash.
        projects = (entry for entry in entries if not entry.name.endswith(f"-{OWN_FOLDER}"))
        inner = (_entries(entry.path) for entry in projects if entry.is_dir(follow_symlinks=False))
        for entry in chain(entries, chain.from_iterable(inner)):
            is_session = entry.name.endswith(".jsonl") and not entry.name.startswith("agent-")
            if is_session and entry.is_file(follow_symlinks=False):
                yield Path(entry.path)


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


HEAD_BYTES = 65_536
_CWD = re.compile(rb'"cwd":\s*("(?:[^"\\]|\\.)*")')


def read_folder(path: Path) -> str:
    """Return the folder that a session was started in, from the head of its file; empty if it names none."""
    try:
        with safe_open.open_plain(path) as file:
            match = _CWD.search(file.read(HEAD_BYTES))
            return str(from_json(match[1])) if match else ""
    except (OSError, ValueError):
        return ""


WIDER_BYTES = 512 * 1024  # in two of five real sessions the last prompt is more than 64 KB back
MAX_FILES = 12
# Marks of lines with neither words nor names of files. In a text these quotes would be escaped.
_SKIPPED = (b'"isSidechain":true', b'"type":"progress"')
_RESULT = b'"tool_result"'
# A result that contains a person's words or precedes them in its line.
_SPOKEN_RESULT = re.compile(
    rb"the user said:|questions have been answered|[Uu]ser (?:has )?answered|approved your plan"
    rb"|\},\s*\{\"type\":\s*\"text\""
)
_THOUGHT, _TEXT = b'"type":"thinking"', b'"type":"text"'


class Recent(NamedTuple):
    """The last turns, oldest first, and the files read or written since the first of them, latest first."""

    turns: tuple[Turn, ...] = ()
    files: tuple[str, ...] = ()


def recent(path: Path, *, turns: int = 4, most_bytes: int = 65_536, unless: str = "") -> Recent:
    """Read the end of a transcript. `unless` is the prompt being answered."""
    prompt, result = harness.typed_text(unless), Recent()
    for size in dict.fromkeys((most_bytes, max(most_bytes, WIDER_BYTES))):
        data, is_whole = _tail(path, size)
        result = _recent(_read_backwards(data, path.stem), turns, prompt)
        if is_whole or any(turn.role == HUMAN for turn in result.turns):
            break
    return result


def _tail(path: Path, size: int) -> tuple[bytes, bool]:
    try:
        with safe_open.open_plain(path) as file:
            start = max(0, os.fstat(file.fileno()).st_size - size)
            file.seek(start)
            data = file.read(size)
    except (OSError, ValueError):  # gone, unreadable, or not a valid name
        return b"", True
    return (data.partition(b"\n")[2] if start else data), not start


def _read_backwards(data: bytes, session: str) -> Iterator[TranscriptLine]:
    end = len(data)
    for row in reversed(data.split(b"\n")):
        end -= len(row)
        if not _is_skipped(row):
            for each in reversed(list(objects(io.BytesIO(row)))):
                yield read(each.value, session, lookback.look_back_in(data, end))
        end -= 1


def _is_skipped(row: bytes) -> bool:
    is_thought = _THOUGHT in row and _TEXT not in row
    is_silent = _RESULT in row and not _SPOKEN_RESULT.search(row)
    return is_thought or is_silent or any(mark in row for mark in _SKIPPED)


def _recent(lines: Iterator[TranscriptLine], turns: int, prompt: str) -> Recent:
    """Collect enough turns, including one of the person's, which the others are about."""
    collected: list[Turn] = []
    files: dict[str, None] = {}
    for line in lines:
        if line.work:
            files |= dict.fromkeys(reversed(line.work.files))
        if not line.turn:
            continue
        is_person = line.turn.role == HUMAN
        if is_person and not collected and line.turn.text == prompt:
            continue
        if any(turn.uuid == line.turn.uuid for turn in collected):
            continue  # a queued prompt, which may be stored twice
        if len(collected) < turns:
            collected.append(line.turn)
        elif is_person:
            collected[-1] = line.turn
        if len(collected) == turns and any(turn.role == HUMAN for turn in collected):
            break
    whole = (file for file in files if len(file) < LONGEST_ITEM)  # a longer name was cut
    return Recent(tuple(reversed(collected)), tuple(whole)[:MAX_FILES])
