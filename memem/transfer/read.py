"""Read the items of a source: possible memories, not yet checked by the gate."""

from __future__ import annotations

import os
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from memem.core.conversation import GENERAL_SCOPE, HUMAN, Operation
from memem.core.dates import moment
from memem.core.errors import InputError, NoteError, NoteUnreadable, SettingsError
from memem.core.evidence import quote_turn, render_evidence
from memem.core.memory import GENERAL, ID8, KINDS, STATUSES, Memory, classify_layer
from memem.core.trust import SPEECH
from memem.mine import rules
from memem.mine.proof.quotes import QuoteMatch, match_quote
from memem.safety.gate import MAX_TITLE, clean_line, clean_text
from memem.transcript.session import read_folder
from memem.transfer.items import ImportItem
from memem.transfer.readers import chats, claude_mem, instructions, json_stream
from memem.transfer.sources import CHATS, CLAUDE_MEM, INDEX, INSTRUCTIONS, REMEMBERED, Source
from memem.vault import note as notes
from memem.vault.note import Note
from memem.vault.store import MAX_NOTE_BYTES

if TYPE_CHECKING:
    from memem.workspace import Workspace

_KINDS = {"user": "preference", "feedback": "convention"}
_MARKS = "-*_=#> \t\r\n"  # a text of these alone says nothing
_NO_LINKS: dict[str, Any] = {"related": (), "contradicts": (), "supersedes": "", "superseded_by": ""}


@dataclass(slots=True)
class ReadProgress:
    progress: Callable[[float, int], object]  # called with the number of sources read, and of all
    total: int
    done: int = 0
    turns: int = 0  # of conversations

    def report(self, share: float) -> None:
        """Report the share of the current source that was read, from 0 to 1."""
        self.progress(self.done + share, self.total)


def read_items(ws: Workspace, source: Source, progress: ReadProgress) -> Iterator[ImportItem]:
    """Yield the items of a source. Raises InputError, NoteError or OSError where it cannot be read."""
    if source.problem:
        raise NoteUnreadable(source.problem)
    if source.format == CLAUDE_MEM:
        total = max(claude_mem.count(source.path), 1)
        for number, item in enumerate(claude_mem.items(source.path)):
            progress.report(number / total)
            yield item
    elif source.format == CHATS:
        yield from _read_chats(source, progress)
    elif source.format == INSTRUCTIONS:
        yield from _read_statements(ws, source, _read_text(source))
    elif source.format == REMEMBERED:
        yield from _read_claude_memory(ws, source)
    else:
        yield _note_item(source, _read_note(source)[0])


def _read_text(source: Source) -> str:
    with source.path.open("rb") as file:
        data = file.read(MAX_NOTE_BYTES + 1)
    if len(data) > MAX_NOTE_BYTES:
        raise InputError(f"it is larger than {MAX_NOTE_BYTES // 1000} KB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise NoteUnreadable(f"it is not UTF-8 text (byte {problem.start})") from None


def _read_note(source: Source) -> tuple[Note, dict[str, Any]]:
    from memem.transfer.readers import foreign_frontmatter  # slow to import

    text, properties = foreign_frontmatter.normalise(_read_text(source))
    return notes.parse(source.place, text.encode(), str(uuid.uuid5(uuid.NAMESPACE_URL, source.place))), properties


def _note_item(source: Source, note: Note) -> ImportItem:
    """Keep everything that a note says about itself, except its author and values that memem does not know."""
    memory, body = note.memory, note.memory.body
    title = memory.title if len(memory.title) <= MAX_TITLE else ""
    first, _, rest = body.partition("\n")
    if "title" not in note.document and first.startswith("#") and first.strip("# \t") == title and rest.strip(_MARKS):
        body = rest.strip()
    if body and not body.strip(_MARKS):
        raise InputError("it has no text, only horizontal rules and punctuation")
    links = {"related": memory.related, "contradicts": memory.contradicts}
    links |= {"supersedes": (memory.supersedes,), "superseded_by": (memory.superseded_by,)}
    names = (source.path.stem.lower(), *((memory.id.lower(), memory.id[:ID8].lower()) if note.has_id else ()))
    dates = ("created", "valid_from", "valid_to")
    no_dates: dict[str, Any] = {name: "" for name in dates if not moment(getattr(memory, name))}
    memory = replace(
        memory,
        id="",
        title=title,
        body=body,
        kind=memory.kind if memory.kind in KINDS else "fact",
        status=memory.status if memory.status in STATUSES else "active",
        source_turn=memory.source_turn or source.place,
        **no_dates,
        **_NO_LINKS,
    )
    return ImportItem(source.place, memory, tuple(dict.fromkeys(names)), links)


def _read_statements(ws: Workspace, source: Source, text: str) -> Iterator[ImportItem]:
    """Yield statements; in an index not the lines that only point to an existing file next to it."""
    project = project_of(ws, source.path)
    for statement in instructions.statements(clean_text(text)):
        indexed = instructions.indexed_file(statement) if source.path.name == INDEX else ""
        if indexed and (source.path.parent / Path(indexed).name).is_file():
            continue
        # Independent of the folder that is imported.
        place = f"{project}/{source.path.name}{'#' if statement.place else ''}{statement.place}"
        if statement.imports:
            problem = f"it refers to another file; import it with `memem import {statement.imports}`"
            yield ImportItem(place, problem=problem)
            continue
        kind, layer = statement.kind, classify_layer(statement.kind, 3, ())
        memory = Memory("", statement.title, statement.body, project, kind, layer=layer, source_turn=place)
        yield ImportItem(place, memory)


def _read_claude_memory(ws: Workspace, source: Source) -> Iterator[ImportItem]:
    """Read a file of Claude Code's own memory: its index, one fact with properties, or a page of statements."""
    if source.path.name != INDEX:
        with suppress(NoteError):
            note, properties = _read_note(source)
            name, description = note.document.one("name"), note.document.one("description")
            if name or description:
                item = _note_item(source, note)
                metadata = properties.get("metadata")
                type_ = properties.get("type") or (metadata.get("type") if isinstance(metadata, dict) else "")
                kind = _KINDS.get(str(type_), "fact")
                memory = replace(
                    item.memory,
                    title=clean_line(description or name)[:MAX_TITLE],
                    kind=kind,
                    project=project_of(ws, source.path),
                    layer=classify_layer(kind, 3, ()),
                )
                names = dict.fromkeys((*item.names, *([name.lower()] if name else [])))
                yield replace(item, memory=memory, names=tuple(names))
                return
    yield from _read_statements(ws, source, _read_text(source))


def project_of(ws: Workspace, path: Path) -> str:
    """The project of the folder that instructions are in."""
    folder: Path | None = path.parent
    if path.parent.name == "memory" and path.parent.parent.parent.name == "projects":
        folder = _session_folder(path.parent.parent)
    elif path.parent.name == ".claude":
        folder = path.parent.parent
    try:
        return ws.project_of(folder).name if folder else GENERAL
    except (OSError, ValueError, RuntimeError, SettingsError):
        return GENERAL


def _session_folder(folder: Path) -> Path | None:
    """The folder of a project according to its sessions; Claude Code's name for it is ambiguous."""
    for session in sorted(folder.glob("*.jsonl"), reverse=True):
        if cwd := read_folder(session):
            return Path(cwd)
    return None


def _read_chats(source: Source, progress: ReadProgress) -> Iterator[ImportItem]:
    """Yield what a person said in conversations, as far as the rules of mining find it worth remembering."""
    with _open_chats(source) as (file, size):
        for conversation in chats.conversations(json_stream.values(file)):
            turns = [replace(turn, text=clean_text(turn.text)) for turn in conversation if turn.role == HUMAN]
            progress.turns += len(turns)
            progress.report(min(file.tell() / max(size, 1), 1.0))
            for operation in rules.extract(turns):
                if match := match_quote(turns, operation.quote):
                    yield _chat_item(operation, match)


def _chat_item(operation: Operation, match: QuoteMatch) -> ImportItem:
    turn = match.turn
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
        source_session=turn.session,
        source_turn=turn.uuid,
        confidence=SPEECH.confidence,
        evidence=render_evidence(quote_turn(turn, match.text)),
    )
    return ImportItem(f"{turn.session}/{turn.uuid}", memory)


@contextmanager
def _open_chats(source: Source) -> Iterator[tuple[IO[bytes], int]]:
    if not source.member:
        with source.path.open("rb") as file:
            yield file, os.fstat(file.fileno()).st_size
        return
    try:
        with zipfile.ZipFile(source.path) as archive, archive.open(source.member) as member:
            yield member, archive.getinfo(source.member).file_size
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, KeyError) as error:
        raise InputError(f"the archive is damaged or of an unsupported kind: {error}") from None
