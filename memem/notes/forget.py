"""Take a memory out of recall, and keep it from coming back. Its note moves to `.forgotten/`; nothing is destroyed.

The tombstone comes first, so that nothing is ever forgotten without one: whoever is interrupted after it still has
the note, and forgets it by trying again.
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


UNDO_DAYS = 30
"""For so long a forgotten note stays in `.forgotten/`; the undo store keeps its bytes as long."""

ANYWAY = "`memem save --anyway` keeps it all the same"


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a memory may not be kept; `again`: a person has said it anew since, so that somebody should be asked.

    `by_hand`: nobody told memem to forget it; its note was deleted.
    """

    reason: str
    again: bool
    by_hand: bool = False

    @property
    def advice(self) -> str:
        """The advice for the person."""
        if self.by_hand:
            return ANYWAY + "."
        return f"{ANYWAY}; `memem undo` takes a forgetting back, `memem log` lists them."


def forget(ws: Workspace, identity: str, *, why: str = "") -> Written:
    """Take a memory out of recall for good, unless a person wants it back within 30 days, or says it again."""
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
    """A person says that what is gone from the vault was deleted on purpose; returns what that was."""
    vault_id = require_vault(ws)

    def noting(gone: VanishedNote) -> None:
        before = gone.digest or digest(b"")  # of one that was missed before digests were noted
        ws.events.record(VANISH, id=gone.id, path=gone.path, why=why, before=before, after="", vault=vault_id)

    with ws.events.batch(VANISH), writing(ws):
        return vanished.confirm_deleted(ws, noting)


def check_forgotten(
    ws: Workspace, memory: Memory, *, session: str = "", said: str = "", person: bool = False
) -> Hold | None:
    """Why a memory may not be kept, because it was forgotten; None when it may.

    What a machine wants to keep must not have been deleted by hand either. `person`: its words were said by a person,
    at `said`, in `session`.
    """
    reason, known = "", ws.tombstones.load()
    stones = vault_forgotten.find_matching(known, memory) if known else []
    if not stones and not _is_a_persons(memory):
        reason, known = "its note was missed first on", vanished.missing_tombstones(ws)
        stones = vault_forgotten.find_matching(known, memory) if known else []
    if not stones:
        return None
    news = [_is_said_since(known, stone, session, said) and memory.source_turn not in stone.turns for stone in stones]
    last = max(stones, key=lambda stone: stone.time)
    reason = reason or ("its note was deleted by hand on" if last.by_hand else "it was forgotten on")
    return Hold(f"{reason} {last.time[:10]}", person and all(news), last.by_hand)


def lift(ws: Workspace, memory: Memory) -> None:
    """Somebody wants it after all: what was forgotten of it is as if it never had been."""
    forgotten = ws.tombstones.load()
    stones = vault_forgotten.find_same(forgotten, memory) or vault_forgotten.find_matching(forgotten, memory)
    if stones:
        ws.tombstones.lift(stones, iso(ws.clock()))
    away = vanished.missing_tombstones(ws)
    if away:
        vanished.drop_missing(ws, memory.id, [stone.key for stone in vault_forgotten.find_same(away, memory)])


def was_forgotten(ws: Workspace, identity: str) -> bool:
    """Whether a note with this id, or this beginning of one, was forgotten, and nobody wanted it back."""
    known = ws.tombstones.load()
    if vault_forgotten.find_by_id(known, identity):
        return True
    if vault_forgotten.filter_by_id(known, known.lifted, identity):
        return False
    # What was forgotten before there were tombstones is known by its file.
    folder, beginning = ws.store.paths.forgotten, identity[:ID8].lower()
    notes = [path for path in folder.iterdir() if beginning in path.name] if folder.is_dir() else []
    return any(identity.encode() in path.read_bytes() for path in notes)


def drop_old(ws: Workspace) -> None:
    """Remove the notes that were forgotten over 30 days ago. Their tombstones stay."""
    folder = ws.store.paths.forgotten
    if not folder.is_dir():
        return
    known, before = ws.tombstones.load(), ws.clock() - timedelta(days=UNDO_DAYS)
    every = (*known.standing, *known.lifted)
    for path in sorted(folder.glob("*.md")):
        try:
            memory = ws.store.read(f"{folder.name}/{path.name}").memory
        except NoteError:
            continue
        times = [moment(stone.time) for stone in vault_forgotten.filter_by_id(known, every, memory.id)]
        if times and all(time and time < before for time in times):
            files.remove_quietly(path)


def _is_said_since(known: TombstoneIndex, stone: Tombstone, session: str, said: str) -> bool:
    """Whether a person's words are news: of another session than the forgotten ones, and of a later time."""
    told, forgotten = moment(said), moment(stone.time)
    if stone.purged or not session or told is None or forgotten is None:
        return False
    return told > forgotten and not vault_forgotten.is_from_session(known, stone, session)


def _is_a_persons(memory: Memory) -> bool:
    return memory.author == "human" and memory.source_type == "user"
