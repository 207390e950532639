"""Take a memory out of recall, and keep it from coming back. Its note moves to `.forgotten/`; nothing is destroyed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.dates import iso, moment
from memem.core.errors import NoteError
from memem.core.memory import ID8, Memory
from memem.core.tombstone import Tombstone
from memem.notes.write import Written, note_of
from memem.safety.gate import cleanse
from memem.search import vanished
from memem.search.refresh import ensure_filled
from memem.search.vanished import MissingNote
from memem.state import usefulness
from memem.state.batches import ADD_TOMBSTONES, REMOVE_TOMBSTONES, VANISH, NoteChange
from memem.state.events import UNDO_DAYS
from memem.state.note_records import VanishedNote
from memem.vault.forgotten import Hasher, filter_by_id, find_by_id, find_matching, find_same, make_tombstone
from memem.vault.note import digest
from memem.vault.opening import require_vault
from memem.vault.store import Change
from memem.vault.tombstones import TombstoneIndex, index_tombstones
from memem.vault.write_lock import record_change, writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


ANYWAY = "`memem save --anyway` saves it regardless"
_FORGETTING = ("forget", "purge", "reject", VANISH)


@dataclass(frozen=True, slots=True)
class Hold:
    reason: str
    again: bool  # a person has said it again since, so it is proposed
    by_hand: bool = False  # its note was deleted by hand, not by memem

    @property
    def advice(self) -> str:
        return f"{ANYWAY}." if self.by_hand else f"{ANYWAY}; `memem log` lists what can be undone with `memem undo`."


def forget(ws: Workspace, identity: str, *, why: str = "") -> Written:
    """Take a memory out of recall; it can be undone within 30 days."""
    with writing(ws):
        ensure_filled(ws, require_vault(ws))
        note = note_of(ws, identity)
        ws.events.store_undo(note.digest, ws.store.unchanged_bytes(note))
        write_tombstone(ws, note.memory)  # first: after an interruption the note can be forgotten again
        change = ws.store.set_aside(note)
        record_change(ws, "forget", note.memory.id, change, why)
        ws.index.update([], gone=[note.path])
    usefulness.forget(ws, note.memory.id)
    ws.changed |= {"conflicts", "notes"} if ws.store.paths.conflicts.exists() else {"notes"}
    return Written("forgotten", cleanse(note.memory).memory, note.path)


def forget_vanished(ws: Workspace, *, why: str = "") -> list[MissingNote]:
    """Confirm that the notes missing from the vault were deleted on purpose, and return them."""
    vault_id = require_vault(ws)

    def record(gone: VanishedNote) -> None:
        before = gone.digest or digest(b"")  # notes missed by older versions have no digest
        ws.events.record(VANISH, id=gone.id, path=gone.path, why=why, before=before, after="", vault=vault_id)

    with ws.events.batch(VANISH), writing(ws):
        return vanished.confirm_deleted(ws, record)


def check_forgotten(
    ws: Workspace, memory: Memory, *, session: str = "", said: str = "", person: bool = False
) -> Hold | None:
    """Why a memory may not be saved, or None. `person`: a person said its words, at `said`, in `session`."""
    reason, index = "", ws.tombstones.load()
    stones = find_matching(index, memory) if index else []
    if not stones and not (memory.author == "human" and memory.source_type == "user"):
        reason, index = "its note has been missing since", vanished.missing_tombstones(ws)
        stones = find_matching(index, memory) if index else []
    if not stones:
        return None
    news = [_is_said_since(index, stone, session, said) and memory.source_turn not in stone.turns for stone in stones]
    last = max(stones, key=lambda stone: stone.time)
    reason = reason or ("its note was deleted by hand on" if last.by_hand else "it was forgotten on")
    return Hold(f"{reason} {last.time[:10]}", person and all(news), last.by_hand)


def _is_said_since(index: TombstoneIndex, stone: Tombstone, session: str, said: str) -> bool:
    """Whether words are of a later time and another session than the forgotten ones."""
    said_at, forgotten_at = moment(said), moment(stone.time)
    if stone.purged or not session or said_at is None or forgotten_at is None:
        return False
    hasher = Hasher(stone.salt, index.salts[stone.salt])
    return said_at > forgotten_at and stone.session != hasher.of("session", session)


def was_forgotten(ws: Workspace, identity: str) -> bool:
    """Whether a note whose id is, or begins with, `identity` was forgotten and not wanted back."""
    index = ws.tombstones.load()
    if find_by_id(index, identity):
        return True
    if filter_by_id(index, index.lifted, identity):
        return False
    # Notes forgotten before there were tombstones are recognised by their files.
    folder, beginning = ws.store.paths.forgotten, identity[:ID8].lower()
    notes = [path for path in folder.iterdir() if beginning in path.name] if folder.is_dir() else []
    return any(identity.encode() in path.read_bytes() for path in notes)


def drop_old(ws: Workspace) -> None:
    """Remove the notes that were forgotten over 30 days ago. Their tombstones stay."""
    folder = ws.store.paths.forgotten
    if not folder.is_dir():
        return
    index, before = ws.tombstones.load(), ws.clock() - timedelta(days=UNDO_DAYS)
    every = (*index.standing, *index.lifted)
    for path in sorted(folder.glob("*.md")):
        with suppress(NoteError):
            memory = ws.store.read(f"{folder.name}/{path.name}").memory
            times = [moment(stone.time) for stone in filter_by_id(index, every, memory.id)]
            if times and all(time and time < before for time in times):
                files.remove_quietly(path)


def write_tombstone(ws: Workspace, memory: Memory, *, purged: bool = False, also_in: Iterable[str] = ()) -> None:
    """Write a memory's tombstone, unless one covers it already. `also_in` are further turns with its words."""
    name, salt = ws.tombstones.salt()
    new = make_tombstone(memory, Hasher(name, salt), iso(ws.clock()), purged=purged)
    new = replace(new, turns=(*new.turns, *also_in))
    for old in ws.tombstones.load().by_id.get(new.ids[0], ()):
        pairs = ((new.statements, old.statements), (new.quotes, old.quotes), (new.turns, old.turns))
        if all(set(ours) <= set(theirs) for ours, theirs in pairs) and old.purged >= new.purged:
            return
    ws.tombstones.add([new], salt)


def lift(ws: Workspace, memory: Memory) -> None:
    """Lift the tombstones of a memory that is wanted after all."""
    index = ws.tombstones.load()
    if stones := find_same(index, memory) or find_matching(index, memory):
        ws.tombstones.lift(stones, iso(ws.clock()))
    if missing := vanished.missing_tombstones(ws):
        vanished.drop_missing(ws, memory.id, [stone.key for stone in find_same(missing, memory)])


def restore_tombstones(ws: Workspace, memory: Memory) -> None:
    index = ws.tombstones.load()
    _add_tombstones(ws, _with_new_keys(find_matching(index_tombstones(index.salts, index.lifted), memory)))


def add_imported(ws: Workspace, lines: Iterable[bytes], keys: Iterable[str], why: str) -> None:
    """Add lines of another vault's tombstones; those with `keys` are new. Called under the write lock."""
    if new := list(keys):
        _record_keys(ws, ADD_TOMBSTONES, "", new, why)
    ws.tombstones.take_in(lines)


def find_imported(ws: Workspace, step: NoteChange) -> Sequence[Tombstone] | None:
    """The tombstones that an undo of a change lifts or restores; None when its record is gone."""
    data, index = ws.events.read_undo(step.after or step.before), ws.tombstones.load()
    if data is None:
        return None
    keys = frozenset(data.decode("utf-8", "replace").split("\n"))
    if step.last.action == REMOVE_TOMBSTONES:
        stones = index_tombstones(index.salts, tuple(stone for stone in index.lifted if stone.key in keys))
        present = keys_of_present_notes(ws, stones)
        return [stone for stone in stones.standing if stone.key not in present]
    imported = [stone for stone in index.standing if stone.key in keys]
    # Forgetting a note here that has an imported tombstone adds none: that tombstone stays.
    since = takewhile(lambda event: event != step.last, ws.events.read_backwards())
    ids = {event.id for event in since if event.action in _FORGETTING}
    needed = {stone for identity in ids for stone in filter_by_id(index, imported, identity)}
    return [stone for stone in imported if stone not in needed]


def keys_of_present_notes(ws: Workspace, index: TombstoneIndex) -> set[str]:
    hashers = [Hasher(name, salt) for name, salt in index.salts.items()]
    ids = [row.memory.id for row in ws.index.rows("1") if row.memory] if index.standing else []
    hashes = {hasher.of("id", identity) for hasher in hashers for identity in ids}
    return {stone.key for stone in index.standing if stone.ids and stone.ids[0] in hashes}


def undo_imported(ws: Workspace, step: NoteChange, stones: Sequence[Tombstone], why: str) -> None:
    """Lift or restore tombstones. Called under the write lock."""
    if step.last.action == ADD_TOMBSTONES:
        _record_keys(ws, REMOVE_TOMBSTONES, step.path, [stone.key for stone in stones], why)
        ws.tombstones.lift(stones, iso(ws.clock()))
    else:
        fresh = _with_new_keys(stones)
        _record_keys(ws, ADD_TOMBSTONES, step.path, [stone.key for stone in fresh], why)
        _add_tombstones(ws, fresh)


def _with_new_keys(stones: Iterable[Tombstone]) -> list[Tombstone]:
    return [replace(stone, key=os.urandom(8).hex()) for stone in stones]  # a lifted key stays lifted


def _add_tombstones(ws: Workspace, stones: Sequence[Tombstone]) -> None:
    for name, salt in ws.tombstones.load().salts.items():
        ws.tombstones.add([stone for stone in stones if stone.salt == name], salt)


def _record_keys(ws: Workspace, action: str, path: str, keys: Iterable[str], why: str) -> None:
    data = "\n".join(sorted(keys)).encode("utf-8", "replace")
    name = digest(data)
    ws.events.store_undo(name, data)
    path = path or f"{ws.store.paths.tombstones.name}#{name[:8]}"  # one change for each vault of an import
    change = Change(path, None, data) if action == ADD_TOMBSTONES else Change(path, data, None)
    record_change(ws, action, "", change, why)
