"""One run or command is taken back as a whole, and nothing that anybody wrote since."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from memem.core.errors import Ambiguous, InputError, MememError, NotFound
from memem.mine import schedule
from memem.notes import forget, history, review, save, undo, write
from memem.notes.history import Batch
from memem.notes.undo import Left, Undone
from memem.notes.write import Written
from memem.search import find, refresh
from memem.transfer import import_
from memem.upkeep import purge, status
from memem.vault import restore
from memem.workspace import Workspace, open_workspace
from tests.fakes import FaultyOs, SteppingClock
from tests.transcripts import Transcript, count_saved, once

WALRUS, SEAL = "The walrus is fed with clams.", "The seal is fed with herring."


def notes(ws: Workspace) -> dict[str, bytes]:
    """Every note, by its path in the vault; those set aside too."""
    ours = ws.store.paths.ours
    found = {path.relative_to(ours).as_posix(): path.read_bytes() for path in ours.rglob("*/*.md")}
    return {path: data for path, data in found.items() if not path.startswith(("projects/", "playbooks/"))}


def recalled(ws: Workspace) -> set[str]:
    """The statements that can be found, after a look at the vault: index and vault agree."""
    refresh.refresh(ws)
    entries = find.list_memories(ws, limit=1_000)
    assert {entry.path for entry in entries} == {path for path, _ in ws.store.scan()}
    return {entry.body for entry in entries}


def batch(ws: Workspace, number: int = 0) -> Batch:
    return history.log(ws)[number]


def reasons(undone: Undone) -> list[str]:
    return [left.reason for left in undone.left]


@pytest.fixture
def saved(ws: Workspace) -> Written:
    return save.save(ws, WALRUS)


# --- what is taken back -------------------------------------------------------------------------------------------


def test_a_save_is_taken_back(ws: Workspace, saved: Written) -> None:
    undone = undo.undo(ws)
    assert (undone.what, undone.removed, undone.restored, undone.left) == ("save", (saved.path,), (), ())
    assert recalled(ws) == set()
    assert not ws.store.absolute(saved.path).exists()


def test_an_edit_is_taken_back_to_the_very_bytes(ws: Workspace, saved: Written) -> None:
    before = notes(ws)
    write.edit(ws, saved.memory.id, body=SEAL)
    assert undo.undo(ws).restored == (saved.path,)
    assert notes(ws) == before
    assert recalled(ws) == {WALRUS}


def test_an_edit_in_the_editor_is_taken_back(ws: Workspace, saved: Written) -> None:
    before = notes(ws)
    write.edit_by_hand(ws, saved.memory.id, lambda path: path.write_text("A person's own words."))
    assert undo.undo(ws).restored == (saved.path,)
    assert notes(ws) == before


def test_a_forgotten_note_returns_to_its_place_and_its_copy_goes(ws: Workspace, saved: Written) -> None:
    before = notes(ws)
    forget.forget(ws, saved.memory.id)
    assert recalled(ws) == set()
    assert undo.undo(ws).restored == (saved.path,)
    assert notes(ws) == before
    assert recalled(ws) == {WALRUS}


def test_unforgotten_memory_may_be_saved_again(ws: Workspace, saved: Written) -> None:
    forget.forget(ws, saved.memory.id)
    undo.undo(ws)
    assert forget.check_forgotten(ws, saved.memory) is None


def test_a_forgotten_note_returns_from_where_it_was_set_aside_when_the_undo_store_is_empty(
    ws: Workspace, saved: Written
) -> None:
    before = notes(ws)
    forget.forget(ws, saved.memory.id)
    _empty_undo_store(ws)
    assert undo.undo(ws).restored == (saved.path,)
    assert notes(ws) == before


def test_several_changes_of_a_note_in_one_batch_are_one(ws: Workspace) -> None:
    with ws.events.batch("both"):
        written = save.save(ws, WALRUS)
        write.edit(ws, written.memory.id, body=SEAL)
        write.edit(ws, written.memory.id, importance=5)
    assert batch(ws).created == 1
    assert undo.undo(ws).removed == (written.path,)
    assert recalled(ws) == set()


def test_an_edit_and_a_forgetting_in_one_batch_are_taken_back_together(ws: Workspace, saved: Written) -> None:
    before = notes(ws)
    with ws.events.batch("both"):
        write.edit(ws, saved.memory.id, importance=5)
        forget.forget(ws, saved.memory.id)
    assert undo.undo(ws).restored == (saved.path,)
    assert notes(ws) == before


def test_one_undo_after_another_goes_back_in_time(ws: Workspace, saved: Written) -> None:
    states = [notes(ws)]
    for importance in (4, 5):
        write.edit(ws, saved.memory.id, importance=importance)
        states.append(notes(ws))
    for state in (states[1], states[0], {}):
        undo.undo(ws)
        assert notes(ws) == state
    with pytest.raises(NotFound, match="nothing to undo"):
        undo.undo(ws)


def test_memory_saved_despite_a_tombstone_is_forgotten_again(ws: Workspace, saved: Written) -> None:
    forget.forget(ws, saved.memory.id)
    again = save.save(ws, WALRUS, anyway=True)
    assert undo.undo(ws).removed == (again.path,)
    assert forget.check_forgotten(ws, saved.memory) is not None
    undo.undo(ws, batch(ws).id)
    assert recalled(ws) == {WALRUS}
    assert forget.check_forgotten(ws, saved.memory) is None


def test_a_note_that_was_forgotten_and_is_back_goes_with_its_save_and_leaves_no_tombstone(
    ws: Workspace, saved: Written
) -> None:
    first = batch(ws).id
    forget.forget(ws, saved.memory.id)
    undo.undo(ws)
    save.save(ws, SEAL)
    assert undo.undo(ws).removed
    assert undo.undo(ws, first).removed == (saved.path,)
    assert forget.check_forgotten(ws, saved.memory) is None


def test_a_proposal_is_taken_back_and_a_rejected_one_waits_again(ws: Workspace, saved: Written) -> None:
    proposed = review.propose(ws, replace(saved.memory, id="proposed-note", body=SEAL), "who knows")
    review.reject(ws, proposed.memory.id)
    assert undo.undo(ws).restored == (proposed.path,)
    assert [each.memory.body for each in review.proposals(ws)] == [SEAL]
    assert recalled(ws) == {WALRUS}
    assert undo.undo(ws).removed == (proposed.path,)
    assert review.proposals(ws) == []


def test_an_accepted_proposal_is_asked_about_again(ws: Workspace, saved: Written) -> None:
    seal = save.save(ws, SEAL).memory
    forget.forget(ws, seal.id)
    proposed = review.propose(ws, replace(seal, id="proposed-note"), "it was forgotten")
    before = ws.store.absolute(proposed.path).read_bytes()
    review.accept(ws, proposed.memory.id)
    assert recalled(ws) == {WALRUS, SEAL}
    assert forget.check_forgotten(ws, proposed.memory) is None
    undone = undo.undo(ws)
    assert recalled(ws) == {WALRUS}
    assert ws.store.absolute(proposed.path).read_bytes() == before
    assert forget.check_forgotten(ws, proposed.memory) is not None
    undo.undo(ws, undone.undo)
    assert recalled(ws) == {WALRUS, SEAL}
    assert review.proposals(ws) == []
    assert forget.check_forgotten(ws, proposed.memory) is None


def test_an_undo_of_an_acceptance_that_was_interrupted_is_completed(
    ws: Workspace, saved: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposed = review.propose(ws, replace(saved.memory, id="proposed-note", body=SEAL), "said again")
    review.accept(ws, proposed.memory.id)

    def fails(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("memem.vault.restore.remove_file", fails)
        with pytest.raises(KeyboardInterrupt):
            undo.undo(ws)
    batch = next(each.id for each in history.log(ws) if each.what == "review")
    undo.undo(ws, batch)
    assert recalled(ws) == {WALRUS}
    assert [each.path for each in review.proposals(ws)] == [proposed.path]


def test_later_decision_on_a_proposal_stays(ws: Workspace, saved: Written) -> None:
    proposed = review.propose(ws, replace(saved.memory, id="proposed-note", body=SEAL), "said again")
    review.accept(ws, proposed.memory.id)
    asked = ws.store.absolute(proposed.path)
    asked.touch()
    assert reasons(undo.undo(ws)) == ["another file is in its place"]
    asked.unlink()
    undone = undo.undo(ws)
    note = ws.store.paths.memories / asked.name
    note.touch()
    assert reasons(undo.undo(ws, undone.undo)) == ["another file is in its place"]
    note.unlink()
    review.reject(ws, proposed.memory.id)
    assert reasons(undo.undo(ws, undone.undo)) == ["it has been accepted or rejected since"]


def test_two_files_with_one_id_are_not_forgotten_again(ws: Workspace, saved: Written) -> None:
    forget.forget(ws, saved.memory.id)
    undone = undo.undo(ws)
    note = ws.store.absolute(saved.path)
    note.with_name("copy.md").write_bytes(note.read_bytes())
    assert reasons(undo.undo(ws, undone.undo)) == ["several files have its id"]


def test_unrequested_batch_is_undone_only_by_id(ws: Workspace, saved: Written) -> None:
    with ws.events.batch("staleness"):
        write.edit(ws, saved.memory.id, status="stale")
    stale, first = (each.id for each in history.log(ws))
    assert undo.undo(ws, dry_run=True).batch == first
    assert undo.undo(ws, stale).restored == (saved.path,)


# --- mining and import --------------------------------------------------------------------------------------------


def test_a_mining_run_is_one_batch_and_its_turns_are_not_mined_again(miner: Workspace, session: Transcript) -> None:
    session.tells("one")
    session.tells("two")
    schedule.mine_file(miner, session.path)
    done = batch(miner)
    assert (done.what, done.created, done.why) == ("mine", 2, "mined from session s1")
    assert len(undo.undo(miner).removed) == 2
    assert count_saved(miner) == {}
    schedule.mine_file(miner, session.path)
    session.tells("three")
    schedule.mine_file(miner, session.path)
    assert count_saved(miner) == once("three")


def test_each_run_over_a_session_is_taken_back_by_itself(miner: Workspace, session: Transcript) -> None:
    for name in ("one", "two"):
        session.tells(name)
        schedule.mine_file(miner, session.path)
    undo.undo(miner, batch(miner, 1).id)
    assert count_saved(miner) == once("two")


def test_an_import_of_fifty_files_is_taken_back_and_brought_back(ws: Workspace, tmp_path: Path) -> None:
    for number in range(50):
        name = f"{chr(97 + number % 26)}{chr(97 + number // 2 % 26)}{number:02}"
        (tmp_path / f"{name}.md").write_text(f"{name}-one {name}-two {name}-three.")
    result = import_.import_notes(ws, sorted(tmp_path.glob("*.md")))
    imported = notes(ws)
    assert len(imported) == 50
    undone = undo.undo(ws, result.batch)
    assert len(undone.removed) == 50
    assert notes(ws) == {}
    undo.undo(ws, undone.undo)
    assert notes(ws) == imported


def test_a_note_that_an_undo_took_out_is_neither_forgotten_nor_vanished(
    ws: Workspace, saved: Written, clock: SteppingClock
) -> None:
    undo.undo(ws)
    clock.forward(hours=1)
    refresh.refresh(ws)
    refresh.refresh(ws)
    assert forget.check_forgotten(ws, saved.memory) is None


# --- what was written since ---------------------------------------------------------------------------------------


def test_a_later_edit_on_top_is_left_alone(ws: Workspace, saved: Written) -> None:
    write.edit(ws, saved.memory.id, importance=4)
    write.edit(ws, saved.memory.id, importance=5)
    before = notes(ws)
    older = undo.undo(ws, batch(ws, 1).id)
    assert older.left == (Left(saved.path, "it has been changed since"),)
    assert older.undo == ""
    assert notes(ws) == before


def test_an_older_edit_can_be_taken_back_once_the_newer_one_is(ws: Workspace, saved: Written) -> None:
    before = notes(ws)
    write.edit(ws, saved.memory.id, importance=4)
    older = batch(ws).id
    write.edit(ws, saved.memory.id, importance=5)
    undo.undo(ws)
    undo.undo(ws, older)
    assert notes(ws) == before


def test_persons_edit_of_a_mined_note_stays(miner: Workspace, session: Transcript) -> None:
    session.tells("one")
    session.tells("two")
    schedule.mine_file(miner, session.path)
    note = next(miner.store.paths.memories.glob("*.md"))
    note.write_text(note.read_text() + "\nMy own remark.\n")
    undone = undo.undo(miner)
    assert len(undone.removed) == 1
    assert reasons(undone) == ["it has been changed since"]
    assert "My own remark." in note.read_text()


def test_a_note_that_a_person_is_typing_properties_into_stays(ws: Workspace, saved: Written) -> None:
    ws.store.absolute(saved.path).write_text("---\nid: [\n")
    assert reasons(undo.undo(ws)) == ["it has been changed since"]
    assert ws.store.absolute(saved.path).exists()


def test_a_note_that_was_renamed_by_hand_is_found(ws: Workspace, saved: Written) -> None:
    write.edit(ws, saved.memory.id, importance=5)
    moved = ws.store.paths.ours / "animals" / "walrus.md"
    moved.parent.mkdir()
    ws.store.absolute(saved.path).rename(moved)
    assert undo.undo(ws).restored == ("animals/walrus.md",)
    assert undo.undo(ws).removed == ("animals/walrus.md",)
    assert recalled(ws) == set()


def test_a_created_note_that_a_person_deleted_is_gone_already(ws: Workspace, saved: Written) -> None:
    ws.store.absolute(saved.path).unlink()
    undone = undo.undo(ws)
    assert reasons(undone) == ["it is already gone"]
    assert undone.removed == ()
    assert undone.undo


def test_an_edited_note_that_a_person_deleted_does_not_come_back(ws: Workspace, saved: Written) -> None:
    write.edit(ws, saved.memory.id, importance=5)
    ws.store.absolute(saved.path).unlink()
    assert reasons(undo.undo(ws)) == ["it has been deleted since"]
    assert notes(ws) == {}


def test_a_note_is_never_put_over_another_file(ws: Workspace, saved: Written) -> None:
    forget.forget(ws, saved.memory.id)
    ws.store.absolute(saved.path).write_text("---\nid: another-note-altogether\n---\nSomething else.\n")
    before = notes(ws)
    assert reasons(undo.undo(ws)) == ["another file is in its place"]
    assert notes(ws) == before


def test_a_forgotten_note_that_a_person_brought_back_and_changed_stays(ws: Workspace, saved: Written) -> None:
    text = ws.store.absolute(saved.path).read_text()
    forget.forget(ws, saved.memory.id)
    ws.store.absolute(saved.path).write_text(text + "\nMore.\n")
    assert reasons(undo.undo(ws)) == ["it is back, and has been changed since"]


def test_a_note_that_is_as_it_was_needs_no_undo(ws: Workspace, saved: Written) -> None:
    before = ws.store.absolute(saved.path).read_bytes()
    write.edit(ws, saved.memory.id, importance=5)
    ws.store.absolute(saved.path).write_bytes(before)
    undone = undo.undo(ws)
    assert (undone.restored, undone.left) == ((), ())
    assert not batch(ws).undoable


def test_nothing_is_written_through_a_symbolic_link(ws: Workspace, saved: Written, tmp_path: Path) -> None:
    moved = ws.store.paths.ours / "animals" / "walrus.md"
    moved.parent.mkdir()
    ws.store.absolute(saved.path).rename(moved)
    refresh.refresh(ws)
    forget.forget(ws, saved.memory.id)
    moved.parent.rmdir()
    (tmp_path / "elsewhere").mkdir()
    moved.parent.symlink_to(tmp_path / "elsewhere")
    assert reasons(undo.undo(ws)) == ["another file is in its place"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("unreadable", ["link", "folder"])
def test_unreadable_note_is_left(ws: Workspace, saved: Written, tmp_path: Path, unreadable: str) -> None:
    note, elsewhere = ws.store.absolute(saved.path), tmp_path / "elsewhere.md"
    note.rename(elsewhere)
    before = elsewhere.read_bytes()
    if unreadable == "link":
        note.symlink_to(elsewhere)
    else:
        note.mkdir()
    undone = undo.undo(ws)
    assert (undone.undo, undone.removed, reasons(undone)) == ("", (), ["it cannot be read"])
    assert elsewhere.read_bytes() == before
    assert note.is_symlink() if unreadable == "link" else note.is_dir()
    assert not batch(ws).because.startswith("undone")


def test_concurrent_edit_wins(ws: Workspace, saved: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    write.edit(ws, saved.memory.id, importance=5)
    keep = ws.events.store_undo

    def meanwhile(digest: str, data: bytes) -> None:
        keep(digest, data)
        ws.store.absolute(saved.path).write_bytes(data + b"\nA person's remark.\n")

    monkeypatch.setattr(ws.events, "store_undo", meanwhile)
    assert reasons(undo.undo(ws)) == ["it is being written to"]
    assert b"A person's remark." in ws.store.absolute(saved.path).read_bytes()


def test_concurrent_edit_of_a_new_note_wins(ws: Workspace, saved: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    note = ws.store.absolute(saved.path)
    monkeypatch.setattr(ws.events, "store_undo", lambda _, data: note.write_bytes(data + b"\nA person's remark.\n"))
    assert reasons(undo.undo(ws)) == ["it is being written to"]
    assert recalled(ws) == {f"{WALRUS}\n\nA person's remark."}


def test_a_path_that_leads_out_of_the_vault_is_never_written(ws: Workspace, saved: Written, tmp_path: Path) -> None:
    forget.forget(ws, saved.memory.id)
    text = ws.home.events_file.read_text()
    ws.home.events_file.write_text(text.replace(f'"{saved.path}"', '"../../outside.md"'))
    assert reasons(undo.undo(ws)) == ["another file is in its place"]
    assert not list(tmp_path.rglob("outside.md"))


# --- redo ---------------------------------------------------------------------------------------------------------


CHANGES: dict[str, Callable[[Workspace, str], object]] = {
    "save": lambda ws, _: save.save(ws, SEAL),
    "edit": lambda ws, identity: write.edit(ws, identity, body="The walrus is fed with mussels."),
    "forget": forget.forget,
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_undo_can_be_undone_and_that_again(ws: Workspace, saved: Written, name: str) -> None:
    before, said_before = notes(ws), recalled(ws)
    CHANGES[name](ws, saved.memory.id)
    first, after, said_after = batch(ws).id, notes(ws), recalled(ws)
    undone = undo.undo(ws)
    for _ in range(2):
        assert (notes(ws), recalled(ws)) == (before, said_before)
        redone = undo.undo(ws, undone.undo)
        assert (notes(ws), recalled(ws)) == (after, said_after)
        undone = undo.undo(ws, redone.undo)
    assert undo.undo(ws, undone.undo)
    assert [each.undoable for each in history.log(ws) if each.id == first] == [True]


def test_memory_forgotten_again_is_refused_again(ws: Workspace, saved: Written) -> None:
    forget.forget(ws, saved.memory.id)
    undone = undo.undo(ws)
    undo.undo(ws, undone.undo)
    assert forget.check_forgotten(ws, saved.memory) is not None


def test_a_redone_batch_can_be_undone_without_naming_it(ws: Workspace, saved: Written) -> None:
    undo.undo(ws, undo.undo(ws).undo)
    assert undo.undo(ws).removed == (saved.path,)


def test_an_undone_batch_says_what_brings_it_back(ws: Workspace, saved: Written) -> None:
    undone = undo.undo(ws)
    with pytest.raises(InputError, match=f"already undone. `memem undo {undone.undo}` reapplies it"):
        undo.undo(ws, undone.batch)


def test_a_dry_run_tells_and_changes_nothing(ws: Workspace, saved: Written) -> None:
    before, log = notes(ws), ws.home.events_file.read_bytes()
    told = undo.undo(ws, dry_run=True)
    assert (told.removed, told.undo, told.dry_run) == ((saved.path,), "", True)
    assert (notes(ws), ws.home.events_file.read_bytes()) == (before, log)


# --- what can no longer be undone ---------------------------------------------------------------------------------


def _empty_undo_store(ws: Workspace) -> None:
    for path in ws.home.undo.iterdir():
        path.unlink()


def test_without_the_earlier_bytes_a_note_stays_as_it_is(ws: Workspace, saved: Written) -> None:
    write.edit(ws, saved.memory.id, importance=5)
    _empty_undo_store(ws)
    before = notes(ws)
    assert "are removed after" in batch(ws).because
    assert not batch(ws).undoable
    assert "are removed after" in reasons(undo.undo(ws))[0]
    assert notes(ws) == before


def test_spoilt_bytes_are_not_brought_back(ws: Workspace, saved: Written) -> None:
    write.edit(ws, saved.memory.id, importance=5)
    for path in ws.home.undo.iterdir():
        path.write_bytes(b"spoilt")
    assert "are removed after" in reasons(undo.undo(ws))[0]


def test_purge_cannot_be_undone(ws: Workspace, saved: Written) -> None:
    write.edit(ws, saved.memory.id, importance=5)
    purge.purge(ws, saved.memory.id)
    assert (batch(ws).what, batch(ws).undoable) == ("purge", False)
    with pytest.raises(InputError, match="is a purge, which cannot be undone"):
        undo.undo(ws)
    assert "are removed after" in reasons(undo.undo(ws, batch(ws, 1).id))[0]
    assert reasons(undo.undo(ws, batch(ws, 2).id)) == ["it is already gone"]
    assert notes(ws) == {}


def test_others_who_changed_a_note_in_between_are_respected(ws: Workspace, saved: Written) -> None:
    other = ws.twin()
    with ws.events.batch("slow"):
        write.edit(ws, saved.memory.id, importance=4)
        write.edit(other, saved.memory.id, kind="decision")
        write.edit(ws, saved.memory.id, importance=5)
    other.close()
    undone = undo.undo(ws, next(each.id for each in history.log(ws) if each.what == "slow"))
    assert reasons(undone) == ["changed by another batch in between"]


def test_a_batch_of_another_vault_is_not_undone_here(ws: Workspace, saved: Written, tmp_path: Path) -> None:
    elsewhere = open_workspace(actor="test", home=ws.home.root, vault=tmp_path / "other", clock=ws.clock)
    save.save(elsewhere, SEAL)
    assert [(each.undoable, each.because) for each in history.log(ws)] == [
        (False, "cannot be undone: in another vault"),
        (True, ""),
    ]
    assert reasons(undo.undo(ws, batch(ws).id)) == ["in another vault"]
    assert undo.undo(ws).removed == (saved.path,)
    assert recalled(elsewhere) == {SEAL}
    elsewhere.close()


def test_two_machines_with_one_vault_each_take_back_their_own(
    ws: Workspace, saved: Written, tmp_path: Path, clock: SteppingClock
) -> None:
    other = open_workspace(actor="other", home=tmp_path / "machine", vault=tmp_path / "vault", clock=clock)
    refresh.refresh(other)
    with ws.events.batch("here"), other.events.batch("there"):
        save.save(ws, SEAL)
        save.save(other, "The owl sleeps by day.")
        write.edit(other, saved.memory.id, importance=5)
        save.save(ws, "The bat sleeps by day as well, upside down.")
    assert undo.undo(ws).removed
    assert recalled(ws) == {WALRUS, "The owl sleeps by day."}
    assert reasons(undo.undo(ws)) == ["it has been changed since"]
    assert undo.undo(other).restored == (saved.path,)
    assert recalled(other) == {WALRUS}
    other.close()


HERE = ("Cages are painted green.", "Tickets cost nine crowns.", "Owls sleep by day.")
THERE = ("Pools hold salt water.", "The keeper is called Ada.", "Gates open at dawn.")


def test_interleaved_batches_of_one_home_are_separate(ws: Workspace) -> None:
    other = ws.twin()
    with ws.events.batch("here"), other.events.batch("there"):
        for number in range(3):
            save.save(ws, HERE[number])
            save.save(other, THERE[number])
    other.close()
    assert [(each.what, each.created) for each in history.log(ws)] == [("there", 3), ("here", 3)]
    undo.undo(ws, batch(ws, 1).id)
    assert recalled(ws) == set(THERE)


# --- the log ------------------------------------------------------------------------------------------------------


def test_the_log_counts_and_names_what_was_done(ws: Workspace, saved: Written, clock: SteppingClock) -> None:
    clock.forward(minutes=1)
    with ws.events.batch("tidy"):
        write.edit(ws, saved.memory.id, title="Food", why="a better title")
        other = save.save(ws, SEAL)
    forget.forget(ws, other.memory.id)
    forgot, tidied, first = history.log(ws)
    assert (forgot.what, forgot.forgotten, forgot.notes) == ("forget", 1, (other.memory.title,))
    assert (tidied.created, tidied.changed, tidied.forgotten, tidied.why) == (1, 1, 0, "a better title")
    assert tidied.notes == ("Food", other.memory.title)
    assert (tidied.time, tidied.actor) == ("2026-03-01T09:01:00+01:00", "test")
    assert (first.what, first.undoable, first.because) == ("save", True, "")


def test_the_log_says_what_of_a_batch_cannot_be_undone(ws: Workspace, saved: Written) -> None:
    with ws.events.batch("tidy"):
        write.edit(ws, saved.memory.id, importance=5)
        save.save(ws, SEAL)
    _empty_undo_store(ws)
    assert batch(ws).undoable
    assert batch(ws).because.startswith("1 of 2 notes cannot be undone: earlier versions are removed after")


def test_the_log_shows_as_many_as_are_asked_for(ws: Workspace) -> None:
    for number in range(4):
        save.save(ws, f"Cage {number} is painted green.")
    assert len(history.log(ws, 3)) == 3
    for limit in (0, 1_001):
        with pytest.raises(InputError, match="limit"):
            history.log(ws, limit)


def test_the_log_can_be_read_while_the_vault_is_away(ws: Workspace, saved: Written, tmp_path: Path) -> None:
    (tmp_path / "vault").rename(tmp_path / "away")
    assert [(each.notes, each.because) for each in history.log(ws)] == [
        ((saved.path,), "cannot be undone: the vault is missing")
    ]
    with pytest.raises(MememError, match="is gone"):
        undo.undo(ws)


def test_a_batch_is_known_by_the_beginning_of_its_id(ws: Workspace, saved: Written) -> None:
    name = batch(ws).id
    assert [event.action for event in history.find_batch(ws, name[:4]).events] == ["save"]
    with pytest.raises(InputError, match="too short"):
        history.find_batch(ws, name[:3])
    with pytest.raises(NotFound, match="no batch"):
        history.find_batch(ws, "zzzz")


def test_a_beginning_that_several_batches_share_is_not_enough(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(("aaaaaaa1", "aaaaaaa2"))
    monkeypatch.setattr("memem.state.events.os.urandom", lambda _: bytes.fromhex(next(names)))
    for number in range(2):
        with ws.events.batch("test"):
            ws.events.record("save", id=f"id-{number}", path="memories/x.md", why="", before="", after="x")
    with pytest.raises(Ambiguous, match="aaaaaaa2, aaaaaaa1"):
        history.find_batch(ws, "aaaa")


def test_an_event_from_before_there_were_batches_can_be_undone(ws: Workspace, saved: Written) -> None:
    lines = ws.home.events_file.read_text()
    start = lines.index(', "batch"')
    ws.home.events_file.write_text(lines[:start] + "}\n")
    old = batch(ws)
    assert (old.what, len(old.id)) == ("save", 8)
    assert undo.undo(ws, old.id).removed == (saved.path,)
    with pytest.raises(InputError, match="already undone"):
        undo.undo(ws, old.id)


# --- faults -------------------------------------------------------------------------------------------------------


@pytest.fixture
def durable(ws: Workspace) -> Workspace:
    ws.settings = replace(ws.settings, fsync=True)
    return ws


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("name", CHANGES)
def test_a_failing_disk_leaves_the_old_state_or_the_new_and_trying_again_completes_it(
    durable: Workspace, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = durable
    saved = save.save(ws, WALRUS)
    before = notes(ws)
    for step in range(80):
        CHANGES[name](ws, saved.memory.id)
        done, after = batch(ws).id, notes(ws)
        faulty = FaultyOs(step)
        with monkeypatch.context() as patched:
            patched.setattr("memem.core.files.os", faulty)
            try:
                undo.undo(ws, done)
            except MememError as error:
                assert "\n" not in str(error)
        _old_or_new(ws, before, after)
        if not _is_undone(ws, done):
            undo.undo(ws, done)
        assert notes(ws) == before
        assert recalled(ws) == {WALRUS}
        assert status.check(ws) == []
        assert list(ws.store.leftovers()) == []
        if len(faulty.calls) <= step:
            break
    assert 8 <= step < 79


def _is_undone(ws: Workspace, name: str) -> bool:
    return any(each.id == name and each.because.startswith("undone by") for each in history.log(ws, 1_000))


def _old_or_new(ws: Workspace, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Every note is in one of its states; a copy that was set aside may still exist."""
    for path, data in notes(ws).items():
        assert data in (before.get(path), after.get(path))
    assert before.keys() & after.keys() <= notes(ws).keys()


def test_a_row_is_gone_before_its_note_is(ws: Workspace, saved: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*arguments: object, **options: object) -> None:
        assert ws.index.by_path(saved.path) is None
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(restore, "remove_file", killed)
        with pytest.raises(KeyboardInterrupt):
            undo.undo(ws)
    assert recalled(ws) == {WALRUS}
    assert undo.undo(ws).removed == (saved.path,)


def test_removed_note_is_listed_by_title(ws: Workspace, saved: Written) -> None:
    undo.undo(ws)
    assert [batch.notes for batch in history.log(ws)] == [(saved.memory.title,), (saved.memory.title,)]
