"""Recognise forgotten memories: by statement, quote, id, or the turn they came from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from memem.core.dates import iso
from memem.core.memory import ID8, Memory
from memem.core.tombstone import Removal, Tombstone
from memem.safety.gate import cleanse
from memem.vault.fingerprints import Hasher, MemoryHashes
from memem.vault.tombstones import TombstoneIndex, index_tombstones

if TYPE_CHECKING:
    from memem.workspace import Workspace


def write_tombstone(ws: Workspace, memory: Memory, *, purged: bool = False, also_in: Iterable[str] = ()) -> None:
    """Write a memory's tombstone, unless one covers it already. `also_in` are further turns with its words."""
    name, salt = ws.tombstones.salt()
    stone = make_tombstone(memory, Hasher(name, salt), iso(ws.clock()), purged=purged)
    stone = replace(stone, turns=(*stone.turns, *also_in))
    standing = ws.tombstones.load().by_id.get(stone.ids[0], ())
    if not any(_covers(each, stone) for each in standing):
        ws.tombstones.add([stone], salt)


def restore_tombstones(ws: Workspace, memory: Memory) -> None:
    """Put the lifted tombstones of a memory in force again."""
    known = ws.tombstones.load()
    for stone in find_matching(index_tombstones(known.salts, known.lifted), memory) if known.lifted else ():
        ws.tombstones.add([replace(stone, key=os.urandom(8).hex())], known.salts[stone.salt])


def make_tombstone(memory: Memory, hasher: Hasher, time: str, *, purged: bool = False) -> Tombstone:
    """Make the tombstone of a memory as it leaves the gate, like the memories compared with it."""
    return hasher.tombstone(cleanse(memory).memory, key=os.urandom(8).hex(), time=time, purged=purged)


def record_removal(ws: Workspace, identity: str) -> None:
    """Record in the vault that an undo removed a note: for other homes it was not deleted by hand."""
    name, salt = ws.tombstones.salt()
    ws.tombstones.remove(Removal(os.urandom(8).hex(), Hasher(name, salt).of("id", identity), iso(ws.clock())))


def find_removals(known: TombstoneIndex, identity: str) -> list[Removal]:
    """Find the removals of an id whose note is not back."""
    if not known.removed:
        return []
    return [each for name in _ids(known, identity) for each in known.removed.get(name, ())]


def find_matching(known: TombstoneIndex, memory: Memory) -> list[Tombstone]:
    """Find the tombstones that match a memory, however it is worded."""
    return _unique(stone for each in _candidates(known, memory) for stone in _find_stones(known, memory, each))


def find_same(known: TombstoneIndex, memory: Memory, *, by_statement: bool = True) -> list[Tombstone]:
    """Find the tombstones of the memory itself: by its id, or by its exact statement."""
    found: list[Tombstone] = []
    for each in _candidates(known, memory):
        found += known.by_id.get(each.id, ())
        texts = each.wholes if by_statement else ()
        found += [stone for text in texts for stone in known.by_text.get(text, ()) if text in stone.statements]
    return _unique(found)


def find_by_id(known: TombstoneIndex, identity: str) -> list[Tombstone]:
    """Find the tombstones in force of an id, or of its first characters."""
    return _unique(stone for each in _ids(known, identity) for stone in known.by_id.get(each, ()))


def filter_by_id(known: TombstoneIndex, stones: Iterable[Tombstone], identity: str) -> list[Tombstone]:
    """Select the tombstones of an id, or of its first characters."""
    hashes = _ids(known, identity)
    return [stone for stone in stones if not hashes.isdisjoint(stone.ids)]


def _ids(known: TombstoneIndex, identity: str) -> set[str]:
    wanted = identity.lower() if len(identity) <= ID8 else identity
    return {Hasher(name, salt).of("id", wanted) for name, salt in known.salts.items()}


def is_from_session(known: TombstoneIndex, stone: Tombstone, session: str) -> bool:
    """Tell whether a forgotten memory came from a session."""
    return stone.session == Hasher(stone.salt, known.salts[stone.salt]).of("session", session)


def _candidates(known: TombstoneIndex, memory: Memory) -> list[MemoryHashes]:
    if not known.salts:
        return []
    clean = cleanse(memory).memory
    return [MemoryHashes(clean, Hasher(name, salt)) for name, salt in known.salts.items()]


def _find_stones(known: TombstoneIndex, memory: Memory, candidate: MemoryHashes) -> Iterable[Tombstone]:
    yield from known.by_id.get(candidate.id, ())
    for text in candidate.texts(known.sizes):
        yield from known.by_text.get(text, ())
    for stone in known.by_turn.get(memory.source_turn, ()):
        if candidate.repeats(stone):
            yield stone


def _covers(old: Tombstone, new: Tombstone) -> bool:
    texts = (set(new.statements) <= set(old.statements), set(new.quotes) <= set(old.quotes))
    return all(texts) and set(new.turns) <= set(old.turns) and old.purged >= new.purged


def _unique(stones: Iterable[Tombstone]) -> list[Tombstone]:
    return list({stone.key: stone for stone in stones}.values())
