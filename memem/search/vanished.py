"""Notes that went away without memem. A person may have deleted them; or a disk, a sync, a move of the vault did.

A machine may not bring them back from the moment they are missed. They count as forgotten only once that is plain:
few went, the vault is there, and they stayed away or stand in Obsidian's trash. Of the others doctor asks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
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
from memem.vault.fingerprints import Hasher
from memem.vault.opening import require_vault
from memem.vault.tombstones import SALT_BYTES, TombstoneIndex, index_tombstones, name_of

if TYPE_CHECKING:
    from memem.workspace import Workspace


AWAY = timedelta(minutes=10)
FEW, SHARE = 5, 0.05
"""From so many on, or so large a part of all notes, it is no longer plain that a person wanted it."""
CLAIMED = (0, 0, -1)
"""The stamp of a row whose note is still being written."""


@dataclass(frozen=True, slots=True)
class MissingNote:
    """A note that is away, where it was, and when it was missed."""

    id: str
    path: str
    time: str


def missing_tombstones(ws: Workspace) -> TombstoneIndex:
    """What is away, as if it were forgotten already."""
    if not ws.home.vanished_file.exists():
        return TombstoneIndex()
    away = note_records.read_vanished(ws.home.vanished_file, ws.store.vault_id())
    return index_tombstones(away.salts, tuple(each.tombstone for each in away.notes))


def record_missing(ws: Workspace, vault_id: str, lost: Collection[str], arriving: Sequence[NoteRow]) -> None:
    """Before rows go: write down those whose notes are nowhere any more, and were not taken away by memem itself."""
    gone = _gone(ws, lost, arriving)
    if not gone:
        return
    salts = _tombstones(ws).salts
    with (
        using_home(ws.home),
        note_records.edit_vanished(ws.home.vanished_file, vault_id, fsync=ws.settings.fsync) as away,
    ):
        salt = next(iter((*salts.values(), *away.salts.values(), os.urandom(SALT_BYTES))))
        hasher, now = Hasher(name_of(salt), salt), iso(ws.clock())
        away.salts[hasher.name] = salt
        there = {each.id for each in away.notes}
        fresh = {row.memory.id: row for row in gone if row.memory and row.memory.id not in there}
        for identity, row in fresh.items():
            if row.memory:
                stone = replace(vault_forgotten.make_tombstone(row.memory, hasher, now), by_hand=True)
                away.notes.append(VanishedNote(identity, row.path, now, 0, stone, row.digest))
        together = len(away.notes)
        away.notes[:] = [replace(each, together=max(each.together, together)) for each in away.notes]


def _gone(ws: Workspace, lost: Collection[str], arriving: Sequence[NoteRow]) -> list[NoteRow]:
    """The rows whose notes are nowhere: not under another name, and not by another id, as one has that states none."""
    here = {row.memory.id for row in arriving if row.memory} | {row.fingerprint for row in arriving}
    own, known = _removed_by_us(ws), _tombstones(ws)
    found = []
    for path in lost:
        row = ws.index.by_path(path)
        if row is None or row.memory is None or row.stamp == CLAIMED or ws.store.stamp(path) is not None:
            continue
        identity = row.memory.id
        if (
            identity in own
            or vault_forgotten.find_removals(known, identity)
            or not here.isdisjoint((identity, row.fingerprint))
        ):
            continue
        twins = [each for each in ws.index.by_fingerprint(row.fingerprint) if _is_of(each, row.memory.project)]
        others = [*ws.index.rows("id = ?", (identity,)), *twins]
        if all(other.path in lost for other in others) and not vault_forgotten.find_by_id(known, identity):
            found.append(row)
    return found


def _is_of(row: NoteRow, project: str) -> bool:
    return row.memory is not None and row.memory.project == project


def _tombstones(ws: Workspace) -> TombstoneIndex:
    """Those that can be read: whoever only looks is not stopped by the others."""
    with suppress(VaultError):
        return ws.tombstones.load()
    return TombstoneIndex()


def _removed_by_us(ws: Workspace) -> set[str]:
    """What memem has just taken away: its row may still be there."""
    since, last = ws.clock() - AWAY, dict[str, str]()
    for event in ws.events.read_backwards():
        at = moment(event.time)
        if at and at < since:
            break
        last.setdefault(event.id, event.after)
    return {identity for identity, after in last.items() if not after}


def lift_for_arrivals(ws: Workspace, arriving: Sequence[NoteRow], *, anew: bool) -> None:
    """Before rows come: lift the tombstones of notes that are back, or that a person has written again.

    In an index that is filled `anew` all notes arrive, and only their ids tell which were away.
    """
    forgotten, away = _tombstones(ws), missing_tombstones(ws)
    if not forgotten and not forgotten.removed and not away:
        return
    lifted: list[Tombstone | Removal] = []
    back: set[str] = set()
    for row in arriving:
        memory = row.memory
        if memory is None or ws.index.count_where("id = ?", (memory.id,)):
            continue
        lifted += vault_forgotten.find_removals(forgotten, memory.id)
        by_hand = memory.author == "human" and not anew
        lifted += vault_forgotten.find_same(forgotten, memory, by_statement=by_hand)
        back |= {stone.key for stone in vault_forgotten.find_same(away, memory, by_statement=by_hand)}
    if back:
        _drop(ws, lambda gone: gone.tombstone.key in back)
    if lifted:
        with suppress(MememError):  # a vault that cannot be written keeps them; the note is there all the same
            ws.tombstones.lift(lifted, iso(ws.clock()))


def lift_removals(ws: Workspace, identity: str) -> None:
    """What an undo took out is there again, by whatever way."""
    back = vault_forgotten.find_removals(_tombstones(ws), identity)
    if back:
        with suppress(MememError):  # as above
            ws.tombstones.lift(back, iso(ws.clock()))


def settle_missing(ws: Workspace, vault_id: str) -> None:
    """After a look at the vault: drop what is back, and bury what is plainly deleted."""
    with (
        using_home(ws.home),
        note_records.edit_vanished(ws.home.vanished_file, vault_id, fsync=ws.settings.fsync) as away,
    ):
        known = _tombstones(ws)
        away.notes[:] = [
            each for each in away.notes if not _is_back(ws, each) and not vault_forgotten.find_removals(known, each.id)
        ]
        many = _many(ws, away)
        due = [each for each in away.notes if _is_plain(ws, each, many)]
        with suppress(MememError):  # tried again at the next look
            _bury(ws, away, due)


def list_undecided(ws: Workspace) -> list[MissingNote]:
    """What is away, and will not be taken for deleted unless somebody says so."""
    if not ws.home.vanished_file.exists():
        return []
    away = note_records.read_vanished(ws.home.vanished_file, ws.store.vault_id())
    many = _many(ws, away)
    return [_missing(each) for each in away.notes if each.together >= many]


def confirm_deleted(ws: Workspace, noting: Callable[[VanishedNote], None] = lambda _: None) -> list[MissingNote]:
    """A person says that what is away was deleted on purpose; `noting` is told each of it. Returns what that was."""
    vault_id = require_vault(ws)
    with (
        using_home(ws.home),
        note_records.edit_vanished(ws.home.vanished_file, vault_id, fsync=ws.settings.fsync) as away,
    ):
        buried = [each for each in away.notes if not _is_back(ws, each)]
        away.notes[:] = buried
        _bury(ws, away, buried)
        for each in buried:
            noting(each)
        return [_missing(each) for each in buried]


def drop_missing(ws: Workspace, identity: str, keys: Collection[str] = ()) -> None:
    """Somebody has decided on a note by other means."""
    _drop(ws, lambda gone: gone.id == identity or gone.tombstone.key in keys)


def _drop(ws: Workspace, is_decided: Callable[[VanishedNote], bool]) -> None:
    """At once, however many: the file is written anew each time."""
    if not ws.home.vanished_file.exists():
        return
    vault_id = ws.store.vault_id()
    with (
        using_home(ws.home),
        note_records.edit_vanished(ws.home.vanished_file, vault_id, fsync=ws.settings.fsync) as away,
    ):
        away.notes[:] = [each for each in away.notes if not is_decided(each)]


def _bury(ws: Workspace, away: VanishedNotes, due: list[VanishedNote]) -> None:
    for name in dict.fromkeys(each.tombstone.salt for each in due):
        ws.tombstones.add([each.tombstone for each in due if each.tombstone.salt == name], away.salts[name])
    for each in due:
        usefulness.forget(ws, each.id)
    away.notes[:] = [each for each in away.notes if each not in due]


def _missing(gone: VanishedNote) -> MissingNote:
    return MissingNote(gone.id, gone.path, gone.time)


def _is_back(ws: Workspace, gone: VanishedNote) -> bool:
    return ws.index.count_where("id = ?", (gone.id,)) > 0


def _is_plain(ws: Workspace, gone: VanishedNote, many: float) -> bool:
    """Whether somebody must have wanted it."""
    if gone.together >= many or not ws.store.paths.memories.is_dir():
        return False
    since = moment(gone.time) or ws.clock()
    return ws.clock() - since >= AWAY or _is_in_trash(ws, gone)


def _many(ws: Workspace, away: VanishedNotes) -> float:
    """How many would be too many to have been deleted by a person."""
    return max(FEW, SHARE * (ws.index.count_where("1") + len(away.notes)))


def _is_in_trash(ws: Workspace, gone: VanishedNote) -> bool:
    trash, path = ws.store.paths.trash, PurePosixPath(gone.path)
    return any((trash / each).is_file() for each in (path.name, path, PurePosixPath(ws.store.paths.ours.name, path)))
