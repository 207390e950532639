"""Take a memory out of recall, and keep it from coming back. Its note moves to `.forgotten/`; nothing is destroyed.

The tombstone is written first: after an interruption the note is still there and can be forgotten again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
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
from memem.state.batches import VANISH
from memem.state.note_records import VanishedNote
from memem.vault import forgotten as vault_forgotten
from memem.vault.note import digest
from memem.vault.opening import require_vault
from memem.vault.tombstones import TombstoneIndex
from memem.vault.write_lock import record_change, writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


UNDO_DAYS = 30  # how long a forgotten note stays in `.forgotten/`, and its bytes in the undo store
ANYWAY = "`memem save --anyway` saves it regardless"


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a memory may not be saved."""

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
        vault_forgotten.write_tombstone(ws, note.memory)
        change = ws.store.set_aside(note)
        record_change(ws, "forget", note.memory.id, change, why)
        ws.index.update([], gone=[note.path])
    usefulness.forget(ws, note.memory.id)
    ws.changed.add(conflicts=ws.store.paths.conflicts.exists())
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
    """Why a memory may not be saved because it was forgotten, or, unless a person wrote it, deleted by hand.

    `person`: its words were said by a person, at `said`, in `session`.
    """
    reason, index = "", ws.tombstones.load()
    stones = vault_forgotten.find_matching(index, memory) if index else []
    if not stones and not (memory.author == "human" and memory.source_type == "user"):
        reason, index = "its note has been missing since", vanished.missing_tombstones(ws)
        stones = vault_forgotten.find_matching(index, memory) if index else []
    if not stones:
        return None
    news = [_is_said_since(index, stone, session, said) and memory.source_turn not in stone.turns for stone in stones]
    last = max(stones, key=lambda stone: stone.time)
    reason = reason or ("its note was deleted by hand on" if last.by_hand else "it was forgotten on")
    return Hold(f"{reason} {last.time[:10]}", person and all(news), last.by_hand)


def lift(ws: Workspace, memory: Memory) -> None:
    """Lift the tombstones of a memory that is wanted after all."""
    forgotten = ws.tombstones.load()
    stones = vault_forgotten.find_same(forgotten, memory) or vault_forgotten.find_matching(forgotten, memory)
    if stones:
        ws.tombstones.lift(stones, iso(ws.clock()))
    away = vanished.missing_tombstones(ws)
    if away:
        vanished.drop_missing(ws, memory.id, [stone.key for stone in vault_forgotten.find_same(away, memory)])


def was_forgotten(ws: Workspace, identity: str) -> bool:
    """Whether a note whose id is, or begins with, `identity` was forgotten and not wanted back."""
    index = ws.tombstones.load()
    if vault_forgotten.find_by_id(index, identity):
        return True
    if vault_forgotten.filter_by_id(index, index.lifted, identity):
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
        try:
            memory = ws.store.read(f"{folder.name}/{path.name}").memory
        except NoteError:
            continue
        times = [moment(stone.time) for stone in vault_forgotten.filter_by_id(index, every, memory.id)]
        if times and all(time and time < before for time in times):
            files.remove_quietly(path)


def _is_said_since(index: TombstoneIndex, stone: Tombstone, session: str, said: str) -> bool:
    """Whether words are of a later time and another session than the forgotten ones."""
    said_at, forgotten_at = moment(said), moment(stone.time)
    if stone.purged or not session or said_at is None or forgotten_at is None:
        return False
    return said_at > forgotten_at and not vault_forgotten.is_from_session(index, stone, session)
