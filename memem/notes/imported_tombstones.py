"""Tombstones that an import brings along: its batch tells which, so that an undo can lift them again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
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
    """Add lines of another vault's tombstones, of which those with these keys are new. Called under the write lock."""
    new = list(keys)
    if new:
        _record(ws, ADD_TOMBSTONES, "", new, why)
    ws.tombstones.take_in(lines)


def remembered(ws: Workspace, known: TombstoneIndex) -> set[str]:
    """The keys of those that are of a note which is here."""
    hashers = [Hasher(name, salt) for name, salt in known.salts.items()]
    ids = [row.memory.id for row in ws.index.rows("1") if row.memory] if known.standing else []
    hashes = {hasher.of("id", each) for hasher in hashers for each in ids}
    return {stone.key for stone in known.standing if stone.ids and stone.ids[0] in hashes}


def in_turn(steps: Sequence[NoteChange]) -> list[NoteChange]:
    """The steps of a batch as they are taken back, the last one first, but tombstones after all notes: one that stood
    beside a tombstone is not held to be forgotten for that."""
    last = [step for step in steps if step.last.action in ACTIONS]
    return [*(step for step in reversed(steps) if step not in last), *reversed(last)]


def concerned(ws: Workspace, step: NoteChange) -> tuple[Tombstone, ...] | None:
    """Those that an undo of a step lifts, or, where an undo has lifted them, has stand again.

    None when it is no longer known which.
    """
    keys, known = _keys(ws, step.after or step.before), ws.tombstones.load()
    if keys is None:
        return None
    if step.last.action == REMOVE_TOMBSTONES:
        stones = index_tombstones(known.salts, tuple(stone for stone in known.lifted if stone.key in keys))
        here = remembered(ws, stones)
        return tuple(stone for stone in stones.standing if stone.key not in here)
    brought = [stone for stone in known.standing if stone.key in keys]
    # To forget here what was forgotten there adds no tombstone: the one that stands is of both.
    again = {stone for each in _forgotten_since(ws, step) for stone in forgotten.filter_by_id(known, brought, each)}
    return tuple(stone for stone in brought if stone not in again)


def take_back(ws: Workspace, step: NoteChange, stones: Sequence[Tombstone], why: str) -> None:
    """Lift them, or have them stand again. Called under the write lock."""
    if step.last.action == ADD_TOMBSTONES:
        keys = [stone.key for stone in stones]
        _record(ws, REMOVE_TOMBSTONES, step.path, keys, why)
        ws.tombstones.lift(stones, iso(ws.clock()))
        return
    fresh = [replace(stone, key=os.urandom(8).hex()) for stone in stones]  # a key that was lifted is so for good
    _record(ws, ADD_TOMBSTONES, step.path, [stone.key for stone in fresh], why)
    for name, salt in ws.tombstones.load().salts.items():
        ws.tombstones.add([stone for stone in fresh if stone.salt == name], salt)


def _record(ws: Workspace, action: str, path: str, keys: Iterable[str], why: str) -> None:
    """The line comes first: an undo lifts only what stands."""
    data = "\n".join(sorted(keys)).encode("utf-8", "replace")
    digest = notes.digest(data)
    ws.events.store_undo(digest, data)
    # An import may bring those of several vaults: each has a step of its own.
    path = path or f"{ws.store.paths.tombstones.name}#{digest[:8]}"
    record_change(
        ws, action, "", Change(path, None, data) if action == ADD_TOMBSTONES else Change(path, data, None), why
    )


def _keys(ws: Workspace, digest: str) -> frozenset[str] | None:
    data = ws.events.read_undo(digest)
    return None if data is None else frozenset(data.decode("utf-8", "replace").split("\n"))


def _forgotten_since(ws: Workspace, step: NoteChange) -> set[str]:
    found: set[str] = set()
    for event in ws.events.read_backwards():
        if event == step.last:
            break
        if event.action in _FORGETTING:
            found.add(event.id)
    return found
