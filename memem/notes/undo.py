"""Take back what one run or command did, from the event log and the undo store.

Each note is looked at by itself: it goes back only while it is still what the batch made of it, wherever it was moved
since. What anybody has written later stays. The event is written down before the file changes, so an undo that was
interrupted can be completed, and taken back itself.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memem.core.dates import iso
from memem.core.errors import Ambiguous, InputError, NoteChanged, NoteError
from memem.core.tombstone import Tombstone
from memem.notes import forget, history, imported_tombstones, review
from memem.notes.history import FORGET, PURGE, REMOVE, RESTORE, RETURN, hindrance, stored_bytes
from memem.search import vanished
from memem.search.refresh import refresh, refresh_stale
from memem.state import batches
from memem.state.batches import IMPORT, VANISH, NoteChange
from memem.vault import forgotten, restore
from memem.vault import note as notes
from memem.vault.opening import require_vault
from memem.vault.store import RESERVED, Change
from memem.vault.tombstones import TombstoneIndex, index_tombstones
from memem.vault.write_lock import record_change, writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


LEAVE, SETTLED, LIFT = "leave", "settled", "lift"
"""Not ways of an undo, but why there is none: the note is not to be touched, is as it was, or is kept nowhere, so that
it is only no longer held to be forgotten."""
NOWHERE = "it was deleted by hand, and memem has no copy; it is no longer held to be forgotten"
UNKNOWN = "which tombstones came along is no longer kept"
GONE = "it was changed since, or is gone"
FORGOTTEN = "what it said before was forgotten since"
ACCEPT, ASK_AGAIN = "accept", "ask again"
"""A proposal became a note, and the note became a proposal again. Both events tell the note's path."""
_LIFTING = (RETURN, ACCEPT)
_NO_STAMP = (0, 0, -1)


@dataclass(frozen=True, slots=True)
class Left:
    """A note that is left as it is, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Undone:
    """The result of an undo: `undo` is its own batch, which can be undone too; empty when nothing was done.

    `tombstones` is how many of those that an import had brought along are lifted, or stand again.
    """

    batch: str
    what: str
    undo: str
    restored: tuple[str, ...]
    removed: tuple[str, ...]
    left: tuple[Left, ...]
    dry_run: bool = False
    tombstones: int = 0


@dataclass(frozen=True, slots=True)
class _Way:
    """How a note goes back to what it was: by which action, at which path, from which bytes to which."""

    do: str
    path: str
    now: bytes | None = None
    then: bytes | None = None
    reason: str = ""
    stones: tuple[Tombstone, ...] = ()


def undo(ws: Workspace, batch: str | None = None, *, dry_run: bool = False) -> Undone:
    """Take a batch back: the given one, or the last that is no undo and is not undone. A dry run only tells."""
    refresh(ws)
    vault_id = require_vault(ws)
    deed, undone_by = history.last(ws, vault_id) if batch is None else history.named(ws, batch)
    if undone_by:
        again = "" if deed.what == VANISH else f" `memem undo {undone_by}` brings it back."
        raise InputError(f"Batch {deed.id} is undone already.{again}")
    if any(step.last.action == PURGE for step in deed.changes):
        raise InputError(
            f"Batch {deed.id} is a purge, which is final: nothing is kept of it. `memem log` shows others."
        )
    why = f"undo of {deed.id}"
    with ws.events.batch(batches.UNDO) as name:
        ways = [
            _taken_back(ws, step, vault_id, why, dry_run=dry_run) for step in imported_tombstones.in_turn(deed.changes)
        ]
        done = any(way.do != LEAVE for way in ways) and not dry_run
        if done:
            _close(ws, deed.id, vault_id, why)
            ws.changed.add()
    return Undone(
        deed.id,
        deed.what,
        name if done else "",
        restored=tuple(way.path for way in ways if way.do in (RESTORE, RETURN, ACCEPT, *batches.VERDICTS)),
        removed=tuple(way.path for way in ways if way.do in (REMOVE, FORGET, ASK_AGAIN)),
        left=tuple(Left(way.path, way.reason) for way in ways if way.reason),
        dry_run=dry_run,
        tombstones=sum(len(way.stones) for way in ways),
    )


def _close(ws: Workspace, batch: str, vault_id: str, why: str) -> None:
    """Say that the batch is undone: what was interrupted before can be done again, and is then completed."""
    with writing(ws):
        ws.events.record(batches.UNDONE, id="", path=batch, why=why, before="", after="", vault=vault_id)


def _taken_back(ws: Workspace, step: NoteChange, vault_id: str, why: str, *, dry_run: bool) -> _Way:
    """Bring one note back to what it was, as far as that may be."""
    way = _way(ws, step, vault_id)
    if dry_run:
        return way
    try:
        if way.do == FORGET:
            forget.forget(ws, step.id, why=why)
            return way
        with writing(ws):
            way = _way(ws, step, vault_id)  # once more, now that no other memem writes
            _go(ws, step, way, why)
    except NoteChanged:
        return _Way(LEAVE, step.path, reason="somebody is writing to it")
    except Ambiguous:
        return _Way(LEAVE, step.path, reason="several files carry its id")
    if way.do in (RETURN, SETTLED) and step.last.action != REMOVE and not step.after:
        _lift(ws, step)
    if way.do == LIFT:
        ws.tombstones.lift(forgotten.find_by_id(ws.tombstones.load(), step.id), iso(ws.clock()))
    return way


def _go(ws: Workspace, step: NoteChange, way: _Way, why: str) -> None:
    if way.stones:
        imported_tombstones.take_back(ws, step, way.stones, why)
    if step.last.action in batches.VERDICTS and way.now is not None:
        review.record_word(ws, way.do, notes.parse(way.path, way.now, step.id), way.now, why)
    if way.do not in (REMOVE, RESTORE, RETURN, ACCEPT, ASK_AGAIN):
        return
    if way.now is not None:
        ws.events.store_undo(notes.digest(way.now), way.now)
    record_change(ws, way.do, step.id, Change(way.path, way.now, way.then), why)
    if way.do == ACCEPT:
        _put(ws, way.path, way.then or b"")
        memory = notes.parse(way.path, way.then or b"", step.id).memory
        forget.lift(ws, memory)
        review.allow_held(ws, memory)
        _index(ws, way.path)
        vanished.lift_removals(ws, step.id)
        restore.remove_file(ws.store, _proposal_path(ws, step), way.now or b"", fsync=ws.settings.fsync)
    elif way.do not in (REMOVE, ASK_AGAIN):
        restore.put_back(ws.store, way.path, way.then or b"", instead_of=way.now, fsync=ws.settings.fsync)
        _index(ws, way.path)
        vanished.lift_removals(ws, step.id)
    else:
        if way.do == ASK_AGAIN:
            _put(ws, _proposal_path(ws, step), way.then or b"")
            review.ask_again(ws, memory := notes.parse(way.path, way.now or b"", step.id).memory)
            forgotten.restore_tombstones(ws, memory)
        # The row goes first: a note that is missing while it has one was deleted by a person.
        ws.index.update([], gone=[way.path])
        restore.remove_file(ws.store, way.path, way.now or b"", fsync=ws.settings.fsync)
        ws.index.update([], gone=[way.path])
        forgotten.record_removal(ws, step.id)


def _lift(ws: Workspace, step: NoteChange) -> None:
    """Lift the tombstones of a note, and remove the copies that were set aside."""
    states = {event.before for event in step.events}
    with suppress(NoteError):
        forget.lift(ws, notes.parse(step.path, stored_bytes(ws, step) or b"", step.id).memory)
    with writing(ws):
        for path, data in list(restore.find_set_aside(ws.store, step.path, states)):
            ws.events.store_undo(notes.digest(data), data)
            restore.remove_file(ws.store, path, data, fsync=ws.settings.fsync)


def _way(ws: Workspace, step: NoteChange, vault_id: str) -> _Way:
    problem = hindrance(ws, step, vault_id)
    if problem:
        return _Way(LEAVE, step.path, reason=problem)
    if step.last.action in imported_tombstones.ACTIONS:
        stones = imported_tombstones.concerned(ws, step)
        return _Way(SETTLED, step.path, stones=stones) if stones is not None else _Way(LEAVE, step.path, reason=UNKNOWN)
    if step.last.action in batches.VERDICTS:
        return _way_of_word(ws, step)
    return _way_accepted(ws, step) if step.last.action == ASK_AGAIN else _way_of_note(ws, step)


def _way_of_word(ws: Workspace, step: NoteChange) -> _Way:
    """Undo a decision about a note that was held back; the note itself was not changed."""
    same = [each for each in history.places(ws, step) if notes.digest(each[1]) == step.after]
    return _Way(review.previous_decision(ws, step.events[0]), *same[0]) if same else _Way(LEAVE, step.path, reason=GONE)


def _way_of_note(ws: Workspace, step: NoteChange) -> _Way:
    """By where the note is now, and what it says."""
    places = dict(history.places(ws, step))
    digests = {notes.digest(data): path for path, data in places.items()}
    if step.before in digests:
        return _Way(SETTLED, step.path)
    if not step.after:
        return _way_back(ws, step, is_there=bool(places))
    if step.after in digests:
        return _way_from(ws, step, digests[step.after], places[digests[step.after]])
    if places or step.before:
        return _Way(LEAVE, step.path, reason="it was changed since" if places else "it is gone since")
    if restore.is_taken(ws.store, step.path) and restore.plain_bytes(ws.store, step.path) is None:
        return _Way(LEAVE, step.path, reason="it cannot be read")
    return _Way(SETTLED, step.path, reason="it is gone already")


def _way_from(ws: Workspace, step: NoteChange, path: str, data: bytes) -> _Way:
    """Undo the change of a note that is still what the batch made of it."""
    if step.last.action == ACCEPT and step.before:
        if _is_in_the_way(ws, _proposal_path(ws, step), step.before):
            return _Way(LEAVE, path, reason="another file is in its place")
        return _Way(ASK_AGAIN, path, data, stored_bytes(ws, step))
    if _brings_back(ws, step, data):
        return _Way(LEAVE, path, reason=FORGOTTEN)
    return _Way(_doing(ws, step, path, data), path, data, stored_bytes(ws, step))


def _way_accepted(ws: Workspace, step: NoteChange) -> _Way:
    """Accept a proposal again that an undo has put up."""
    data = restore.plain_bytes(ws.store, _proposal_path(ws, step))
    if data is None or notes.digest(data) != step.after:
        return _Way(LEAVE, step.path, reason="somebody has decided on it since")
    if _is_in_the_way(ws, step.path, step.before):
        return _Way(LEAVE, step.path, reason="another file is in its place")
    return _Way(ACCEPT, step.path, data, stored_bytes(ws, step))


def _is_in_the_way(ws: Workspace, path: str, wanted: str) -> bool:
    """Whether something else is there; what is wanted itself may be, by an undo that was interrupted."""
    return restore.is_taken(ws.store, path) and notes.digest(restore.plain_bytes(ws.store, path) or b"") != wanted


def _put(ws: Workspace, path: str, data: bytes) -> None:
    if restore.plain_bytes(ws.store, path) != data:
        restore.put_back(ws.store, path, data, instead_of=None, fsync=ws.settings.fsync)


def _proposal_path(ws: Workspace, step: NoteChange) -> str:
    """Where a note is as long as it is a proposal."""
    return f"{ws.store.paths.review.name}/{PurePosixPath(step.path).name}"


def _doing(ws: Workspace, step: NoteChange, path: str, data: bytes) -> str:
    """The action that undoes a note the batch changed or created. One whose tombstone the batch lifted is forgotten
    again."""
    if step.before:
        return RESTORE
    if step.last.action in _LIFTING:
        return FORGET
    known = ws.tombstones.load()
    if not known.lifted or step.last.what == IMPORT:  # that lifts nothing, but brings along what was lifted elsewhere
        return REMOVE
    try:
        memory = notes.parse(path, data, step.id).memory
    except NoteError:  # half-typed by a person, and so brought back by an import
        return REMOVE
    stones = forgotten.find_matching(index_tombstones(known.salts, known.lifted), memory)
    return FORGET if stones and not forgotten.filter_by_id(known, stones, memory.id) else REMOVE


def _brings_back(ws: Workspace, step: NoteChange, now: bytes | None) -> bool:
    """Whether the note once said what was forgotten since, and does not say it now."""
    known = ws.tombstones.load()
    return bool(known) and not _stones(known, step, stored_bytes(ws, step)) <= _stones(known, step, now)


def _stones(known: TombstoneIndex, step: NoteChange, data: bytes | None) -> set[str]:
    """The tombstones that a state of the note must not come past; none, where it is half-typed by a person, say."""
    with suppress(NoteError):
        memory = notes.parse(step.path, data or b"", step.id).memory
        return {stone.key for stone in forgotten.find_matching(known, memory)} if data else set()
    return set()


def _way_back(ws: Workspace, step: NoteChange, *, is_there: bool) -> _Way:
    """Bring back a note that the batch forgot or removed."""
    if is_there:
        return _Way(LEAVE, step.path, reason="it is there again, and was changed since")
    if restore.is_taken(ws.store, step.path):
        return _Way(LEAVE, step.path, reason="another file is in its place")
    if step.last.action == REMOVE and _brings_back(ws, step, None):
        return _Way(LEAVE, step.path, reason=FORGOTTEN)
    if step.last.action == VANISH and stored_bytes(ws, step) is None:
        return _Way(LIFT, step.path, reason=NOWHERE)
    return _Way(RESTORE if step.last.action == REMOVE else RETURN, step.path, None, stored_bytes(ws, step))


def _index(ws: Workspace, path: str) -> None:
    """Have the index read a file again; one outside of what it reads is not its concern."""
    parts = PurePosixPath(path).parts
    if parts[0] not in RESERVED and not any(part.startswith(".") for part in parts):
        refresh_stale(ws, [(path, _NO_STAMP)])
