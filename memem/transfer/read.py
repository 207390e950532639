"""The items of a source: what each format says, as memories that nobody has judged yet."""

from __future__ import annotations

import os
import re
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from memem.core import safe_open
from memem.core.conversation import GENERAL_SCOPE, HUMAN, Operation, Turn
from memem.core.dates import moment
from memem.core.errors import InputError, NoteError, NoteUnreadable, SettingsError
from memem.core.files import from_json
from memem.core.memory import GENERAL, ID8, KINDS, STATUSES, Memory, classify_layer
from memem.core.trust import SPEECH
from memem.mine import prompt, rules
from memem.safety.gate import MAX_TITLE, clean_line, clean_text
from memem.transfer.items import Item
from memem.transfer.readers import chats, claude_mem, instructions, json_stream
from memem.transfer.sources import CHATS, CLAUDE_MEM, INDEX, INSTRUCTIONS, REMEMBERED, Source
from memem.vault import note as notes
from memem.vault.note import Note
from memem.vault.store import MAX_NOTE_BYTES

if TYPE_CHECKING:
    from memem.workspace import Workspace


MOST_UNPACKED = 4_000_000_000
"""Bytes of a file in an archive: conversations of many years, and less than what a trick would unpack to."""
_KINDS = {"user": "preference", "feedback": "convention"}
_TYPE = re.compile(r"^[ \t]*type:[ \t]*[\"']?(\w+)", re.MULTILINE)
_CWD = re.compile(rb'"cwd":\s*("(?:[^"\\]|\\.)*")')
_RULES = "-*_=#> \t\r\n"  # lines across a page, and marks without a word
_NO_LINKS: dict[str, Any] = {"related": (), "contradicts": (), "supersedes": "", "superseded_by": ""}


@dataclass(slots=True)
class Tally:
    """How many turns of conversations were looked at; `tick` is told how far a source is read, from 0 to 1."""

    tick: Callable[[float], object] = lambda _: None
    turns: int = 0


def items(ws: Workspace, source: Source, tally: Tally) -> Iterator[Item]:
    """What a source holds. Raises InputError, NoteError or OSError where it cannot be read, or not to its end."""
    if source.problem:
        raise NoteUnreadable(source.problem)
    if source.format == CLAUDE_MEM:
        yield from _database(source, tally)
    elif source.format == CHATS:
        yield from _conversations(source, tally)
    elif source.format == INSTRUCTIONS:
        yield from _statements(ws, source, _text(source))
    elif source.format == REMEMBERED:
        yield from _remembered(ws, source)
    else:
        yield _note(source)


def _data(source: Source) -> bytes:
    with source.path.open("rb") as file:
        data = file.read(MAX_NOTE_BYTES + 1)
    if len(data) > MAX_NOTE_BYTES:
        raise InputError(f"it is larger than {MAX_NOTE_BYTES // 1000} KB")
    return data


def _text(source: Source) -> str:
    try:
        return _data(source).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise NoteUnreadable(f"it is not UTF-8 text (byte {problem.start})") from None


# --- notes --------------------------------------------------------------------------------------------------------


def _note(source: Source) -> Item:
    """A markdown file, of whomever: what it says of itself is kept, but for who wrote it."""
    note = _parsed(source)
    said = note.memory
    title = said.title if len(said.title) <= MAX_TITLE else ""
    body = said.body if "title" in note.document else _below_heading(said.body, title)
    if body and not body.strip(_RULES):
        raise InputError("it says nothing: there are only lines and marks in it")
    links = {"related": said.related, "contradicts": said.contradicts}
    links |= {"supersedes": (said.supersedes,), "superseded_by": (said.superseded_by,)}
    names = (source.path.stem.lower(), *((said.id.lower(), said.id[:ID8].lower()) if note.has_id else ()))
    memory = replace(said, id="", title=title, body=body, source_turn=said.source_turn or _inside(source), **_NO_LINKS)
    return Item(_inside(source), _dated(memory), tuple(dict.fromkeys(names)), links)


def _parsed(source: Source) -> Note:
    inside = _inside(source)
    return notes.parse(inside, _data(source), str(uuid.uuid5(uuid.NAMESPACE_URL, inside)))


def _inside(source: Source) -> str:
    return source.inside.encode("utf-8", "replace").decode()


def _below_heading(body: str, title: str) -> str:
    """The text without the heading that is its title."""
    first, _, rest = body.partition("\n")
    return rest.strip() if first.startswith("#") and first.strip("# \t") == title and rest.strip(_RULES) else body


def _dated(memory: Memory) -> Memory:
    """Without words that are not ours, and dates that are none."""
    return replace(
        memory,
        kind=memory.kind if memory.kind in KINDS else "fact",
        status=memory.status if memory.status in STATUSES else "active",
        created=memory.created if moment(memory.created) else "",
        valid_from=memory.valid_from if moment(memory.valid_from) else "",
        valid_to=memory.valid_to if moment(memory.valid_to) else "",
    )


# --- of Claude Code -----------------------------------------------------------------------------------------------


def _statements(ws: Workspace, source: Source, text: str, *, is_index: bool = False) -> Iterator[Item]:
    """Of an index without the lines that only point to a file beside it."""
    project = project_of(ws, source.path)
    for each in instructions.statements(clean_text(text)):
        pointed = instructions.indexed(each) if is_index else ""
        if pointed and (source.path.parent / Path(pointed).name).is_file():
            continue
        # The same, whichever folder above is imported.
        place = f"{project}/{source.path.name}{'#' if each.place else ''}{each.place}"
        if each.imports:
            yield Item(place, problem=f"it names another file: `memem import {each.imports}` brings that in")
            continue
        layer = classify_layer(each.kind, 3, ())
        yield Item(place, Memory("", each.title, each.body, project, each.kind, layer=layer, source_turn=place))


def _remembered(ws: Workspace, source: Source) -> Iterator[Item]:
    """One of the files in which Claude Code remembers: the index, one fact with its properties, or a page of many."""
    text = _text(source)
    if source.path.name == INDEX:
        yield from _statements(ws, source, text, is_index=True)
        return
    with suppress(NoteError):
        note = _parsed(source)
        name, told = note.document.one("name"), note.document.one("description")
        if name or told:
            head = note.document.text[: note.document.body_start]
            kind = _KINDS.get(next(iter(_TYPE.findall(head)), ""), "fact")
            item = _note(source)
            project = project_of(ws, source.path)
            memory = replace(item.memory, title=clean_line(told or name)[:MAX_TITLE], kind=kind, project=project)
            layer = classify_layer(kind, 3, ())
            names = (*item.names, *([name.lower()] if name else []))
            yield replace(item, memory=replace(memory, layer=layer), names=tuple(dict.fromkeys(names)))
            return
    yield from _statements(ws, source, text)


def project_of(ws: Workspace, path: Path) -> str:
    """The project that instructions are for: that of the folder they are in."""
    folder = path.parent
    if folder.name == "memory" and folder.parent.parent.name == "projects":
        place = _worked_in(folder.parent)
        if place is None:
            return GENERAL
        folder = place
    if folder.name == ".claude":
        folder = folder.parent
    try:
        return ws.project_of(folder).name
    except (OSError, ValueError, RuntimeError, SettingsError):
        return GENERAL


def _worked_in(folder: Path) -> Path | None:
    """The folder of a project, as its sessions tell it: Claude Code's name for it does not."""
    for session in sorted(folder.glob("*.jsonl"), reverse=True):
        with suppress(OSError, ValueError), safe_open.open_plain(session) as file:
            found = _CWD.search(file.read(65_536))
            if found:
                return Path(from_json(found[1]))
    return None


# --- of other programs --------------------------------------------------------------------------------------------


def _database(source: Source, tally: Tally) -> Iterator[Item]:
    total = claude_mem.count(source.path)
    for number, item in enumerate(claude_mem.items(source.path)):
        tally.tick(number / max(total, 1))
        yield item


def _conversations(source: Source, tally: Tally) -> Iterator[Item]:
    """What the person said in conversations and is worth keeping, as far as rules can tell."""
    with _opened(source) as (file, size):
        for conversation in chats.conversations(json_stream.values(file)):
            said = [turn for turn in conversation.turns if turn.role == HUMAN]
            turns = [replace(turn, text=clean_text(turn.text)) for turn in said]
            tally.turns += len(turns)
            tally.tick(min(file.tell() / max(size, 1), 1.0))
            for operation in rules.extract(turns):
                turn = prompt.find_quoted_turn(turns, operation.quote)
                if turn:
                    yield _said(conversation.id, operation, turn)


def _said(conversation: str, operation: Operation, turn: Turn) -> Item:
    memory = Memory(
        id="",
        title=operation.title,
        body=operation.content,
        kind=operation.kind,
        layer=classify_layer(operation.kind, operation.importance, ()),
        importance=operation.importance,
        keys=operation.keys,
        paths=operation.paths,
        project=GENERAL if operation.scope == GENERAL_SCOPE else "",
        created=turn.time,
        valid_from=turn.time,
        source_session=conversation,
        source_turn=turn.uuid,
        confidence=SPEECH.confidence,
        evidence=operation.quote,
    )
    return Item(f"{conversation}/{turn.uuid}", memory)


@contextmanager
def _opened(source: Source) -> Iterator[tuple[IO[bytes], int]]:
    """A file, or one in an archive, and its size."""
    if not source.member:
        with source.path.open("rb") as file:
            yield file, os.fstat(file.fileno()).st_size
        return
    try:
        with zipfile.ZipFile(source.path) as archive:
            size = archive.getinfo(source.member).file_size
            if size > MOST_UNPACKED:
                raise InputError(f"{source.member} in it would have over {MOST_UNPACKED // 10**9} GB unpacked")
            with archive.open(source.member) as member:
                yield member, size
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, KeyError) as error:
        raise InputError(f"the archive is damaged, or not one that memem can open: {error}") from None
