"""Notes that vanished without memem. They count as forgotten if few vanished and they stay away or are in the trash."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memem.core.dates import iso, moment
from memem.core.errors import MememError, VaultError
from memem.core.home import using_home
from memem.core.tombstone import Removal, Tombstone
from memem.search.notes import NoteRow
from memem.state import note_records, usefulness
from memem.state.note_records import VanishedNote, VanishedNotes
from memem.vault import forgotten as vault_forgotten
from memem.vault.forgotten import Hasher
from memem.vault.opening import require_vault
from memem.vault.tombstones import SALT_BYTES, TombstoneIndex, index_tombstones, name_of

if TYPE_CHECKING:
    from memem.workspace import Workspace


AWAY = timedelta(minutes=10)
FEW, SHARE = 5, 0.05  # this many, or this share of all notes, may have vanished for another reason than a person's wish
CLAIMED = (0, 0, -1)  # the stamp of a row whose note is still being written


@dataclass(frozen=True, slots=True)
class MissingNote:
    id: str
    path: str
    time: str


def missing_tombstones(ws: Workspace) -> TombstoneIndex:
    if not ws.home.vanished_file.exists():
        return TombstoneIndex()
    missing = note_records.read_vanished(ws.home.vanished_file, ws.store.vault_id())
    return index_tombstones(missing.salts, tuple(note.tombstone for note in missing.notes))


@contextmanager
def _changing(ws: Workspace, vault_id: str) -> Iterator[VanishedNotes]:
    changing = note_records.edit_vanished(ws.home.vanished_file, vault_id, fsync=ws.settings.fsync)
    with using_home(ws.home), changing as missing:
        yield missing


def record_missing(ws: Workspace, vault_id: str, lost: Collection[str], arriving: Sequence[NoteRow]) -> None:
    """Record the lost notes that are nowhere any more and that memem did not remove, before their rows are dropped."""
    gone = _find_gone(ws, lost, arriving)
    if not gone:
        return
    salts = load_tombstones(ws).salts
    with _changing(ws, vault_id) as missing:
        salt = next(iter((*salts.values(), *missing.salts.values(), os.urandom(SALT_BYTES))))
        hasher, now = Hasher(name_of(salt), salt), iso(ws.clock())
        missing.salts[hasher.name] = salt
        recorded = {note.id for note in missing.notes}
        fresh = {row.memory.id: (row, row.memory) for row in gone if row.memory and row.memory.id not in recorded}
        for identity, (row, memory) in fresh.items():
            stone = replace(vault_forgotten.make_tombstone(memory, hasher, now), by_hand=True)
            missing.notes.append(VanishedNote(identity, row.path, now, 0, stone, row.digest))
        together = len(missing.notes)
        missing.notes[:] = [replace(note, together=max(note.together, together)) for note in missing.notes]


def _find_gone(ws: Workspace, lost: Collection[str], arriving: Sequence[NoteRow]) -> list[NoteRow]:
    here = {row.memory.id for row in arriving if row.memory} | {row.fingerprint for row in arriving}
    removed, forgotten = _removed_by_memem(ws), load_tombstones(ws)
    gone = []
    for path in lost:
        row = ws.index.by_path(path)
        if row is None or row.memory is None or row.stamp == CLAIMED or ws.store.stamp(path) is not None:
            continue
        identity, project = row.memory.id, row.memory.project
        is_removed = identity in removed or vault_forgotten.find_removals(forgotten, identity)
        if is_removed or not here.isdisjoint((identity, row.fingerprint)):
            continue
        same = ws.index.by_fingerprint(row.fingerprint)
        twins = [other for other in same if other.memory is not None and other.memory.project == project]
        others = [*ws.index.rows("id = ?", (identity,)), *twins]
        if all(other.path in lost for other in others) and not vault_forgotten.find_by_id(forgotten, identity):
            gone.append(row)
    return gone


def load_tombstones(ws: Workspace) -> TombstoneIndex:
    """Load the tombstones; none if they cannot be read, since a reader is not stopped by that."""
    with suppress(VaultError):
        return ws.tombstones.load()
    return TombstoneIndex()


def _removed_by_memem(ws: Workspace) -> set[str]:
    since, last = ws.clock() - AWAY, dict[str, str]()
    for event in ws.events.read_backwards():
        at = moment(event.time)
        if at and at < since:
            break
        last.setdefault(event.id, event.after)
    return {identity for identity, after in last.items() if not after}


def lift_for_arrivals(ws: Workspace, arriving: Sequence[NoteRow], *, is_new: bool) -> None:
    """Lift the tombstones of notes that are back, or that a person has written again, before their rows are added."""
    forgotten, missing = load_tombstones(ws), missing_tombstones(ws)
    if not forgotten and not forgotten.removed and not missing:
        return
    lifted: list[Tombstone | Removal] = []
    back: set[str] = set()
    for row in arriving:
        memory = row.memory
        if memory is None or _is_indexed(ws, memory.id):
            continue
        lifted += vault_forgotten.find_removals(forgotten, memory.id)
        by_hand = memory.author == "human" and not is_new  # all notes arrive in a new index: there, only ids count
        lifted += vault_forgotten.find_same(forgotten, memory, by_statement=by_hand)
        back |= {stone.key for stone in vault_forgotten.find_same(missing, memory, by_statement=by_hand)}
    if back:
        drop_missing(ws, "", back)
    _lift(ws, lifted)


def lift_removals(ws: Workspace, identity: str) -> None:
    _lift(ws, vault_forgotten.find_removals(load_tombstones(ws), identity))


def _lift(ws: Workspace, stones: Sequence[Tombstone | Removal]) -> None:
    if stones:
        with suppress(MememError):  # a vault that cannot be written keeps them; the note is there all the same
            ws.tombstones.lift(stones, iso(ws.clock()))


def settle_missing(ws: Workspace, vault_id: str) -> None:
    """After a scan: drop the records of notes that are back, and write tombstones of those plainly deleted."""
    with _changing(ws, vault_id) as missing:
        forgotten = load_tombstones(ws)
        missing.notes[:] = [
            note
            for note in missing.notes
            if not _is_indexed(ws, note.id) and not vault_forgotten.find_removals(forgotten, note.id)
        ]
        deleted = [note for note in missing.notes if note.together < _too_many(ws, missing) and _is_deleted(ws, note)]
        with suppress(MememError):  # tried again after the next scan
            _write_tombstones(ws, missing, deleted)


def list_undecided(ws: Workspace) -> list[MissingNote]:
    if not ws.home.vanished_file.exists():
        return []
    missing = note_records.read_vanished(ws.home.vanished_file, ws.store.vault_id())
    many = _too_many(ws, missing)
    return [MissingNote(note.id, note.path, note.time) for note in missing.notes if note.together >= many]


def confirm_deleted(ws: Workspace, on_confirmed: Callable[[VanishedNote], None] = lambda _: None) -> list[MissingNote]:
    with _changing(ws, require_vault(ws)) as missing:
        deleted = [note for note in missing.notes if not _is_indexed(ws, note.id)]
        missing.notes[:] = deleted
        _write_tombstones(ws, missing, deleted)
        for note in deleted:
            on_confirmed(note)
        return [MissingNote(note.id, note.path, note.time) for note in deleted]


def drop_missing(ws: Workspace, identity: str, keys: Collection[str] = ()) -> None:
    """Drop the records of a note that was decided on by other means, and those whose tombstones have these keys."""
    if ws.home.vanished_file.exists():
        with _changing(ws, ws.store.vault_id()) as missing:
            missing.notes[:] = [
                note for note in missing.notes if note.id != identity and note.tombstone.key not in keys
            ]


def _write_tombstones(ws: Workspace, missing: VanishedNotes, deleted: list[VanishedNote]) -> None:
    for name in dict.fromkeys(note.tombstone.salt for note in deleted):
        ws.tombstones.add([note.tombstone for note in deleted if note.tombstone.salt == name], missing.salts[name])
    for note in deleted:
        usefulness.forget(ws, note.id)
    missing.notes[:] = [note for note in missing.notes if note not in deleted]


def _is_indexed(ws: Workspace, identity: str) -> bool:
    return ws.index.count_where("id = ?", (identity,)) > 0


def _is_deleted(ws: Workspace, note: VanishedNote) -> bool:
    paths = ws.store.paths
    if not paths.memories.is_dir():
        return False
    since = moment(note.time) or ws.clock()
    path = PurePosixPath(note.path)
    trashed = (paths.trash / place for place in (path.name, path, PurePosixPath(paths.ours.name, path)))
    return ws.clock() - since >= AWAY or any(place.is_file() for place in trashed)


def _too_many(ws: Workspace, missing: VanishedNotes) -> float:
    return max(FEW, SHARE * (ws.index.count_where("1") + len(missing.notes)))
