"""Read a session's file: new turns, its end, repeated and pasted words, the digest of work.

A cursor is a shortcut to where reading ended. It is trusted while the file and the bytes before it are the same;
otherwise everything is read again, and old turns are recognised by their uuids.
"""

import hashlib
import io
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from memem.core import safe_open
from memem.core.conversation import HUMAN, Cursor, Turn
from memem.core.home import OWN_FOLDER
from memem.transcript import harness
from memem.transcript.objects import objects
from memem.transcript.turns import LONGEST_ITEM, TranscriptLine, Work, read

CHECKED = 4096
_SIGNED = 2**63 - 1  # some file systems have larger inodes than a database can hold


@dataclass(frozen=True, slots=True)
class TranscriptStep:
    """An object of a transcript, and the offset behind it."""

    line: TranscriptLine
    end: int


def cursor_at(file: BinaryIO, offset: int) -> Cursor:
    start = max(0, offset - CHECKED)
    file.seek(start)
    digest = hashlib.blake2b(file.read(offset - start), digest_size=16).hexdigest()
    return Cursor(os.fstat(file.fileno()).st_ino & _SIGNED, offset, digest)


def start_of(file: BinaryIO, cursor: Cursor | None) -> int:
    """Return where to read on: the cursor, or 0 if the file was replaced or rewritten."""
    if cursor is None or not 0 <= cursor.offset <= os.fstat(file.fileno()).st_size:
        return 0
    return cursor.offset if cursor_at(file, cursor.offset) == cursor else 0


def steps(file: BinaryIO, start: int, session: str) -> Iterator[TranscriptStep]:
    """Yield a step for each object from an offset on; reading may stop and resume behind any of them."""
    for found in objects(file, start):
        yield TranscriptStep(read(found.value, session), found.end)


def find_turn(path: Path, uuid: str, around: int = 2) -> tuple[list[Turn], int] | None:
    """Return a turn with its neighbours, and its place among them; None if the file or the turn is gone."""
    before: deque[Turn] = deque(maxlen=around)
    try:
        with safe_open.open_plain(path) as file:
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


def find_sessions(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield every session file in these folders and their project folders, except sub-agents' and memem's own."""
    for folder in folders:
        entries = _entries(folder)
        yield from _sessions(entries)
        for entry in entries:
            # Claude Code names a project's folder after its path, with a dash for every slash.
            if entry.is_dir(follow_symlinks=False) and not entry.name.endswith(f"-{OWN_FOLDER}"):
                yield from _sessions(_entries(Path(entry.path)))


def _sessions(entries: list[os.DirEntry[str]]) -> Iterator[Path]:
    for entry in entries:
        is_session = entry.name.endswith(".jsonl") and not entry.name.startswith("agent-")
        if is_session and entry.is_file(follow_symlinks=False):
            yield Path(entry.path)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """List a folder by name; empty if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


WIDER = 512 * 1024  # Bytes of a second look: in two of five real sessions the last prompt is more than 64 KB back.
MOST_FILES = 12
# What a line has in it that holds neither words nor the name of a file. In a text these quotes would be escaped.
_UNSPOKEN = (b'"tool_result"', b'"isSidechain":true', b'"type":"progress"')
_THOUGHT, _TEXT = b'"type":"thinking"', b'"type":"text"'


class Recent(NamedTuple):
    """The last turns, oldest first, and the files read or written since the first of them, latest first."""

    turns: tuple[Turn, ...] = ()
    files: tuple[str, ...] = ()


def recent(path: Path, *, turns: int = 4, most_bytes: int = 65_536, unless: str = "") -> Recent:
    """Read the end of a transcript. `unless` is the prompt being answered."""
    prompt, found = harness.typed_text(unless), Recent()
    for size in dict.fromkeys((most_bytes, max(most_bytes, WIDER))):
        data, is_whole = _tail(path, size)
        found = _recent(_backwards(data, path.stem), turns, prompt)
        if is_whole or any(turn.role == HUMAN for turn in found.turns):
            break
    return found


def _tail(path: Path, size: int) -> tuple[bytes, bool]:
    """Return the last whole lines of a file, and whether these are all."""
    try:
        with safe_open.open_plain(path) as file:
            start = max(0, os.fstat(file.fileno()).st_size - size)
            file.seek(start)
            data = file.read(size)
    except (OSError, ValueError):  # gone, not ours to read, or no name of a file at all
        return b"", True
    return (data.partition(b"\n")[2] if start else data), not start


def _backwards(data: bytes, session: str) -> Iterator[TranscriptLine]:
    """Yield what the lines mean, the last one first."""
    for row in reversed(data.split(b"\n")):
        is_thought = _THOUGHT in row and _TEXT not in row
        if not is_thought and not any(mark in row for mark in _UNSPOKEN):
            for found in reversed(list(objects(io.BytesIO(row)))):
                yield read(found.value, session)


def _recent(lines: Iterator[TranscriptLine], turns: int, prompt: str) -> Recent:
    """Collect enough turns, including one of the person's, which the others are about."""
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


MOST_CHARACTERS = 1_000_000  # of tools' output, the latest, that turns are compared with
MOST_OF_ONE = 100_000  # characters of one output; Claude is shown no more
RUN = {"human": 10, "assistant": 6}  # words in a row that are not equal by chance; a person may type what is in a file
TYPED = 6_000  # characters; in a longer message only the first and last paragraph were typed
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"(?:^[ \t]*>.*\n?)+", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s*\n")


class Outputs:
    """Tools' output, to recognise turns that repeat it."""

    def __init__(self) -> None:
        self._outputs: deque[_Output] = deque()
        self._size = 0

    def add(self, texts: Iterable[str]) -> None:
        for text in texts:
            self._outputs.append(_Output(text[:MOST_OF_ONE]))
            self._size += len(self._outputs[-1].text)
        while self._size > MOST_CHARACTERS:
            self._size -= len(self._outputs.popleft().text)

    def repeated(self, role: str, text: str) -> tuple[str, ...]:
        """Return the parts of a turn that a tool has output before, word for word."""
        if not self._size:
            return ()
        size, spans = RUN[role], list[tuple[int, int]]()
        known = [output.runs(size) for output in self._outputs]
        found = list(_WORD.finditer(text))
        for at, run in enumerate(_hashes([each.group().casefold() for each in found], size)):
            if any(run in runs for runs in known):
                begin = spans.pop()[0] if spans and spans[-1][1] >= found[at].start() else found[at].start()
                spans.append((begin, found[at + size - 1].end()))
        return tuple(dict.fromkeys(text[start:end] for start, end in spans))


class _Output:
    """The output of one tool, and its runs of words, computed on demand."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._runs: dict[int, frozenset[int]] = {}

    def runs(self, size: int) -> frozenset[int]:
        if size not in self._runs:
            self._runs[size] = frozenset(_hashes(_WORD.findall(self.text.casefold()), size))
        return self._runs[size]


def pasted(text: str) -> tuple[str, ...]:
    """Return the parts of a person's message that are not their own words."""
    parts = [match.group() for match in _FENCE.finditer(text)]
    parts += [match.group() for match in _QUOTED.finditer(text)]
    if len(text) > TYPED:
        parts += _PARAGRAPH.split(text)[1:-1]
    return tuple(part.strip() for part in parts if part.strip())


def _hashes(words: list[str], size: int) -> Iterable[int]:
    """Hash each run of `size` words."""
    return map(hash, zip(*(words[start:] for start in range(size)), strict=False))


def digest(works: Sequence[Work], most: int = 1_200) -> str:
    """List files, commands and errors, each once and in order, in at most `most` characters."""
    parts = [
        ("files touched: ", ", ", _distinct(name for work in works for name in work.files)),
        ("commands run: ", "; ", _distinct(command for work in works for command in work.commands)),
        ("errors seen: ", "; ", _distinct(error for work in works for error in work.errors)),
    ]
    lines: list[str] = []
    left = most
    for number, (label, between, items) in enumerate(parts):
        share = left // (len(parts) - number)  # what one kind leaves unused is there for the next
        if line := _line(label, between, items, share - 1):
            lines.append(line)
            left -= len(line) + 1
    return "\n".join(lines)


def _line(label: str, between: str, items: list[str], most: int) -> str:
    """Join as many items as fit; empty if none does."""
    line = ""
    for item in items:
        longer = f"{line}{between}{item}" if line else f"{label}{item}"
        if len(longer) > most:
            break
        line = longer
    return line


def _distinct(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, (" ".join(item.split()) for item in items))))
