"""Add the tombstones of an import, and record which, so that an undo can lift them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from memem.core.dates import iso
from memem.core.tombstone import Tombstone
from memem.state.batches import ADD_TOMBSTONES, REMOVE_TOMBSTONES, VANISH, NoteChange
from memem.vault import forgotten
from memem.vault import note as notes
from memem.vault.fingerprints import Hasher
from memem.vault.store import Change
from memem.vault.tombstones import TombstoneIndex, index_tombstones
from memem.vault.write_lock import record_change

if TYPE_CHECKING:
    from memem.workspace import Workspace


ACTIONS = (ADD_TOMBSTONES, REMOVE_TOMBSTONES)
_FORGETTING = ("forget", "purge", "reject", VANISH)


def take_in(ws: Workspace, lines: Iterable[bytes], keys: Iterable[str], why: str) -> None:
    """Add lines of another vault's tombstones; those with `keys` are new. Called under the write lock."""
    new = list(keys)
    if new:
        _record(ws, ADD_TOMBSTONES, "", new, why)
    ws.tombstones.take_in(lines)


def remembered(ws: Workspace, known: TombstoneIndex) -> set[str]:
    """The keys of tombstones whose note is in this vault."""
    hashers = [Hasher(name, salt) for name, salt in known.salts.items()]
    ids = [row.memory.id for row in ws.index.rows("1") if row.memory] if known.standing else []
    hashes = {hasher.of("id", each) for hasher in hashers for each in ids}
    return {stone.key for stone in known.standing if stone.ids and stone.ids[0] in hashes}


def in_turn(steps: Sequence[NoteChange]) -> list[NoteChange]:
    """The changes of a batch in the order of an undo: notes from the last to the first, then tombstones."""
    last = [step for step in steps if step.last.action in ACTIONS]
    return [*(step for step in reversed(steps) if step not in last), *reversed(last)]


def concerned(ws: Workspace, step: NoteChange) -> tuple[Tombstone, ...] | None:
    """The tombstones that an undo of a change lifts or restores; None when its record is gone."""
    data, known = ws.events.read_undo(step.after or step.before), ws.tombstones.load()
    if data is None:
        return None
    keys = frozenset(data.decode("utf-8", "replace").split("\n"))
    if step.last.action == REMOVE_TOMBSTONES:
        stones = index_tombstones(known.salts, tuple(stone for stone in known.lifted if stone.key in keys))
        here = remembered(ws, stones)
        return tuple(stone for stone in stones.standing if stone.key not in here)
    brought = [stone for stone in known.standing if stone.key in keys]
    # Forgetting a note here that has an imported tombstone adds none: that tombstone stays.
    since = takewhile(lambda event: event != step.last, ws.events.read_backwards())
    ids = {event.id for event in since if event.action in _FORGETTING}
    again = {stone for identity in ids for stone in forgotten.filter_by_id(known, brought, identity)}
    return tuple(stone for stone in brought if stone not in again)


def take_back(ws: Workspace, step: NoteChange, stones: Sequence[Tombstone], why: str) -> None:
    """Lift or restore tombstones. Called under the write lock."""
    if step.last.action == ADD_TOMBSTONES:
        keys = [stone.key for stone in stones]
        _record(ws, REMOVE_TOMBSTONES, step.path, keys, why)
        ws.tombstones.lift(stones, iso(ws.clock()))
        return
    fresh = [replace(stone, key=os.urandom(8).hex()) for stone in stones]  # a lifted key stays lifted
    _record(ws, ADD_TOMBSTONES, step.path, [stone.key for stone in fresh], why)
    for name, salt in ws.tombstones.load().salts.items():
        ws.tombstones.add([stone for stone in fresh if stone.salt == name], salt)


def _record(ws: Workspace, action: str, path: str, keys: Iterable[str], why: str) -> None:
    data = "\n".join(sorted(keys)).encode("utf-8", "replace")
    digest = notes.digest(data)
    ws.events.store_undo(digest, data)
    path = path or f"{ws.store.paths.tombstones.name}#{digest[:8]}"  # one change for each vault of an import
    change = Change(path, None, data) if action == ADD_TOMBSTONES else Change(path, data, None)
    record_change(ws, action, "", change, why)
