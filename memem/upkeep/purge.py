"""Forget for good: the note, and every word of it that memem has written down anywhere. Nothing of it can be undone.

The note lies in `.forgotten/` until all else is done, so that whoever is interrupted can begin again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.dates import iso
from memem.core.errors import Ambiguous, InputError, NoteError, NotFound
from memem.core.memory import Entry, Memory
from memem.inject import statusline
from memem.pages import conflicts
from memem.pages import refresh as pages_refresh
from memem.search.refresh import ensure_filled, index_note, refresh
from memem.upkeep import external_traces, scour
from memem.upkeep.traces import Traces
from memem.vault import forgotten
from memem.vault import note as notes
from memem.vault.note import Note
from memem.vault.opening import require_vault
from memem.vault.store import Change
from memem.vault.write_lock import record_change, writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


PURGE = "purge"
SHORTEST_ID = 4


@dataclass(frozen=True, slots=True)
class Purged:
    """What was purged, from where; `elsewhere` says where it may still be."""

    id: str
    title: str
    removed: tuple[str, ...]
    elsewhere: tuple[str, ...]


def find(ws: Workspace, identity: str) -> Memory:
    """The memory that a purge of this id would take, for somebody to be asked. Raises NotFound, Ambiguous."""
    require_vault(ws)
    refresh(ws)
    return _found(ws, identity)[0].memory


def purge(ws: Workspace, identity: str) -> Purged:
    """Remove a memory from everywhere in vault and home; says where else it may be."""
    refresh(ws)
    with ws.events.batch(PURGE):
        with writing(ws):
            ensure_filled(ws, require_vault(ws))
            found = _found(ws, identity)
            traces = _traces(ws, found)
            removed, left = _clean(ws, found, traces)
        if ws.store.paths.conflicts.exists():
            conflicts.write_page(ws)
        pages_refresh.write_pages_quietly(ws, only_if_there=True)
        statusline.update(ws)  # it may show the title
        with writing(ws):
            left += [f"{path} is in use, and may hold words of it until the next purge." for path in scour.scrub(ws)]
            for note in list(_copies(ws, traces.id)):
                files.remove(ws.store.absolute(note.path), fsync=ws.settings.fsync)
    left += [f"{path} still holds words of it." for path in scour.left_in(ws.home.root, traces, but=ws.home.models)]
    left += external_traces.external_traces(ws, traces)
    return Purged(traces.id, found[0].memory.title, tuple(removed), tuple(dict.fromkeys(left)))


def _clean(ws: Workspace, found: list[Note], traces: Traces) -> tuple[list[str], list[str]]:
    """Everything but the last copy of the note; what was removed, and what is left and where."""
    said = scour.turns(ws, traces)
    for memory in traces.memories:
        forgotten.write_tombstone(ws, memory, purged=True, also_in=said - traces.turns)
    for note in found:
        _record(ws, note, traces)  # first, so that a note without an id is known again where it is set aside
        if _is_live(ws, note):
            ws.store.set_aside(note)
            ws.index.update([], gone=[note.path])
    untouched = list(_unlink(ws, traces))
    done = {
        "the note": True,
        "the journal of mining": scour.journal(ws, traces),
        "receipts": scour.contexts(ws, traces),
        "the undo store": scour.undo_store(ws, traces),
        "the log": scour.events(ws, traces),
        "the transcript index": bool(said),
    }
    scour.small_files(ws, traces)
    left = [f"memem/{path} is yours, and links to it." for path in untouched]
    left += [f"{folder} may hold a vector of it, but no words." for folder in scour.vectors(ws, traces)]
    return [what for what, was in done.items() if was], left


def _found(ws: Workspace, identity: str) -> list[Note]:
    """The notes of one memory, live or set aside: of the one with this id, or this beginning of it."""
    wanted = identity.strip().lower()
    if len(wanted) < SHORTEST_ID:
        raise InputError(f"{identity!r} is too short for a purge: give at least {SHORTEST_ID} characters of the id.")
    rows = [row for row in ws.index.by_id(wanted) if row.memory]
    live = [ws.store.read(row.path) for row in rows]
    aside = [note for note in _set_aside(ws) if note.memory.id.lower().startswith(wanted)]
    aside += [] if live or aside else _taken_out(ws, wanted)
    ids = {note.memory.id for note in (*live, *aside)}
    if wanted in ids:
        ids = {wanted}
    if not ids:
        raise NotFound(f"No memory has the id {identity!r}: no note, no forgotten one, and none in the undo store.")
    if len(ids) > 1:
        raise Ambiguous(f"{len(ids)} memories begin with {identity!r}. Use more of the id.")
    return [note for note in (*live, *aside) if note.memory.id in ids]


def _set_aside(ws: Workspace) -> Iterator[Note]:
    """All of them. One that states no id has that under which the log knows its bytes."""
    ids = {event.before: event.id for event in ws.events.read() if event.before and event.id}
    for folder in (ws.store.paths.forgotten, ws.store.paths.review):
        for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
            with suppress(NoteError):
                note = ws.store.read(f"{folder.name}/{path.name}")
                known = note.memory.id if note.has_id else ids.get(note.digest, note.memory.id)
                yield replace(note, memory=replace(note.memory, id=known))


def _taken_out(ws: Workspace, wanted: str) -> list[Note]:
    """Notes that are in the undo store alone: an undo took them out, or somebody deleted them."""
    found: dict[str, Note] = {}
    for event in ws.events.read_backwards():
        if event.id.lower().startswith(wanted) and event.id not in found:
            note = _parsed(ws, event.after, event.path, event.id) or _parsed(ws, event.before, event.path, event.id)
            found |= {event.id: note} if note else {}
    return list(found.values())


def _copies(ws: Workspace, identity: str) -> Iterator[Note]:
    return (note for note in _set_aside(ws) if note.memory.id == identity)


def _is_live(ws: Workspace, note: Note) -> bool:
    apart = (ws.store.paths.forgotten.name, ws.store.paths.review.name)
    return PurePosixPath(note.path).parts[0] not in apart and ws.store.stamp(note.path) is not None


def _traces(ws: Workspace, found: list[Note]) -> Traces:
    """Also of what it said earlier, as far as the undo store still knows."""
    identity = found[0].memory.id
    memories = {note.memory: None for note in found}
    paths = dict.fromkeys(note.path for note in found)
    for event in ws.events.read():
        if event.id != identity:
            continue
        paths[event.path] = None
        for digest in filter(None, (event.before, event.after)):
            if earlier := _parsed(ws, digest, event.path, identity):
                memories[earlier.memory] = None
    return Traces(tuple(memories), tuple(path for path in paths if PurePosixPath(path).name))


def _parsed(ws: Workspace, digest: str, path: str, identity: str) -> Note | None:
    """A state that a note had, if the undo store still has it."""
    data = ws.events.read_undo(digest) if digest else None
    try:
        return notes.parse(path, data, identity) if data else None
    except NoteError:
        return None


def _record(ws: Workspace, note: Note, traces: Traces) -> None:
    path = str(PurePosixPath(note.path).with_name(traces.placeholder))
    record_change(ws, PURGE, traces.id, Change(path, note.document.text.encode(), None), "")


def _unlink(ws: Workspace, traces: Traces) -> Iterator[str]:
    """Take links to it out of what machines wrote; yields the notes of persons that have some."""
    target = [Entry(memory, path) for memory in traces.memories[:1] for path in traces.paths]
    for row in ws.index.rows("instr(memory, ?)", (traces.memories[0].id8,)):
        memory = row.memory
        if memory is None or not any(entry.is_named_by(link) for link in _links(memory) for entry in target):
            continue
        note = ws.store.read(row.path)
        if note.memory.author != "model" or note.touched_by_hand:
            yield row.path
            continue
        changed = replace(
            note.memory,
            related=_others(note.memory.related, target),
            contradicts=_others(note.memory.contradicts, target),
            supersedes="".join(_others((note.memory.supersedes,), target)),
            superseded_by="".join(_others((note.memory.superseded_by,), target)),
            updated=iso(ws.clock()),
        )
        # No undo copy: it would hold the link, and that tells the title.
        rewritten, change = ws.store.rewrite(note, changed)
        record_change(ws, "edit", memory.id, change, "a link to what was purged")
        index_note(ws, rewritten)


def _links(memory: Memory) -> tuple[str, ...]:
    return (*memory.related, *memory.contradicts, *filter(None, (memory.supersedes, memory.superseded_by)))


def _others(links: tuple[str, ...], target: list[Entry]) -> tuple[str, ...]:
    return tuple(link for link in links if not any(entry.is_named_by(link) for entry in target))
