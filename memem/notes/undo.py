"""Undo one run or command, from the event log and the undo store.

A note goes back only while it is still as the batch left it, wherever it was moved; later changes stay. The event is
recorded before the file changes, so an interrupted undo can be completed, and undone itself.
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


LEAVE, SETTLED, LIFT = "leave", "settled", "lift"  # not touched, already as before, only its tombstone goes
ACCEPT, ASK_AGAIN = "accept", "ask again"  # a proposal became a note, or a note a proposal; events have the note's path
NOWHERE = "it was deleted by hand, and memem has no copy; it may be saved again"
UNKNOWN = "the record of the imported tombstones is gone"
GONE = "it has been changed or deleted since"
FORGOTTEN = "its earlier text has been forgotten since"
IN_THE_WAY = "another file is in its place"
_NO_STAMP = (0, 0, -1)


@dataclass(frozen=True, slots=True)
class Left:
    """A note that is left as it is, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Undone:
    """The result of an undo."""

    batch: str
    what: str
    undo: str  # its own batch, which can be undone too; empty when nothing was done
    restored: tuple[str, ...]
    removed: tuple[str, ...]
    left: tuple[Left, ...]
    dry_run: bool = False
    tombstones: int = 0  # imported ones that were lifted or restored


@dataclass(frozen=True, slots=True)
class _Plan:
    """How one note goes back: the action, its path, the bytes it has and the bytes it gets."""

    do: str
    path: str
    now: bytes | None = None
    then: bytes | None = None
    reason: str = ""
    stones: tuple[Tombstone, ...] = ()


def undo(ws: Workspace, batch: str | None = None, *, dry_run: bool = False) -> Undone:
    """Undo a batch: the given one, or the last one a person requested that is not undone. A dry run only reports."""
    refresh(ws)
    vault_id = require_vault(ws)
    logged, undone_by = history.last(ws, vault_id) if batch is None else history.named(ws, batch)
    if undone_by:
        again = "" if logged.what == VANISH else f" `memem undo {undone_by}` reapplies it."
        raise InputError(f"Batch {logged.id} was already undone.{again}")
    if any(step.last.action == PURGE for step in logged.changes):
        raise InputError(f"Batch {logged.id} is a purge, which cannot be undone. `memem log` shows others.")
    why, steps = f"undo of {logged.id}", imported_tombstones.in_turn(logged.changes)
    with ws.events.batch(batches.UNDO) as name:
        plans = [_undo_change(ws, step, vault_id, why, dry_run=dry_run) for step in steps]
        done = any(plan.do != LEAVE for plan in plans) and not dry_run
        if done:  # only now does the batch count as undone: an interrupted undo can be run again
            with writing(ws):
                ws.events.record(batches.UNDONE, id="", path=logged.id, why=why, before="", after="", vault=vault_id)
            ws.changed.add()
    return Undone(
        logged.id,
        logged.what,
        name if done else "",
        restored=tuple(plan.path for plan in plans if plan.do in (RESTORE, RETURN, ACCEPT, *batches.VERDICTS)),
        removed=tuple(plan.path for plan in plans if plan.do in (REMOVE, FORGET, ASK_AGAIN)),
        left=tuple(Left(plan.path, plan.reason) for plan in plans if plan.reason),
        dry_run=dry_run,
        tombstones=sum(len(plan.stones) for plan in plans),
    )


def _undo_change(ws: Workspace, step: NoteChange, vault_id: str, why: str, *, dry_run: bool) -> _Plan:
    plan = _plan(ws, step, vault_id)
    if dry_run:
        return plan
    try:
        if plan.do == FORGET:
            forget.forget(ws, step.id, why=why)
            return plan
        with writing(ws):
            plan = _plan(ws, step, vault_id)  # once more, now that no other memem writes
            _apply(ws, step, plan, why)
    except NoteChanged:
        return _leave(step, "it is being written to")
    except Ambiguous:
        return _leave(step, "several files have its id")
    if plan.do in (RETURN, SETTLED) and step.last.action != REMOVE and not step.after:
        _lift(ws, step)
    if plan.do == LIFT:
        ws.tombstones.lift(forgotten.find_by_id(ws.tombstones.load(), step.id), iso(ws.clock()))
    return plan


def _leave(step: NoteChange, reason: str) -> _Plan:
    return _Plan(LEAVE, step.path, reason=reason)


def _apply(ws: Workspace, step: NoteChange, plan: _Plan, why: str) -> None:
    if plan.stones:
        imported_tombstones.take_back(ws, step, plan.stones, why)
    if step.last.action in batches.VERDICTS and plan.now is not None:
        review.record_decision(ws, plan.do, notes.parse(plan.path, plan.now, step.id), plan.now, why)
    if plan.do not in (REMOVE, RESTORE, RETURN, ACCEPT, ASK_AGAIN):
        return
    if plan.now is not None:
        ws.events.store_undo(notes.digest(plan.now), plan.now)
    record_change(ws, plan.do, step.id, Change(plan.path, plan.now, plan.then), why)
    if plan.do == ACCEPT:
        _put(ws, plan.path, plan.then or b"")
        memory = notes.parse(plan.path, plan.then or b"", step.id).memory
        forget.lift(ws, memory)
        review.allow_held(ws, memory)
        _index(ws, plan.path)
        vanished.lift_removals(ws, step.id)
        restore.remove_file(ws.store, _proposal_path(ws, step), plan.now or b"", fsync=ws.settings.fsync)
    elif plan.do not in (REMOVE, ASK_AGAIN):
        restore.put_back(ws.store, plan.path, plan.then or b"", instead_of=plan.now, fsync=ws.settings.fsync)
        _index(ws, plan.path)
        vanished.lift_removals(ws, step.id)
    else:
        if plan.do == ASK_AGAIN:
            _put(ws, _proposal_path(ws, step), plan.then or b"")
            memory = notes.parse(plan.path, plan.now or b"", step.id).memory
            review.allow_held(ws, memory, batches.ASK)
            forgotten.restore_tombstones(ws, memory)
        # The row goes first: a note that is missing while it has one was deleted by a person.
        ws.index.update([], gone=[plan.path])
        restore.remove_file(ws.store, plan.path, plan.now or b"", fsync=ws.settings.fsync)
        ws.index.update([], gone=[plan.path])
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


def _plan(ws: Workspace, step: NoteChange, vault_id: str) -> _Plan:
    problem = hindrance(ws, step, vault_id)
    if problem:
        return _leave(step, problem)
    if step.last.action in imported_tombstones.ACTIONS:
        stones = imported_tombstones.concerned(ws, step)
        return _leave(step, UNKNOWN) if stones is None else _Plan(SETTLED, step.path, stones=stones)
    return _plan_acceptance(ws, step) if step.last.action == ASK_AGAIN else _plan_note(ws, step)


def _plan_note(ws: Workspace, step: NoteChange) -> _Plan:
    places = dict(history.places(ws, step))
    digests = {notes.digest(data): path for path, data in places.items()}
    if step.last.action in batches.VERDICTS:  # a decision about a quarantined note, which itself did not change
        path = digests.get(step.after, "")
        return _Plan(review.previous_decision(ws, step.events[0]), path, places[path]) if path else _leave(step, GONE)
    if step.before in digests:
        return _Plan(SETTLED, step.path)
    if not step.after:
        return _plan_return(ws, step, is_there=bool(places))
    if step.after in digests:
        return _plan_change(ws, step, digests[step.after], places[digests[step.after]])
    if places or step.before:
        return _leave(step, "it has been changed since" if places else "it has been deleted since")
    is_unreadable = restore.is_taken(ws.store, step.path) and restore.plain_bytes(ws.store, step.path) is None
    return (
        _leave(step, "it cannot be read") if is_unreadable else _Plan(SETTLED, step.path, reason="it is already gone")
    )


def _plan_change(ws: Workspace, step: NoteChange, path: str, data: bytes) -> _Plan:
    """Undo the change of a note that is still as the batch left it."""
    if step.last.action == ACCEPT and step.before:
        if _is_in_the_way(ws, _proposal_path(ws, step), step.before):
            return _Plan(LEAVE, path, reason=IN_THE_WAY)
        return _Plan(ASK_AGAIN, path, data, stored_bytes(ws, step))
    if _brings_back(ws, step, data):
        return _Plan(LEAVE, path, reason=FORGOTTEN)
    return _Plan(_choose_action(ws, step, path, data), path, data, stored_bytes(ws, step))


def _plan_acceptance(ws: Workspace, step: NoteChange) -> _Plan:
    """Accept a proposal again that an undo had restored."""
    data = restore.plain_bytes(ws.store, _proposal_path(ws, step))
    if data is None or notes.digest(data) != step.after:
        return _leave(step, "it has been decided since")
    if _is_in_the_way(ws, step.path, step.before):
        return _leave(step, IN_THE_WAY)
    return _Plan(ACCEPT, step.path, data, stored_bytes(ws, step))


def _is_in_the_way(ws: Workspace, path: str, wanted: str) -> bool:
    """Whether another file is there; an interrupted undo may have written the wanted one."""
    return restore.is_taken(ws.store, path) and notes.digest(restore.plain_bytes(ws.store, path) or b"") != wanted


def _put(ws: Workspace, path: str, data: bytes) -> None:
    if restore.plain_bytes(ws.store, path) != data:
        restore.put_back(ws.store, path, data, instead_of=None, fsync=ws.settings.fsync)


def _proposal_path(ws: Workspace, step: NoteChange) -> str:
    return f"{ws.store.paths.review.name}/{PurePosixPath(step.path).name}"


def _choose_action(ws: Workspace, step: NoteChange, path: str, data: bytes) -> str:
    """The action that undoes a changed or created note. If the batch lifted its tombstone, it is forgotten again."""
    if step.before:
        return RESTORE
    if step.last.action in (RETURN, ACCEPT):
        return FORGET
    index = ws.tombstones.load()
    if not index.lifted or step.last.what == IMPORT:  # an import lifts no tombstones of this vault
        return REMOVE
    with suppress(NoteError):
        memory = notes.parse(path, data, step.id).memory
        stones = forgotten.find_matching(index_tombstones(index.salts, index.lifted), memory)
        if stones and not forgotten.filter_by_id(index, stones, memory.id):
            return FORGET
    return REMOVE


def _brings_back(ws: Workspace, step: NoteChange, now: bytes | None) -> bool:
    """Whether the note said before what was forgotten since, and does not say it now."""
    index = ws.tombstones.load()
    return bool(index) and not _tombstones_of(index, step, stored_bytes(ws, step)) <= _tombstones_of(index, step, now)


def _tombstones_of(index: TombstoneIndex, step: NoteChange, data: bytes | None) -> set[str]:
    with suppress(NoteError):
        memory = notes.parse(step.path, data or b"", step.id).memory
        return {stone.key for stone in forgotten.find_matching(index, memory)} if data else set()
    return set()


def _plan_return(ws: Workspace, step: NoteChange, *, is_there: bool) -> _Plan:
    """Bring back a note that the batch forgot or removed."""
    if is_there:
        return _leave(step, "it is back, and has been changed since")
    if restore.is_taken(ws.store, step.path):
        return _leave(step, IN_THE_WAY)
    if step.last.action == REMOVE and _brings_back(ws, step, None):
        return _leave(step, FORGOTTEN)
    if step.last.action == VANISH and stored_bytes(ws, step) is None:
        return _Plan(LIFT, step.path, reason=NOWHERE)
    return _Plan(RESTORE if step.last.action == REMOVE else RETURN, step.path, None, stored_bytes(ws, step))


def _index(ws: Workspace, path: str) -> None:
    """Have the index read a file again, unless it is in a folder that the index leaves out."""
    parts = PurePosixPath(path).parts
    if parts[0] not in RESERVED and not any(part.startswith(".") for part in parts):
        refresh_stale(ws, [(path, _NO_STAMP)])
