"""The log of changes to the vault, batch by batch, newest first, and which of them can still be undone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from memem.core.errors import Ambiguous, InputError, MememError, NoteError, NotFound
from memem.safety.gate import clean_line, cleanse
from memem.search.refresh import ensure_filled
from memem.state import batches
from memem.state.batches import LoggedBatch, NoteChange
from memem.state.events import UNDO_BYTES, UNDO_DAYS, Event
from memem.vault import note as notes
from memem.vault import restore
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


LIMIT = 20
MOST_LIMIT = 1_000
MOST_NOTES = 20
SHORTEST_NAME = 4
FORGET, PURGE = "forget", "purge"
REMOVE, RESTORE, RETURN = "remove", "restore", "return"  # a new note, earlier bytes, a forgotten note
UNREQUESTED = (batches.UNDO, "staleness")  # not undone without being named


@dataclass(frozen=True, slots=True)
class Batch:
    """One run or command, with the numbers of notes it created, changed and forgot."""

    id: str
    time: str
    actor: str
    what: str
    why: str
    created: int
    changed: int
    forgotten: int
    notes: tuple[str, ...]  # the titles, or paths, of the first ones
    undoable: bool
    because: str  # why it, or part of it, cannot be undone
    events: tuple[Event, ...] = ()  # only of a batch asked for by its id


def log(ws: Workspace, limit: int = LIMIT) -> list[Batch]:
    """The last batches, newest first."""
    if not 1 <= limit <= MOST_LIMIT:
        raise InputError(f"The limit must be a number from 1 to {MOST_LIMIT:,}.")
    vault_id = _available_vault(ws)
    return [_describe(ws, batch, undone_by, vault_id) for batch, undone_by in islice(_with_undo(ws), limit)]


def taken_back(ws: Workspace) -> frozenset[str]:
    """The ids of notes that an undo removed and nothing has brought back."""
    last: dict[str, str] = {}
    for event in ws.events.read_backwards():
        last.setdefault(event.id, event.action)
    return frozenset(identity for identity, action in last.items() if action == REMOVE)


def find_batch(ws: Workspace, batch: str) -> Batch:
    """Return the batch with this id, or this beginning of one, with its events, oldest first."""
    logged, undone_by = named(ws, batch)
    return replace(_describe(ws, logged, undone_by, _available_vault(ws)), events=logged.events)


def _available_vault(ws: Workspace) -> str:
    """The id of the vault; empty when it is missing: the log can be read without it."""
    with suppress(MememError):
        vault_id = require_vault(ws)
        ensure_filled(ws, vault_id)
        return vault_id
    return ""


def named(ws: Workspace, batch: str) -> tuple[LoggedBatch, str]:
    """The batch whose id is, or begins with, `batch`, and the id of its undo, or ""."""
    wanted = batch.strip().lower()
    if len(wanted) < SHORTEST_NAME:
        raise InputError(f"{batch!r} is too short for a batch id: give at least {SHORTEST_NAME} characters.")
    matches = [(logged, undone_by) for logged, undone_by in _with_undo(ws) if logged.id.startswith(wanted)]
    matches = [match for match in matches if match[0].id == wanted] or matches
    if not matches:
        raise NotFound(f"There is no batch {batch!r} in the log. `memem log` lists the batches.")
    if len(matches) > 1:
        raise Ambiguous(f"Several batch ids start with {batch!r}: {', '.join(each.id for each, _ in matches[:4])}.")
    return matches[0]


def last(ws: Workspace, vault_id: str) -> tuple[LoggedBatch, str]:
    """The last batch in this vault that a person requested, is not an undo, and is not undone."""
    for batch, undone_by in _with_undo(ws):
        is_here = any(change.last.vault in ("", vault_id) for change in batch.changes)
        if is_here and not undone_by and batch.what not in UNREQUESTED:
            return batch, ""
    raise NotFound("There is nothing to undo.")


def hindrance(ws: Workspace, step: NoteChange, vault_id: str) -> str:
    """Why a change cannot be undone, whatever the note is like now; empty when it can."""
    if not vault_id:
        return "the vault is missing"
    if step.last.vault not in ("", vault_id):
        return "in another vault"
    if step.last.action == PURGE:
        return "purged, so there is no copy"
    if not step.is_whole:
        return "changed by another batch in between"
    if step.before and step.last.action != batches.VANISH and stored_bytes(ws, step) is None:
        return f"earlier versions are removed after {UNDO_DAYS} days or {UNDO_BYTES // 1_000_000} MB of changes"
    return ""


def stored_bytes(ws: Workspace, step: NoteChange) -> bytes | None:
    """The bytes of the note before, from the undo store or the folder of forgotten notes."""
    if not step.before:
        return None
    copies = (data for _, data in restore.find_set_aside(ws.store, step.path, (step.before,)))
    data = ws.events.read_undo(step.before)
    return data if data is not None and notes.digest(data) == step.before else next(copies, None)


def places(ws: Workspace, step: NoteChange) -> Iterator[tuple[str, bytes]]:
    """Where the note is now, with its bytes: at its path, or where the index has its id."""
    rows = ws.index.rows("id = ? ORDER BY path", (step.id,))
    for path in dict.fromkeys((step.path, *(row.path for row in rows))):
        data = restore.plain_bytes(ws.store, path)
        is_same = data is not None
        with suppress(NoteError):  # an unreadable note is still the same file
            is_same = data is not None and notes.parse(path, data, step.id).memory.id == step.id
        if data is not None and is_same:
            yield path, data


def _with_undo(ws: Workspace) -> Iterator[tuple[LoggedBatch, str]]:
    """Every batch that changed something, with the id of the undo in force for it, or ""."""
    undone: dict[str, str] = {}
    for batch in batches.read_batches(ws.events.read_backwards()):
        if batch.undoes and batch.id not in undone:
            undone.setdefault(batch.undoes, batch.id)
        if batch.changes:
            yield batch, undone.get(batch.id, "")


def _describe(ws: Workspace, batch: LoggedBatch, undone_by: str, vault_id: str) -> Batch:
    problems = [problem for step in batch.changes if (problem := hindrance(ws, step, vault_id))]
    undoable = not undone_by and len(problems) < len(batch.changes)
    because = f"undone by {undone_by}" if undone_by else ""
    if problems and not undone_by:
        which = f"{len(problems)} of {len(batch.changes)} notes " if undoable else ""
        because = f"{which}cannot be undone: {problems[0]}"
    steps = [step for step in batch.changes if step.last.action not in batches.TOMBSTONE_ACTIONS]
    created = sum(not step.before for step in steps)
    forgotten = sum(not step.after for step in steps)
    counts = (created, len(steps) - created - forgotten, forgotten)
    titles = tuple(_title(ws, step, vault_id) for step in steps[:MOST_NOTES])
    last = batch.last
    return Batch(batch.id, last.time, last.actor, batch.what, batch.events[0].why, *counts, titles, undoable, because)


def _title(ws: Workspace, step: NoteChange, vault_id: str) -> str:
    rows = ws.index.rows("id = ?", (step.id,), 1) if vault_id else []
    if rows:
        return clean_line(rows[0].memory.title if rows[0].memory else step.path)
    for name in filter(None, (step.after, step.before)):
        with suppress(NoteError):
            data = ws.events.read_undo(name)
            if data is not None:
                return clean_line(cleanse(notes.parse(step.path, data, step.id).memory).memory.title)
    return clean_line(step.path)
