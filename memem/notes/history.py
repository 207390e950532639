"""The log of changes to the vault, batch by batch, newest first, and which of them can still be undone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memem.core.errors import Ambiguous, InputError, MememError, NoteError, NotFound
from memem.core.memory import Memory
from memem.safety.gate import clean_line, cleanse
from memem.search.refresh import ensure_filled
from memem.state import batches
from memem.state.batches import LoggedBatch, NoteChange
from memem.state.events import UNDO_BYTES, UNDO_DAYS, Event
from memem.vault import note as notes
from memem.vault import restore
from memem.vault.note import digest
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


LIMIT = 20
MOST_LIMIT = 1_000
MOST_NOTES = 20
SHORTEST_NAME = 4
FORGET, PURGE = "forget", "purge"
REMOVE, RESTORE, RETURN = "remove", "restore", "return"
"""Actions of an undo: a new note goes, earlier bytes come back, a forgotten note comes back."""
UNASKED = (batches.UNDO, "staleness")
"""Batches that nobody means who wants to undo what was done last."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One run or command: how many notes it created, changed and forgot, and which (the first ones, by title,
    or by path where nothing is kept of the note). `because` says why it cannot be undone, or what of it cannot."""

    id: str
    time: str
    actor: str
    what: str
    why: str
    created: int
    changed: int
    forgotten: int
    notes: tuple[str, ...]
    undoable: bool
    because: str
    events: tuple[Event, ...] = ()  # only of a batch asked for by its id


def log(ws: Workspace, limit: int = LIMIT) -> list[Batch]:
    """The last batches."""
    if not 1 <= limit <= MOST_LIMIT:
        raise InputError(f"The limit is a number from 1 to {MOST_LIMIT:,}.")
    vault_id = _vault(ws)
    shown: list[Batch] = []
    for deed, undone_by in _standing(ws):
        shown.append(_batch(ws, deed, undone_by, vault_id))
        if len(shown) == limit:
            break
    return shown


def taken_back(ws: Workspace) -> frozenset[str]:
    """The ids of notes that an undo has taken out, and nothing has brought back."""
    last: dict[str, str] = {}
    for event in ws.events.read_backwards():
        last.setdefault(event.id, event.action)
    return frozenset(identity for identity, action in last.items() if action == REMOVE)


def find_batch(ws: Workspace, batch: str) -> Batch:
    """Return the batch with this id, or this beginning of one, with its events, oldest first."""
    logged, undone_by = named(ws, batch)
    return replace(_batch(ws, logged, undone_by, _vault(ws)), events=logged.events)


def named(ws: Workspace, batch: str) -> tuple[LoggedBatch, str]:
    """The batch with this id, or this beginning of one, and the undo that took it back, if one did."""
    wanted = batch.strip().lower()
    if len(wanted) < SHORTEST_NAME:
        raise InputError(f"{batch!r} is too short for a batch: give at least {SHORTEST_NAME} characters.")
    found: list[tuple[LoggedBatch, str]] = []
    for deed, undone_by in _standing(ws):
        if deed.id == wanted:
            return deed, undone_by
        if deed.id.startswith(wanted):
            found.append((deed, undone_by))
    if not found:
        raise NotFound(f"There is no batch {batch!r} in the log. `memem log` shows them.")
    if len(found) > 1:
        raise Ambiguous(f"Several batches begin with {batch!r}: {', '.join(each.id for each, _ in found[:4])}.")
    return found[0]


def last(ws: Workspace, vault_id: str) -> tuple[LoggedBatch, str]:
    """The last batch in this vault that is not undone, and is no undo itself, nor done by memem of its own accord."""
    for deed, undone_by in _standing(ws):
        here = any(step.last.vault in ("", vault_id) for step in deed.changes)
        if here and not undone_by and deed.what not in UNASKED:
            return deed, ""
    raise NotFound("There is nothing to undo.")


def hindrance(ws: Workspace, step: NoteChange, vault_id: str) -> str:
    """Why a step cannot be taken back, whatever the note is like now; empty when it can."""
    if not vault_id:
        return "the vault is not there"
    if step.last.vault not in ("", vault_id):
        return "it is in another vault"
    if step.last.action == PURGE:
        return "it was purged, and nothing is kept of it"
    if not step.is_whole:
        return "others changed it meanwhile"
    if step.before and step.last.action != batches.VANISH and stored_bytes(ws, step) is None:
        return f"what it was is no longer kept, after {UNDO_DAYS} days or {UNDO_BYTES // 1_000_000} MB of changes"
    return ""


def stored_bytes(ws: Workspace, step: NoteChange) -> bytes | None:
    """The bytes that the note had before: from the undo store, or where it was set aside."""
    if not step.before:
        return None
    copies = (data for _, data in restore.find_set_aside(ws.store, step.path, (step.before,)))
    data = ws.events.read_undo(step.before)
    return data if data is not None and digest(data) == step.before else next(copies, None)


def places(ws: Workspace, step: NoteChange) -> Iterator[tuple[str, bytes]]:
    """Where the note is now, with its bytes: at its path, or wherever the index knows its id."""
    rows = ws.index.rows("id = ? ORDER BY path", (step.id,))
    for path in dict.fromkeys((step.path, *(row.path for row in rows))):
        data = restore.plain_bytes(ws.store, path)
        if data is not None and is_of(step, path, data):
            yield path, data


def is_of(step: NoteChange, path: str, data: bytes) -> bool:
    """Whether a file is still that note, and not another one that has taken its place."""
    try:
        return notes.parse(path, data, step.id).memory.id == step.id
    except NoteError:
        return True  # half-typed by a person, say


def _standing(ws: Workspace) -> Iterator[tuple[LoggedBatch, str]]:
    """Every batch with the undo that took it back, if one did that is not itself taken back."""
    undone: dict[str, str] = {}
    for deed in batches.read_batches(ws.events.read_backwards()):
        if deed.undoes and deed.id not in undone:
            undone.setdefault(deed.undoes, deed.id)
        if deed.changes:
            yield deed, undone.get(deed.id, "")


def _batch(ws: Workspace, deed: LoggedBatch, undone_by: str, vault_id: str) -> Batch:
    problems = [problem for step in deed.changes if (problem := hindrance(ws, step, vault_id))]
    undoable = not undone_by and len(problems) < len(deed.changes)
    because = f"undone by {undone_by}" if undone_by else problems[0] if problems else ""
    if undoable and problems:
        because = f"{len(problems)} of {len(deed.changes)} notes: {because}"
    steps = [
        step for step in deed.changes if step.last.action not in (batches.ADD_TOMBSTONES, batches.REMOVE_TOMBSTONES)
    ]
    created = sum(not step.before for step in steps)
    forgotten = sum(not step.after for step in steps)
    counts = (created, len(steps) - created - forgotten, forgotten)
    notes = tuple(_title(ws, step, vault_id) for step in steps[:MOST_NOTES])
    who = deed.last
    return Batch(deed.id, who.time, who.actor, deed.what, deed.events[0].why, *counts, notes, undoable, because)


def _title(ws: Workspace, step: NoteChange, vault_id: str) -> str:
    rows = ws.index.rows("id = ?", (step.id,), 1) if vault_id else []
    memory = rows[0].memory if rows else _earlier(ws, step)
    return clean_line(memory.title if memory else step.path)


def _earlier(ws: Workspace, step: NoteChange) -> Memory | None:
    """A note that is no longer there, as far as the undo store has it."""
    for digest_of in filter(None, (step.after, step.before)):
        with suppress(NoteError):
            data = ws.events.read_undo(digest_of)
            if data is not None:
                return cleanse(notes.parse(step.path, data, step.id).memory).memory
    return None


def _vault(ws: Workspace) -> str:
    """The id of the vault, whose index can be asked; empty when it is away: the log can be read all the same."""
    try:
        vault_id = require_vault(ws)
        ensure_filled(ws, vault_id)
    except MememError:
        return ""
    return vault_id
