"""Undo one run or command, from the event log and the undo store.

A note goes back only while it is still as the batch left it, wherever it was moved; later changes stay. The event is
recorded before the file changes, so an interrupted undo can be completed, and undone itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memem.core.dates import iso
from memem.core.errors import Ambiguous, InputError, NoteChanged, NoteError
from memem.core.tombstone import Removal, Tombstone
from memem.notes import forget, history, rename, review
from memem.notes.history import FORGET, PURGE, REMOVE, RESTORE, RETURN, stored_bytes
from memem.search import vanished
from memem.search.refresh import refresh, refresh_stale
from memem.state import batches
from memem.state.batches import IMPORT, VANISH, NoteChange
from memem.vault import note as notes
from memem.vault import restore
from memem.vault.forgotten import Hasher, filter_by_id, find_by_id, find_matching
from memem.vault.opening import require_vault
from memem.vault.store import RESERVED, Change
from memem.vault.tombstones import TombstoneIndex, index_tombstones
from memem.vault.write_lock import record_change, writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


LEAVE, SETTLED, LIFT = "leave", "settled", "lift"  # not touched, already as before, only its tombstone goes
ACCEPT, ASK_AGAIN = "accept", "ask again"  # a proposal became a note, or a note a proposal; events have the note's path
GONE = "it has been changed or deleted since"
FORGOTTEN = "its earlier text has been forgotten since"
IN_THE_WAY = "another file is in its place"


@dataclass(frozen=True, slots=True)
class Left:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Undone:
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
    former: str = ""  # the path it had before memem renamed it
    stones: Sequence[Tombstone] = ()


def undo(ws: Workspace, batch: str | None = None, *, dry_run: bool = False) -> Undone:
    """Undo a batch: the given one, or the last one a person requested that is not undone. A dry run only reports."""
    refresh(ws)
    vault_id = require_vault(ws)
    logged, undone_by = history.last(ws, vault_id) if batch is None else history.named(ws, batch)
    if undone_by:
        again = "" if logged.what == VANISH else f" `memem undo {undone_by}` reapplies it."
        raise InputError(f"Batch {logged.id} was already undone.{again}")
    if any(step.last.action == PURGE for step in logged.changes):
        raise InputError(f"Batch {logged.id} is a purge, which cannot be undone. `memem log` lists other batches.")
    why, steps = f"undo of {logged.id}", list(reversed(logged.changes))
    steps.sort(key=lambda step: step.last.action in batches.TOMBSTONE_ACTIONS)  # they come after all notes
    with ws.events.batch(batches.UNDO) as name:
        plans = [_undo_change(ws, step, vault_id, why, dry_run=dry_run) for step in steps]
        done = any(plan.do != LEAVE for plan in plans) and not dry_run
        if done:  # only now does the batch count as undone: an interrupted undo can be run again
            with writing(ws):
                ws.events.record(batches.UNDONE, id="", path=logged.id, why=why, before="", after="", vault=vault_id)
            ws.changed |= {"conflicts", "notes"}
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
            plan = _apply(ws, step, plan, why)
    except NoteChanged:
        return _leave(step, "it is being written to")
    except Ambiguous:
        return _leave(step, "several files have its id")
    if plan.do in (RETURN, SETTLED) and step.last.action != REMOVE and not step.after:
        # It is back: its tombstones go, and the copies that were set aside.
        with suppress(NoteError):
            forget.lift(ws, notes.parse(step.path, stored_bytes(ws, step) or b"", step.id).memory)
        with writing(ws):
            for path, data in list(restore.find_set_aside(ws.store, step.path, {each.before for each in step.events})):
                ws.events.store_undo(notes.digest(data), data)
                restore.remove_file(ws.store, path, data)
    if plan.do == LIFT:
        ws.tombstones.lift(find_by_id(ws.tombstones.load(), step.id), iso(ws.clock()))
    return plan


def _leave(step: NoteChange, reason: str) -> _Plan:
    return _Plan(LEAVE, step.path, reason=reason)


def _apply(ws: Workspace, step: NoteChange, plan: _Plan, why: str) -> _Plan:
    """Carry out a plan, and return it with the path that the note has now."""
    if plan.stones:
        forget.undo_imported(ws, step, plan.stones, why)
    if step.last.action in batches.VERDICTS and plan.now is not None:
        review.record_decision(ws, plan.do, notes.parse(plan.path, plan.now, step.id), plan.now, why)
    if plan.do not in (REMOVE, RESTORE, RETURN, ACCEPT, ASK_AGAIN):
        return plan
    now, then = plan.now or b"", plan.then or b""
    if plan.now is not None:
        ws.events.store_undo(notes.digest(now), now)
    if plan.do == RESTORE and plan.former:
        note = notes.parse(plan.path, now, step.id)
        plan = replace(plan, path=rename.move_note(ws, note, plan.path, plan.former, why).path)
    record_change(ws, plan.do, step.id, Change(plan.path, plan.now, plan.then), why)
    if plan.do in (REMOVE, ASK_AGAIN):
        if plan.do == ASK_AGAIN:
            restore.put_back(ws.store, _proposal_path(ws, step), then)
            memory = notes.parse(plan.path, now, step.id).memory
            review.allow_held(ws, memory, batches.ASK)
            forget.restore_tombstones(ws, memory)
        # The row goes first: a note that is missing while it has one was deleted by a person.
        ws.index.update([], gone=[plan.path])
        restore.remove_file(ws.store, plan.path, now)
        ws.index.update([], gone=[plan.path])
        name, salt = ws.tombstones.salt()
        # Recorded in the vault: for other homes that share it, the note was not deleted by hand.
        ws.tombstones.remove(Removal(os.urandom(8).hex(), Hasher(name, salt).of("id", step.id), iso(ws.clock())))
        return plan
    restore.put_back(ws.store, plan.path, then, instead_of=None if plan.do == ACCEPT else plan.now)
    if plan.do == ACCEPT:
        memory = notes.parse(plan.path, then, step.id).memory
        forget.lift(ws, memory)
        review.allow_held(ws, memory)
    parts = PurePosixPath(plan.path).parts
    if parts[0] not in RESERVED and not any(part.startswith(".") for part in parts):
        refresh_stale(ws, [(plan.path, None)])
    vanished.lift_removals(ws, step.id)
    if plan.do == ACCEPT:
        restore.remove_file(ws.store, _proposal_path(ws, step), now)
    return plan


def _plan(ws: Workspace, step: NoteChange, vault_id: str) -> _Plan:
    if problem := history.hindrance(ws, step, vault_id):
        return _leave(step, problem)
    if step.last.action in batches.TOMBSTONE_ACTIONS:
        stones, gone = forget.find_imported(ws, step), "the record of the imported tombstones is gone"
        return _leave(step, gone) if stones is None else _Plan(SETTLED, step.path, stones=stones)
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
    do, reason = (LEAVE, "it cannot be read") if is_unreadable else (SETTLED, "it is already gone")
    return _Plan(do, step.path, reason=reason)


def _plan_change(ws: Workspace, step: NoteChange, path: str, data: bytes) -> _Plan:
    if step.last.action == ACCEPT and step.before:
        if _is_in_the_way(ws, _proposal_path(ws, step), step.before):
            return _Plan(LEAVE, path, reason=IN_THE_WAY)
        return _Plan(ASK_AGAIN, path, data, stored_bytes(ws, step))
    if _brings_back(ws, step, data):
        return _Plan(LEAVE, path, reason=FORGOTTEN)
    former = step.former_path if step.before and path == step.path else path
    plan = _Plan(_choose_action(ws, step, path, data), path, data, stored_bytes(ws, step))
    return plan if former == path else replace(plan, former=former)


def _plan_acceptance(ws: Workspace, step: NoteChange) -> _Plan:
    data = restore.plain_bytes(ws.store, _proposal_path(ws, step))
    if data is None or notes.digest(data) != step.after:
        return _leave(step, "it has been accepted or rejected since")
    if _is_in_the_way(ws, step.path, step.before):
        return _leave(step, IN_THE_WAY)
    return _Plan(ACCEPT, step.path, data, stored_bytes(ws, step))


def _is_in_the_way(ws: Workspace, path: str, wanted: str) -> bool:
    """Whether another file is there; an interrupted undo may have written the wanted one."""
    return restore.is_taken(ws.store, path) and notes.digest(restore.plain_bytes(ws.store, path) or b"") != wanted


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
        stones = find_matching(index_tombstones(index.salts, index.lifted), memory)
        if stones and not filter_by_id(index, stones, memory.id):
            return FORGET
    return REMOVE


def _brings_back(ws: Workspace, step: NoteChange, now: bytes | None) -> bool:
    """Whether the note said before what was forgotten since, and does not say it now."""
    index = ws.tombstones.load()
    return bool(index) and not _tombstones_of(index, step, stored_bytes(ws, step)) <= _tombstones_of(index, step, now)


def _tombstones_of(index: TombstoneIndex, step: NoteChange, data: bytes | None) -> set[str]:
    with suppress(NoteError):
        memory = notes.parse(step.path, data or b"", step.id).memory
        return {stone.key for stone in find_matching(index, memory)} if data else set()
    return set()


def _plan_return(ws: Workspace, step: NoteChange, *, is_there: bool) -> _Plan:
    if is_there:
        return _leave(step, "it is back, and has been changed since")
    if restore.is_taken(ws.store, step.path):
        return _leave(step, IN_THE_WAY)
    if step.last.action == REMOVE and _brings_back(ws, step, None):
        return _leave(step, FORGOTTEN)
    if step.last.action == VANISH and stored_bytes(ws, step) is None:
        gone = "it was deleted by hand and memem has no copy to restore"
        return _Plan(LIFT, step.path, reason=f"{gone}; memem no longer refuses to save it again")
    return _Plan(RESTORE if step.last.action == REMOVE else RETURN, step.path, None, stored_bytes(ws, step))
