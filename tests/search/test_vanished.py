"""A note that a person deleted stays away; one that a disk or a sync took is not forgotten by accident."""

import json
import shutil
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.core import files
from memem.core.errors import Forgotten, InputError, VaultError, VaultMissing, VaultUnwritable
from memem.core.memory import Memory
from memem.notes import forget, history, undo, write
from memem.notes import save as notes_save
from memem.notes.forget import Hold, check_forgotten
from memem.search import refresh as search_refresh
from memem.search import vanished
from memem.search.refresh import refresh
from memem.upkeep import status
from memem.upkeep.checks import recall
from memem.vault import note as notes
from memem.vault.tombstones import Tombstones
from memem.workspace import Workspace, open_workspace
from tests.fakes import SteppingClock

STATEMENT = "Tokens are signed with RS256."
AGAIN = Memory("22222222-aaaa", "", STATEMENT, author="model", source_type="mined", source_session="s1")


def save(ws: Workspace, text: str = STATEMENT) -> Path:
    written = write.keep(ws, Memory(f"{zlib.crc32(text.encode()):08x}-1111-4111-8111-111111111111", "", text))
    return ws.store.absolute(written.path)


@pytest.fixture
def note(ws: Workspace) -> Path:
    """A note among some others."""
    for number in range(10):
        save(ws, f"Walrus number {number} sleeps.")
    return save(ws)


def passed(ws: Workspace, clock: SteppingClock, minutes: float = 11) -> None:
    """Some time goes by, and somebody looks again."""
    clock.forward(minutes=minutes)
    refresh(ws)


def stones(ws: Workspace) -> int:
    return len(ws.tombstones.load().standing)


def deleted(ws: Workspace, *paths: Path) -> None:
    for path in paths:
        path.unlink()
    refresh(ws)


# --- a person deletes ---------------------------------------------------------------------------------------------


def test_a_deleted_note_blocks_machines_at_once(ws: Workspace, note: Path) -> None:
    deleted(ws, note)
    assert check_forgotten(ws, AGAIN) == Hold("its note has been missing since 2026-03-01", again=False, by_hand=True)
    assert check_forgotten(ws, replace(AGAIN, body="Tokens are signed with ES256.")) is None
    assert stones(ws) == 0


def test_but_not_against_the_person(ws: Workspace, note: Path) -> None:
    deleted(ws, note)
    assert check_forgotten(ws, replace(AGAIN, author="human", source_type="user")) is None


def test_a_deleted_statement_repeated_later_becomes_a_proposal(ws: Workspace, note: Path) -> None:
    deleted(ws, note)
    later = "2026-03-01T10:00:00+01:00"
    assert check_forgotten(ws, AGAIN, session="s2", said=later, person=True) == Hold(
        "its note has been missing since 2026-03-01", again=True, by_hand=True
    )


def test_a_note_missing_for_ten_minutes_becomes_a_tombstone(ws: Workspace, note: Path, clock: SteppingClock) -> None:
    deleted(ws, note)
    passed(ws, clock, 9)
    assert stones(ws) == 0
    passed(ws, clock, 2)
    assert stones(ws) == 1
    assert not ws.home.vanished_file.exists()
    assert check_forgotten(ws, replace(AGAIN, author="human", source_type="user")) == Hold(
        "its note was deleted by hand on 2026-03-01", again=False, by_hand=True
    )


@pytest.mark.parametrize("where", ["{name}", "memories/{name}", "memem/memories/{name}"])
def test_a_note_in_the_trash_becomes_a_tombstone_at_once(ws: Workspace, note: Path, where: str) -> None:
    target = ws.store.paths.trash / where.format(name=note.name)
    target.parent.mkdir(parents=True)
    note.rename(target)
    refresh(ws)
    assert stones(ws) == 1


def test_a_note_that_is_back_in_time_was_never_away(ws: Workspace, note: Path, clock: SteppingClock) -> None:
    data = note.read_bytes()
    deleted(ws, note)
    note.write_bytes(data)
    passed(ws, clock)
    assert stones(ws) == 0
    assert check_forgotten(ws, AGAIN) is None
    assert not ws.home.vanished_file.exists()


def test_a_note_that_reappears_later_is_welcome(ws: Workspace, note: Path, clock: SteppingClock) -> None:
    data = note.read_bytes()
    deleted(ws, note)
    passed(ws, clock)
    (note.parent / "restored.md").write_bytes(data)
    refresh(ws)
    assert stones(ws) == 0
    assert check_forgotten(ws, AGAIN) is None


def test_a_statement_rewritten_by_hand_is_back_but_not_by_a_machine(
    ws: Workspace, note: Path, clock: SteppingClock
) -> None:
    deleted(ws, note)
    passed(ws, clock)
    (note.parent / "synced.md").write_text(f"---\nid: 33333333-aaaa\nauthor: model\n---\n{STATEMENT}\n")
    refresh(ws)
    assert stones(ws) == 1
    (note.parent / "mine.md").write_text(f"{STATEMENT}\n")
    refresh(ws)
    assert stones(ws) == 0


def test_a_forgotten_note_that_is_moved_back_is_welcome(ws: Workspace, note: Path) -> None:
    forget.forget(ws, ws.store.read(f"memories/{note.name}").memory.id)
    (ws.store.paths.forgotten / note.name).rename(note)
    refresh(ws)
    assert stones(ws) == 0


def test_editing_a_twin_of_a_forgotten_note_lifts_nothing(ws: Workspace, note: Path) -> None:
    twin = write.keep(ws, Memory("44444444-aaaa", "", STATEMENT, project="shop"))
    forget.forget(ws, ws.store.read(f"memories/{note.name}").memory.id)
    path = ws.store.absolute(twin.path)
    path.write_text(path.read_text().replace("importance: 3", "importance: 5"))
    refresh(ws)
    assert stones(ws) == 1


def test_a_rebuild_lifts_nothing(ws: Workspace, note: Path) -> None:
    write.keep(ws, Memory("44444444-aaaa", "", STATEMENT, project="shop"))
    forget.forget(ws, ws.store.read(f"memories/{note.name}").memory.id)
    ws.close()
    shutil.rmtree(ws.home.cache)
    refresh(ws)
    assert stones(ws) == 1


def test_a_vault_that_cannot_be_written_is_tried_again(
    ws: Workspace, note: Path, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = note.read_bytes()
    deleted(ws, note)

    def full(*_: object) -> None:
        raise VaultUnwritable("no room")

    with monkeypatch.context() as patched:
        patched.setattr(Tombstones, "add", full)
        passed(ws, clock)
    assert check_forgotten(ws, AGAIN)
    passed(ws, clock)
    assert stones(ws) == 1
    with monkeypatch.context() as patched:
        patched.setattr(Tombstones, "lift", full)
        note.write_bytes(data)
        refresh(ws)
    assert stones(ws) == 1


# --- not deletions ------------------------------------------------------------------------------------------------


def test_a_renamed_or_moved_note_is_not_gone(ws: Workspace, note: Path) -> None:
    (note.parent / "deep").mkdir()
    note.rename(note.parent / "deep" / "other.md")
    refresh(ws)
    assert not ws.home.vanished_file.exists()


def test_a_note_without_an_id_can_be_renamed(ws: Workspace, note: Path, clock: SteppingClock) -> None:
    mine = note.parent / "mine.md"
    mine.write_text("Written by hand, without an id.\n")
    refresh(ws)
    mine.rename(note.parent / "still-mine.md")
    refresh(ws)
    assert not ws.home.vanished_file.exists()
    data = (note.parent / "still-mine.md").read_bytes()
    deleted(ws, note.parent / "still-mine.md")  # a sync deletes first
    (note.parent / "once-more.md").write_bytes(data)
    passed(ws, clock)
    assert (stones(ws), ws.home.vanished_file.exists()) == (0, False)


def test_one_of_two_that_say_the_same_is_not_gone(ws: Workspace, note: Path) -> None:
    (note.parent / "twin.md").write_text(f"---\nid: 44444444-aaaa\n---\n{STATEMENT}\n")
    refresh(ws)
    deleted(ws, note)
    assert not ws.home.vanished_file.exists()


def test_one_of_two_notes_with_the_same_id_is_not_gone(ws: Workspace, note: Path) -> None:
    shutil.copy(note, note.with_name("copy.md"))
    refresh(ws)
    deleted(ws, note)
    assert not ws.home.vanished_file.exists()


def test_a_note_that_cannot_be_read_any_more_is_not_gone(ws: Workspace, note: Path) -> None:
    ws.settings = replace(ws.settings, frontmatter_strict="skip")
    refresh(ws)
    note.write_text("---\nid: [\n---\nhalf-typed")
    refresh(ws)
    assert ws.index.by_path(f"memories/{note.name}") is None
    assert not ws.home.vanished_file.exists()


def test_an_interrupted_save_is_not_a_deletion(ws: Workspace, note: Path) -> None:
    memory = Memory("55555555-aaaa", "Claimed", "It was claimed and never written.")
    search_refresh.reserve_row(ws, ws.store.path_for(memory), memory)
    refresh(ws)
    assert not ws.home.vanished_file.exists()
    assert write.keep(ws, memory).outcome == "created"


def test_a_removal_by_memem_is_not_a_deletion_by_hand(ws: Workspace, note: Path) -> None:
    identity = ws.store.read(f"memories/{note.name}").memory.id
    ws.events.record("remove", id=identity, path=f"memories/{note.name}", why="", before="x", after="", vault="")
    deleted(ws, note)
    assert not ws.home.vanished_file.exists()


def test_a_restored_note_can_be_deleted_by_hand(ws: Workspace, note: Path, clock: SteppingClock) -> None:
    identity = ws.store.read(f"memories/{note.name}").memory.id
    ws.events.record("remove", id=identity, path=f"memories/{note.name}", why="", before="x", after="", vault="")
    clock.forward(hours=1)
    deleted(ws, note)
    assert check_forgotten(ws, AGAIN)


def test_an_edit_is_not_a_deletion(ws: Workspace, note: Path) -> None:
    write.edit(ws, ws.store.read(f"memories/{note.name}").memory.id, body="Tokens are signed with ES256.")
    refresh(ws)
    assert not ws.home.vanished_file.exists()


def test_an_unmounted_vault_forgets_nothing(ws: Workspace, note: Path, clock: SteppingClock, tmp_path: Path) -> None:
    ws.settings.vault.rename(tmp_path / "unmounted")
    ws.settings.vault.mkdir()  # the mount point
    with pytest.raises(VaultMissing):
        refresh(ws)
    clock.forward(hours=1)
    with pytest.raises(VaultMissing):
        refresh(ws)
    ws.settings.vault.rmdir()
    (tmp_path / "unmounted").rename(ws.settings.vault)
    passed(ws, clock)
    assert (stones(ws), ws.home.vanished_file.exists()) == (0, False)
    assert check_forgotten(ws, AGAIN) is None


def test_a_moved_vault_forgets_nothing(ws: Workspace, note: Path, clock: SteppingClock, tmp_path: Path) -> None:
    ws.settings.vault.rename(tmp_path / "moved")
    moved = open_workspace(actor="test", home=ws.home.root, vault=tmp_path / "moved", clock=clock, ticks=clock.ticks)
    try:
        refresh(moved)
        passed(moved, clock)
        assert (stones(moved), ws.home.vanished_file.exists()) == (0, False)
        assert moved.index.count_where("1") == 11
    finally:
        moved.close()


def test_a_half_synced_vault_forgets_nothing(ws: Workspace, note: Path, clock: SteppingClock) -> None:
    everything = {path: path.read_bytes() for path in note.parent.glob("*.md")}
    deleted(ws, *list(everything)[:6])
    for _ in range(3):
        passed(ws, clock)
    assert stones(ws) == 0
    assert check_forgotten(ws, replace(AGAIN, body=_statement(next(iter(everything.values())))))
    for path, data in everything.items():
        path.write_bytes(data)
    passed(ws, clock)
    assert (stones(ws), ws.home.vanished_file.exists()) == (0, False)


def _statement(data: bytes) -> str:
    return notes.parse("memories/x.md", data, "x").memory.body


def test_a_note_that_vanished_with_many_is_not_forgotten_when_most_are_back(
    ws: Workspace, note: Path, clock: SteppingClock
) -> None:
    everything = {path: path.read_bytes() for path in note.parent.glob("*.md")}
    deleted(ws, *everything)
    for path in list(everything)[2:]:
        path.write_bytes(everything[path])
    passed(ws, clock)
    passed(ws, clock)
    assert stones(ws) == 0
    assert len(vanished.list_undecided(ws)) == 2


def test_notes_that_go_one_by_one_count_together(ws: Workspace, note: Path, clock: SteppingClock) -> None:
    for path in list(note.parent.glob("*.md"))[:5]:
        deleted(ws, path)
        clock.forward(minutes=1)
    passed(ws, clock)
    assert stones(ws) == 0
    assert len(vanished.list_undecided(ws)) == 5


def test_four_of_a_few_are_a_persons_deletions(ws: Workspace, note: Path, clock: SteppingClock) -> None:
    deleted(ws, *list(note.parent.glob("*.md"))[:4])
    passed(ws, clock)
    assert stones(ws) == 4


def test_in_a_large_vault_a_twentieth_is_many(ws: Workspace, clock: SteppingClock) -> None:
    paths = [save(ws, f"Walrus number {number} sleeps.") for number in range(200)]
    deleted(ws, *paths[:9])
    passed(ws, clock)
    assert stones(ws) == 9
    deleted(ws, *paths[9:20])
    passed(ws, clock)
    assert stones(ws) == 9


def test_a_folder_of_notes_that_is_gone_forgets_nothing(ws: Workspace, clock: SteppingClock) -> None:
    save(ws)
    shutil.rmtree(ws.store.paths.memories)
    refresh(ws)
    passed(ws, clock)
    assert stones(ws) == 0
    assert check_forgotten(ws, AGAIN)


def test_a_deleted_cache_forgets_nothing(ws: Workspace, note: Path, clock: SteppingClock) -> None:
    ws.close()
    shutil.rmtree(ws.home.cache)
    note.unlink()
    refresh(ws)
    passed(ws, clock)
    assert (stones(ws), ws.home.vanished_file.exists()) == (0, False)


def test_missing_notes_stay_recorded_when_the_cache_is_deleted(ws: Workspace, note: Path, clock: SteppingClock) -> None:
    deleted(ws, note)
    ws.close()
    shutil.rmtree(ws.home.cache)
    refresh(ws)
    assert check_forgotten(ws, AGAIN)
    passed(ws, clock)
    assert stones(ws) == 1


def test_another_vault_of_the_home_is_not_concerned(
    ws: Workspace, note: Path, clock: SteppingClock, tmp_path: Path
) -> None:
    deleted(ws, note)
    other = open_workspace(actor="test", home=ws.home.root, vault=tmp_path / "other", clock=clock, ticks=clock.ticks)
    try:
        notes_save.save(other, "Something else altogether.")
        passed(other, clock)
        assert check_forgotten(other, AGAIN) is None
        assert check_forgotten(ws, AGAIN)
        assert not other.store.paths.tombstones.exists()
    finally:
        other.close()


@pytest.mark.parametrize("broken", ["", "[]", '{"ID": {"notes": [{}]}}', '{"ID": {"salts": {}, "notes": [{"id": 1}]}}'])
def test_an_unreadable_record_is_replaced(ws: Workspace, note: Path, broken: str) -> None:
    ws.home.vanished_file.write_text(broken.replace("ID", ws.store.vault_id()))
    deleted(ws, note)
    assert check_forgotten(ws, AGAIN)


def test_where_the_system_has_no_such_lock_it_works_all_the_same(
    ws: Workspace, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    deleted(ws, note)
    assert check_forgotten(ws, AGAIN)


def test_unreadable_tombstones_do_not_stop_readers(ws: Workspace, note: Path) -> None:
    ws.store.paths.tombstones.mkdir()
    (note.parent / "new.md").write_text("Something new.\n")
    deleted(ws, note)
    assert ws.index.count_where("1") == 11
    with pytest.raises(VaultError, match="Cannot read"):
        check_forgotten(ws, AGAIN)


# --- undecided ----------------------------------------------------------------------------------------------------


@pytest.fixture
def many(ws: Workspace, note: Path) -> list[Path]:
    """Six notes that went away at once."""
    paths = sorted(note.parent.glob("*.md"))[:6]
    deleted(ws, *paths)
    return paths


def test_doctor_asks_and_status_counts(ws: Workspace, many: list[Path]) -> None:
    (found,) = recall.check_vault(ws)
    assert (found.what, found.state) == ("vanished", "degraded")
    assert found.detail.startswith("6 notes missing (memem/memories/")
    assert "`memem forget --vanished`" in found.fix
    assert status.status(ws).vanished == 6


def test_doctor_has_nothing_to_ask_where_few_went(ws: Workspace, note: Path) -> None:
    deleted(ws, note)
    assert recall.check_vault(ws) == []


def test_a_person_may_say_that_they_were_deleted_on_purpose(ws: Workspace, many: list[Path]) -> None:
    many[0].write_text(f"---\nid: {vanished.list_undecided(ws)[0].id}\n---\nBack again.\n")
    refresh(ws)
    assert len(vanished.confirm_deleted(ws)) == 5
    assert stones(ws) == 5
    assert recall.check_vault(ws) == []
    assert vanished.confirm_deleted(ws) == []


def test_a_note_saved_anyway_is_no_longer_missing(ws: Workspace, note: Path) -> None:
    deleted(ws, note)
    forget.lift(ws, replace(AGAIN, author="human"))
    assert check_forgotten(ws, AGAIN) is None


def test_nothing_can_be_read_in_the_file(ws: Workspace, note: Path) -> None:
    deleted(ws, note)
    stored = json.loads(ws.home.vanished_file.read_bytes())
    (gone,) = stored[ws.store.vault_id()]["notes"]
    assert "RS256" not in json.dumps(gone["tombstone"])


# --- what it costs ------------------------------------------------------------------------------------------------


def test_a_scan_that_loses_nothing_imports_and_reads_nothing_of_this(
    ws: Workspace, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError

    for name in ("record_missing", "settle_missing", "lift_for_arrivals"):
        monkeypatch.setattr(vanished, name, never)
    (note.parent / "new.md").write_text("Something new.\n")
    refresh(ws)
    refresh(ws)


# --- two homes over one vault -------------------------------------------------------------------------------------


@pytest.fixture
def desktop(ws: Workspace, note: Path, clock: SteppingClock, tmp_path: Path) -> Iterator[Workspace]:
    """Another home, that knows the vault as it is."""
    opened = open_workspace(
        actor="test", home=tmp_path / "desktop", vault=ws.settings.vault, clock=clock, ticks=clock.ticks
    )
    refresh(opened)
    yield opened
    opened.close()


def test_a_note_removed_by_undo_is_not_deleted_by_hand(
    ws: Workspace, note: Path, desktop: Workspace, clock: SteppingClock
) -> None:
    undone = undo.undo(ws)
    refresh(desktop)
    assert check_forgotten(desktop, AGAIN) is None
    passed(desktop, clock)
    assert stones(ws) == 0
    undo.undo(ws, undone.undo)
    assert note.exists()
    assert note.name.encode() not in ws.store.paths.tombstones.read_bytes()


def test_a_note_removed_by_undo_elsewhere_is_not_deleted_by_hand(
    ws: Workspace, note: Path, desktop: Workspace, clock: SteppingClock
) -> None:
    undo.undo(ws)
    said = ws.store.paths.tombstones.read_bytes()
    ws.store.paths.tombstones.unlink()
    refresh(desktop)
    assert check_forgotten(desktop, AGAIN)
    ws.store.paths.tombstones.write_bytes(said)
    passed(desktop, clock)
    assert stones(ws) == 0
    assert check_forgotten(desktop, AGAIN) is None


def test_once_it_is_back_it_can_be_deleted_by_hand(
    ws: Workspace, note: Path, desktop: Workspace, clock: SteppingClock
) -> None:
    undo.undo(ws, undo.undo(ws).undo)
    refresh(desktop)
    assert not ws.tombstones.load().removed
    clock.forward(minutes=11)
    deleted(desktop, note)
    passed(desktop, clock)
    assert stones(ws) == 1


def test_a_refusal_of_what_was_deleted_by_hand_says_so(ws: Workspace, note: Path, clock: SteppingClock) -> None:
    deleted(ws, note)
    passed(ws, clock)
    with pytest.raises(Forgotten) as refused:
        notes_save.save(ws, STATEMENT)
    assert str(refused.value) == (
        "Not saved: its note was deleted by hand on 2026-03-01. `memem save --anyway` saves it regardless."
    )


# --- a person says so ---------------------------------------------------------------------------------------------


def test_the_log_shows_what_a_person_called_deleted_and_undo_lifts_it(ws: Workspace, note: Path) -> None:
    deleted(ws, note)
    (gone,) = forget.forget_vanished(ws, why="I did")
    batch = history.log(ws)[0]
    assert (batch.what, batch.why, batch.forgotten, batch.undoable) == ("vanish", "I did", 1, True)
    assert stones(ws) == 1
    undone = undo.undo(ws)
    assert (undone.batch, undone.restored) == (batch.id, ())
    assert undone.left == (
        undo.Left(
            gone.path,
            "it was deleted by hand and memem has no copy to restore; memem no longer refuses to save it again",
        ),
    )
    assert stones(ws) == 0
    assert notes_save.save(ws, STATEMENT).outcome == "created"
    with pytest.raises(InputError, match=r"was already undone\.$"):
        undo.undo(ws, batch.id)


def test_where_the_undo_store_has_its_bytes_they_come_back(ws: Workspace, note: Path) -> None:
    data = note.read_bytes()
    ws.events.store_undo(notes.digest(data), data)
    deleted(ws, note)
    forget.forget_vanished(ws)
    assert history.log(ws)[0].notes == (STATEMENT.rstrip("."),)
    undo.undo(ws)
    assert note.read_bytes() == data
    assert stones(ws) == 0


def test_many_that_return_are_dropped_at_once(ws: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for number in range(30):
        write.keep(ws, Memory(f"{number:08x}-away", f"Away {number}", f"Note number {number} went away.", "shop"))
    away = tmp_path / "away"
    ws.store.paths.memories.rename(away)
    ws.store.paths.memories.mkdir()
    refresh(ws)
    assert len(vanished.list_undecided(ws)) == 30
    ws.store.paths.memories.rmdir()
    away.rename(ws.store.paths.memories)
    written: list[object] = []
    real = files.write_atomic

    def counting(path: Path, *given: Any, **more: Any) -> None:
        written.append(path)
        real(path, *given, **more)

    monkeypatch.setattr(files, "write_atomic", counting)
    refresh(ws)
    assert written.count(ws.home.vanished_file) <= 2
    assert vanished.list_undecided(ws) == []
