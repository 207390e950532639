"""An export is the vault itself: what comes back from it is equal, and what is there is never harmed by it."""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import labelled
from memem.core.errors import InputError
from memem.core.memory import Edge, Memory
from memem.core.trust import SAVED
from memem.notes import conflicts as notes_conflicts
from memem.notes import forget, history, review, save, undo, write
from memem.pages import conflicts
from memem.pages import refresh as pages_refresh
from memem.search import find, refresh
from memem.search.graph import build, read
from memem.transfer import export, export_format, import_
from memem.transfer.import_ import Imported
from memem.upkeep import purge
from memem.vault import note as notes
from memem.vault import tombstones
from memem.workspace import Workspace, open_workspace
from tests.builders import get_only_file
from tests.fakes import SteppingClock

OTTER = "Otters sleep on their backs."
FORMS = ("folder", "file.json")


@pytest.fixture
def other(tmp_path: Path, clock: SteppingClock) -> Iterator[Workspace]:
    """Another memory home, which is empty."""
    opened = open_workspace(actor="test", home=tmp_path / "home2", vault=tmp_path / "vault2", clock=clock)
    yield opened
    opened.close()


def bring(ws: Workspace, *paths: Path, dry_run: bool = False) -> Imported:
    return import_.import_notes(ws, paths, dry_run=dry_run)


def content(ws: Workspace) -> dict[str, tuple[bytes, int]]:
    """Every file of the vault that is a person's or a note, with its time; no pages, which follow."""
    ours, apart = ws.store.paths.ours, {".forgotten", "Conflicts.md", "Home.md", "projects", "playbooks"}
    found = [path for path in ours.rglob("*.md") if apart.isdisjoint(path.parts)]
    return {path.relative_to(ours).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def standing(ws: Workspace) -> set[Any]:
    return set(ws.tombstones.load().standing)


# --- there and back -----------------------------------------------------------------------------------------------


def lived_in(ws: Workspace) -> None:
    """The labelled memories, and what becomes of a vault in time."""
    ws.store.make_vault()
    corpus = labelled.load()
    for memory in corpus.memories:
        (ws.store.paths.memories / notes.file_name(memory)).write_bytes(notes.new_text(memory).encode())
    moved = ws.store.paths.ours / "mine" / "deep.md"
    moved.parent.mkdir()
    moved.write_text("---\nid: 11111111-aaaa\ntitle: Moved\nmood: # a comment\n  - calm\n---\r\nText of my own.\n")
    (ws.store.paths.memories / "plain.md").write_text("# Plain\n\nWritten by hand, without properties.\n")
    (ws.store.paths.memories / "half.md").write_text("---\ntitle: [half\n---\ntyped\n")
    os.utime(moved, ns=(1_700_000_000_123_456_789,) * 2)
    refresh.refresh(ws)
    for text in ("The gate opens at 7.", "The gate opens at 8."):
        save.save(ws, text, title="Gate", project="zoo")
    gone = save.save(ws, "The gate was made of copper by a smith.", project="zoo", trust=SAVED)
    forget.forget(ws, gone.memory.id)
    lifted = save.save(ws, "The pond is two metres deep in winter.", project="zoo")
    forget.forget(ws, lifted.memory.id)
    save.save(ws, "The pond is two metres deep in winter.", project="zoo", anyway=True)
    review.propose(ws, Memory("22222222-bbbb", "Doubt", "Gulls may be fed.", "zoo"), "it was said twice")
    conflicts.write_page(ws)
    page = ws.store.paths.conflicts
    page.write_text(f"I look at these on Fridays.\n\n{page.read_text()}")


def recalled(ws: Workspace) -> list[list[tuple[str, float]]]:
    """The results of every query of the labelled set, in order."""
    refresh.refresh(ws)
    queries = [question.text for question in labelled.load().questions]
    return [[(hit.id, round(hit.score, 6)) for hit in find.search(ws, query, limit=8)] for query in queries]


def woven(ws: Workspace) -> list[Edge]:
    build.rebuild(ws)
    return read.list_edges(ws)


def spans(ws: Workspace) -> dict[str, object]:
    rows = ws.index.rows("1")
    return {row.path: (row.memory, row.changed, row.stated, row.held, row.problem) for row in rows}


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("form", FORMS)
def test_after_a_total_loss_everything_is_as_it_was(ws: Workspace, tmp_path: Path, form: str) -> None:
    lived_in(ws)
    before = (content(ws), recalled(ws), woven(ws), spans(ws), standing(ws), ws.tombstones.lines())
    told = [each.because for each in review.proposals(ws)], len(notes_conflicts.conflicts(ws))
    export.export(ws, tmp_path / form)
    ws.close()
    shutil.rmtree(ws.settings.vault)
    shutil.rmtree(ws.settings.home)
    again = open_workspace(actor="test", home=ws.settings.home, vault=ws.settings.vault, clock=ws.clock)
    result = bring(again, tmp_path / form)
    assert {each.outcome for each in result.files} == {"created"}
    assert not any(each.reason for each in result.files)
    assert (content(again), recalled(again), woven(again), spans(again), standing(again), again.tombstones.lines()) == (
        before
    )
    assert ([each.because for each in review.proposals(again)], len(notes_conflicts.conflicts(again))) == told
    assert again.store.paths.conflicts.read_text().startswith("I look at these on Fridays.\n\n<!--")
    again.close()


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("form", FORMS)
def test_restored_notes_survive_an_index_rebuild(ws: Workspace, other: Workspace, tmp_path: Path, form: str) -> None:
    lived_in(ws)
    export.export(ws, tmp_path / form)
    bring(other, tmp_path / form)
    shutil.rmtree(other.home.cache)
    assert recalled(other) == recalled(ws)
    assert standing(other) == standing(ws)


def test_both_forms_hold_the_same(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    lived_in(ws)
    done = [export.export(ws, tmp_path / form) for form in FORMS]
    counts = [(each.notes, each.proposals, each.pages, each.tombstones, each.left) for each in done]
    assert counts == [(154, 1, 1, 1, ())] * 2
    bring(other, tmp_path / "folder")
    again = bring(other, tmp_path / "file.json")
    assert {each.outcome for each in again.files} == {"exists"}
    assert (again.batch, again.tombstones) == ("", 0)


# --- what an export is --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_export_is_private_and_leaves_no_temporary_files(ws: Workspace, tmp_path: Path, form: str) -> None:
    save.save(ws, OTTER)
    place = tmp_path / "place"
    place.mkdir()
    export.export(ws, place / form)
    assert [each.name for each in place.iterdir()] == [form]
    for path in (place / form, *(place / form).rglob("*")):
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("form", FORMS)
def test_existing_target_needs_force(ws: Workspace, tmp_path: Path, form: str) -> None:
    save.save(ws, OTTER)
    export.export(ws, tmp_path / form)
    save.save(ws, "Gates open at dawn.")
    with pytest.raises(InputError, match="--force"):
        export.export(ws, tmp_path / form)
    assert export.export(ws, tmp_path / form, force=True).notes == 2


def test_foreign_folder_is_never_replaced(ws: Workspace, tmp_path: Path) -> None:
    save.save(ws, OTTER)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("Dear otter,")
    for target in (tmp_path / "mine", ws.store.paths.ours / "x.json", tmp_path / "nowhere" / "x.json"):
        with pytest.raises(InputError):
            export.export(ws, target, force=True)
    assert (tmp_path / "mine" / "letter.txt").read_text() == "Dear otter,"


def files_in(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_other_files_in_a_replaced_export_stay(ws: Workspace, tmp_path: Path) -> None:
    saved = save.save(ws, OTTER)
    folder = tmp_path / "folder"
    export.export(ws, folder)
    first = files_in(folder)
    (folder / ".git").mkdir()
    others = {".git/HEAD": b"ref: refs/heads/main", "README.md": b"My memories."}
    for name, data in others.items():
        (folder / name).write_bytes(data)
    forget.forget(ws, saved.memory.id)
    save.save(ws, "Gates open at dawn.")
    export.export(ws, folder, force=True)
    again = files_in(folder)
    assert others.items() <= again.items()
    export.export(ws, tmp_path / "new")
    assert set(again) == {*files_in(tmp_path / "new"), *others}
    assert f"memem/{saved.path}" in first.keys() - again.keys()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("number", range(5))
def test_an_export_that_cannot_take_its_place_leaves_the_one_before(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    save.save(ws, OTTER)
    export.export(ws, place / "folder")
    (place / "folder" / "README.md").write_text("My memories.")
    before = files_in(place)
    save.save(ws, "Gates open at dawn.")
    rename, left = os.replace, [number]

    def failing(self: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] == -1:
            raise OSError(28, "No space left on device")
        rename(self, target)
        return target

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", failing)
        patched.setattr(Path, "replace", failing)
        with pytest.raises(InputError, match="disk is full"):
            export.export(ws, place / "folder", force=True)
    assert files_in(place) == before
    assert [each.name for each in place.iterdir()] == ["folder"]


@pytest.mark.parametrize("form", FORMS)
def test_an_export_that_fails_leaves_the_one_before(
    ws: Workspace, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    save.save(ws, OTTER)
    export.export(ws, place / form)
    before = {path: path.read_bytes() for path in (place / form, *(place / form).rglob("*")) if path.is_file()}

    def failing(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(export, "_pack", failing)
        with pytest.raises(InputError, match="disk is full"):
            export.export(ws, place / form, force=True)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("form", FORMS)
def test_export_has_no_text_of_forgotten_memories(ws: Workspace, tmp_path: Path, form: str) -> None:
    forget.forget(ws, save.save(ws, OTTER).memory.id)
    export.export(ws, tmp_path / form)
    texts = [path.read_text() for path in (tmp_path / form, *(tmp_path / form).rglob("*")) if path.is_file()]
    assert not any("Otters" in text for text in texts)
    assert any("statements" in text for text in texts)


def test_export_of_a_project_has_its_notes_without_tombstones(ws: Workspace, tmp_path: Path) -> None:
    lived_in(ws)
    done = export.export(ws, tmp_path / "zoo.json", project="Zoo")
    assert (done.notes, done.proposals, done.pages, done.tombstones) == (3, 1, 0, 0)
    values = json.loads((tmp_path / "zoo.json").read_text())
    assert (values[0]["project"], values[0]["files"], values[0]["tombstones"]) == ("zoo", 4, 0)


def test_export_reports_progress_by_note(ws: Workspace, tmp_path: Path) -> None:
    save.save(ws, OTTER)
    told: list[tuple[float, int]] = []
    export.export(ws, tmp_path / "x.json", progress=lambda *step: told.append(step))
    assert told == [(0, 1), (1, 1)]


# --- into a vault that has notes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_existing_notes_stay_and_differences_are_reported(ws: Workspace, tmp_path: Path, form: str) -> None:
    one = save.save(ws, OTTER, title="Sleep")
    two = save.save(ws, "Gates open at dawn.", title="Gates")
    export.export(ws, tmp_path / form)
    write.edit(ws, two.memory.id, body="Gates open at noon.")
    before = content(ws)
    result = bring(ws, tmp_path / form)
    assert {(each.title, each.outcome, each.id) for each in result.files} == {
        ("Sleep", "exists", one.memory.id),
        ("Gates", "differs", two.memory.id),
    }
    assert (content(ws), result.batch) == (before, "")


@pytest.mark.parametrize("form", FORMS)
def test_locally_forgotten_notes_stay_forgotten(ws: Workspace, tmp_path: Path, form: str) -> None:
    saved = save.save(ws, OTTER, title="Sleep")
    export.export(ws, tmp_path / form)
    forget.forget(ws, saved.memory.id)
    for dry_run in (True, False):
        told = get_only_file(bring(ws, tmp_path / form, dry_run=dry_run))
        assert (told.outcome, "forgotten here" in told.reason) == ("refused", True)


@pytest.mark.parametrize("purged", [False, True])
def test_a_proposal_that_was_rejected_does_not_come_back(ws: Workspace, tmp_path: Path, purged: bool) -> None:
    review.propose(ws, Memory("22222222-bbbb", "Doubt", "Gulls may be fed at noon.", "zoo"), "it was said twice")
    export.export(ws, tmp_path / "x.json")
    review.reject(ws, "22222222-bbbb")
    if purged:
        purge.purge(ws, "22222222-bbbb")
    for dry_run in (True, False):
        told = get_only_file(bring(ws, tmp_path / "x.json", dry_run=dry_run))
        assert (told.outcome, "forgotten here" in told.reason) == ("refused", True)
    assert review.proposals(ws) == []


def test_a_proposal_that_was_accepted_is_not_put_up_again(ws: Workspace, tmp_path: Path) -> None:
    review.propose(ws, Memory("22222222-bbbb", "Doubt", "Gulls may be fed at noon.", "zoo"), "it was said twice")
    export.export(ws, tmp_path / "x.json")
    review.accept(ws, "22222222-bbbb")
    told = get_only_file(bring(ws, tmp_path / "x.json"))
    assert (told.outcome, told.id, review.proposals(ws)) == ("exists", "22222222-bbbb", [])


def test_tombstones_of_an_export_are_imported(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    forget.forget(ws, save.save(ws, OTTER).memory.id)
    save.save(ws, "Gates open at dawn.")
    save.save(other, "Pools hold salt water.")
    forget.forget(other, save.save(other, "Gulls are loud at night.").memory.id)
    export.export(ws, tmp_path / "x.json")
    assert bring(other, tmp_path / "x.json").tombstones == 1
    assert len(standing(other)) == 2
    with pytest.raises(InputError, match="forgotten"):
        save.save(other, OTTER)
    with pytest.raises(InputError, match="forgotten"):
        save.save(other, "Gulls are loud at night.")


def test_a_note_that_is_remembered_here_is_not_forgotten_by_an_import(
    ws: Workspace, other: Workspace, tmp_path: Path
) -> None:
    saved = save.save(ws, OTTER)
    export.export(ws, tmp_path / "with.json")
    bring(other, tmp_path / "with.json")
    forget.forget(ws, saved.memory.id)
    export.export(ws, tmp_path / "without.json")
    assert bring(other, tmp_path / "without.json").tombstones == 0
    assert standing(other) == set()
    assert find.get(other, saved.memory.id).body == OTTER


def test_imported_lifting_does_not_lift_a_local_tombstone(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    forget.forget(ws, save.save(ws, OTTER).memory.id)
    export.export(ws, tmp_path / "one.json")
    bring(other, tmp_path / "one.json")
    save.save(ws, OTTER, anyway=True)
    export.export(ws, tmp_path / "two.json")
    assert get_only_file(bring(other, tmp_path / "two.json")).outcome == "refused"
    assert len(standing(other)) == 1


def test_note_gets_another_path_if_its_own_is_taken(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    saved = save.save(ws, OTTER, title="Sleep")
    moved = ws.store.paths.memories / "a.md"
    ws.store.absolute(saved.path).rename(moved)
    export.export(ws, tmp_path / "x.json")
    save.save(other, "Gates open at dawn.")
    (other.store.paths.memories / "a.md").write_text("Something else.")
    assert get_only_file(bring(other, tmp_path / "x.json")).outcome == "created"
    assert other.store.absolute(saved.path).read_bytes() == moved.read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_a_persons_text_on_pages_is_restored(ws: Workspace, other: Workspace, tmp_path: Path, form: str) -> None:
    save.save(ws, OTTER, project="zoo")
    pages_refresh.write_pages(ws)
    home, page = ws.store.paths.home_page, ws.store.paths.projects / "zoo.md"
    home.write_text(f"I begin here.\n\n{home.read_text()}")
    page.write_text(f"{page.read_text()}\nAsk the keeper.\n")
    exported = export.export(ws, tmp_path / form)
    assert (exported.notes, exported.pages) == (1, 2)
    result = bring(other, tmp_path / form)
    assert {("", "Home.md"), ("", "projects/zoo.md")} < {(each.id, each.title) for each in result.files}
    assert other.store.paths.home_page.read_text() == home.read_text()
    assert (other.store.paths.projects / "zoo.md").read_text() == page.read_text()
    assert len(find.list_memories(other)) == 1


def test_a_playbook_whose_lines_a_person_changed_differs(ws: Workspace, tmp_path: Path) -> None:
    for text in ("Otters are fed by hand.", "Gates open at dawn."):
        save.save(ws, text, project="zoo", kind="decision")
    pages_refresh.write_pages(ws)
    page = ws.store.paths.playbooks / "zoo.md"
    plain = page.read_text()
    line = next(line for line in plain.splitlines() if "Otters" in line)

    def reported(theirs: str, here: str) -> str:
        page.write_text(theirs)
        export.export(ws, tmp_path / "x.json", force=True)
        page.write_text(here)
        result = bring(ws, tmp_path / "x.json")
        assert page.read_text() == here
        return next(each.outcome for each in result.files if each.place == "playbooks/zoo.md")

    added, removed = plain.replace(line, f"{line}\n- Ask the keeper."), plain.replace(f"{line}\n", "")
    assert reported(added, plain) == reported(plain, added) == reported(removed, plain) == "differs"
    save.save(ws, "Pools hold salt water.", project="zoo", kind="decision")
    page.write_text(added)
    pages_refresh.write_pages(ws)
    assert page.read_text() != added
    assert reported(added, page.read_text()) == "exists", "only what memem writes is another"


def test_a_note_among_the_pages_is_exported_as_a_note(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    saved = save.save(ws, OTTER, project="zoo")
    moved = ws.store.paths.projects / "otters.md"
    moved.parent.mkdir()
    ws.store.absolute(saved.path).rename(moved)
    exported = export.export(ws, tmp_path / "x")
    assert (exported.notes, exported.pages) == (1, 0)
    bring(other, tmp_path / "x")
    assert find.get(other, saved.memory.id).path == "projects/otters.md"


# --- past the gate ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_secret_in_a_restored_note_is_removed_and_reported(
    ws: Workspace, other: Workspace, tmp_path: Path, form: str
) -> None:
    token = "ghp_" + "a1B2" * 9
    saved = save.save(ws, OTTER, title="Sleep")
    path = ws.store.absolute(saved.path)
    path.write_text(path.read_text().replace("their backs", f"{token} and more"))
    (ws.store.paths.memories / "half.md").write_text(f"---\ntitle: [half\n---\n{token}\n")
    export.export(ws, tmp_path / form)
    result = bring(other, tmp_path / form)
    told = {each.place: (each.outcome, each.reason) for each in result.files}
    assert told[saved.path][0] == "created"
    assert "removed" in told[saved.path][1]
    assert told["memories/half.md"][0] == "refused"
    assert token not in "".join(str(each) for each in content(other).values())


@pytest.mark.slow
def test_an_import_of_an_export_can_be_undone(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    lived_in(ws)
    export.export(ws, tmp_path / "x.json")
    save.save(other, "Pools hold salt water.")
    before = content(other)
    result = bring(other, tmp_path / "x.json")
    undone = undo.undo(other, result.batch)
    assert content(other) == before
    assert standing(other) == set()
    undo.undo(other, undone.undo)
    assert content(other).keys() == before.keys() | content(ws).keys()
    assert len(standing(other)) == len(standing(ws))


def test_undo_and_redo_of_an_import_include_its_tombstones(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    forget.forget(ws, save.save(ws, OTTER).memory.id)
    export.export(ws, tmp_path / "x.json")
    forget.forget(other, save.save(other, "Gulls are loud at night.").memory.id)
    own = standing(other)
    result = bring(other, tmp_path / "x.json")
    assert (result.files, result.tombstones, bool(result.batch)) == ((), 1, True)
    assert undo.undo(other, dry_run=True).tombstones == 1
    assert len(standing(other)) == 2
    undone = undo.undo(other)
    assert (undone.batch, undone.tombstones, undone.left, standing(other)) == (result.batch, 1, (), own)
    again = undo.undo(other, undone.undo)
    assert (again.tombstones, len(standing(other))) == (1, 2)
    with pytest.raises(InputError, match="forgotten"):
        save.save(other, OTTER)
    undo.undo(other, again.undo)
    assert (standing(other), save.save(other, OTTER).outcome) == (own, "created")


def test_note_next_to_its_tombstone_survives_undo_and_redo(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    forget.forget(ws, save.save(ws, OTTER).memory.id)
    (ws.store.paths.memories / "again.md").write_text(OTTER)
    export.export(ws, tmp_path / "x.json")
    result = bring(other, tmp_path / "x.json")
    assert (get_only_file(result).outcome, result.tombstones) == ("created", 1)
    undone = undo.undo(other)
    assert (content(other), standing(other)) == ({}, set())
    undo.undo(other, undone.undo)
    assert (list(content(other)), len(standing(other))) == (["memories/again.md"], 1)


def test_the_tombstones_of_several_exports_are_undone_as_one(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    for name, text in (("x.json", OTTER), ("y.json", "Gulls are loud at night.")):
        forget.forget(ws, save.save(ws, text).memory.id)
        export.export(ws, tmp_path / name)
    assert bring(other, tmp_path / "x.json", tmp_path / "y.json").tombstones == 2
    assert (undo.undo(other).tombstones, standing(other)) == (2, set())


def test_undoing_an_import_keeps_later_tombstones(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    saved = save.save(ws, OTTER)
    data = ws.store.absolute(saved.path).read_bytes()
    forget.forget(ws, saved.memory.id)
    export.export(ws, tmp_path / "x.json")
    result = bring(other, tmp_path / "x.json")
    other.store.absolute(saved.path).write_bytes(data)  # as a sync may bring it
    refresh.refresh(other)
    forget.forget(other, saved.memory.id)
    assert undo.undo(other, result.batch).tombstones == 0
    assert len(standing(other)) == 1


def test_the_name_of_an_export_may_be_anything(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    forget.forget(ws, save.save(ws, OTTER).memory.id)
    export.export(ws, tmp_path / "x.json")
    odd = tmp_path / os.fsdecode(b"a\xff\nb.json")
    (tmp_path / "x.json").rename(odd)
    assert bring(other, odd).tombstones == 1
    assert len(list(other.events.read())) == 1


def test_the_log_counts_no_tombstones_among_the_notes(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    forget.forget(ws, save.save(ws, OTTER).memory.id)
    save.save(ws, "Gates open at dawn.", title="Gates")
    export.export(ws, tmp_path / "x.json")
    bring(other, tmp_path / "x.json")
    (batch,) = history.log(other)
    assert (batch.created, batch.changed, batch.forgotten, batch.notes) == (1, 0, 0, ("Gates",))
    undo.undo(other)
    assert (history.log(other)[0].created, history.log(other)[0].forgotten) == (0, 1)


def test_tombstones_of_which_the_undo_store_knows_no_more_stay(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    forget.forget(ws, save.save(ws, OTTER).memory.id)
    export.export(ws, tmp_path / "x.json")
    bring(other, tmp_path / "x.json")
    shutil.rmtree(other.home.undo)
    undone = undo.undo(other)
    assert (undone.undo, undone.tombstones, len(standing(other))) == ("", 0, 1)
    assert "the record of the imported tombstones is gone" in undone.left[0].reason


def test_a_dry_run_makes_nothing(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    lived_in(ws)
    export.export(ws, tmp_path / "x.json")
    told = bring(other, tmp_path / "x.json", dry_run=True)
    assert ({each.outcome for each in told.files}, told.tombstones, told.batch) == ({"created"}, 1, "")
    assert not other.settings.vault.exists()


def test_a_project_cannot_be_given_to_an_export(ws: Workspace, tmp_path: Path) -> None:
    save.save(ws, OTTER)
    export.export(ws, tmp_path / "x.json")
    with pytest.raises(InputError, match="without --project"):
        import_.import_notes(ws, [tmp_path / "x.json"], project="zoo")


# --- what is no export, or not one that can be trusted ------------------------------------------------------------


def header(**changes: Any) -> dict[str, Any]:
    return {"format": "memem-export", "version": 1, "files": 1, "tombstones": 0, **changes}


def wrap(tmp_path: Path, *values: Any) -> Path:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(values))
    return path


@pytest.mark.parametrize(
    "path", ["../out.md", "/etc/out.md", "a/../../out.md", ".hidden/a.md", "a.txt", "", "a\\b.md", "a//b.md", "x" * 300]
)
def test_path_outside_the_vault_is_refused(ws: Workspace, tmp_path: Path, path: str) -> None:
    told = get_only_file(bring(ws, wrap(tmp_path, header(), {"path": path, "modified": 1, "text": OTTER})))
    assert (told.outcome, "not the path of a note" in told.reason) == ("refused", True)
    assert not (tmp_path / "out.md").exists()


def test_a_link_in_the_vault_is_not_followed_out_of_it(ws: Workspace, tmp_path: Path) -> None:
    save.save(ws, OTTER)
    (tmp_path / "outside").mkdir()
    (ws.store.paths.ours / "mine").symlink_to(tmp_path / "outside")
    packed = {"path": "mine/a.md", "modified": 1, "text": "---\nid: 11111111-aaaa\n---\nGates open at dawn.\n"}
    bring(ws, wrap(tmp_path, header(), packed))
    assert list((tmp_path / "outside").iterdir()) == []


def test_links_in_a_folder_are_passed_over(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    save.save(ws, OTTER)
    export.export(ws, tmp_path / "folder")
    (tmp_path / "secret.md").write_text("Words from outside.")
    (tmp_path / "folder" / "memem" / "memories" / "link.md").symlink_to(tmp_path / "secret.md")
    assert get_only_file(bring(other, tmp_path / "folder")).outcome == "created"


def test_that_of_a_newer_memem_is_refused(ws: Workspace, tmp_path: Path) -> None:
    assert "newer version of memem" in get_only_file(bring(ws, wrap(tmp_path, header(version=2)))).reason


def test_truncated_export_restores_complete_notes_and_is_reported(
    ws: Workspace, other: Workspace, tmp_path: Path
) -> None:
    for text in (OTTER, "Gates open at dawn."):
        save.save(ws, text)
    export.export(ws, tmp_path / "x.json")
    data = (tmp_path / "x.json").read_bytes()
    (tmp_path / "x.json").write_bytes(data[: len(data) - 200])
    result = bring(other, tmp_path / "x.json")
    assert [each.outcome for each in result.files] == ["created", "refused"]
    (tmp_path / "x.json").write_bytes(data)
    assert sorted(each.outcome for each in bring(other, tmp_path / "x.json").files) == ["created", "exists"]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["memories/a.md", "review/b.md"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["path", "modified", "text", "base64", "tombstone", "key"]), inner, max_size=5
        )
    ),
)


@given(st.lists(_VALUES, max_size=4))
def test_whatever_stands_in_an_export_it_is_read_or_refused(values: list[Any]) -> None:
    for value in values:
        told = export_format.parse_element(value)
        if isinstance(told, export_format.PackedFile):
            assert told.path.endswith(".md")
        else:
            assert isinstance(told, bytes | InputError)


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_tombstones_that_are_none_are_passed_over(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    folder = tmp_path_factory.mktemp("any")
    opened = open_workspace(actor="test", home=folder / "h", vault=folder / "v", clock=SteppingClock())
    stones = [{"tombstone": line.decode("latin-1")} for line in lines]
    (folder / "x.json").write_text(json.dumps([header(), *stones]))
    assert bring(opened, folder / "x.json").tombstones == 0
    opened.close()


@pytest.mark.parametrize("odd", [{"sizes": ["a"]}, {"ids": [["x"]]}, {"statements": [{}]}, {"time": 5}])
def test_malformed_tombstones_are_skipped(ws: Workspace, tmp_path: Path, odd: dict[str, Any]) -> None:
    salt = bytes(16)
    told = {"key": "k", "salt": tombstones.name_of(salt), "time": "", "ids": ["i"], "statements": ["s"], **odd}
    lines = [json.dumps(line) for line in ({"salt": salt.hex()}, {"tombstone": told})]
    assert bring(ws, wrap(tmp_path, header(), *({"tombstone": line} for line in lines))).tombstones == 0
    assert ws.tombstones.lines() == [lines[0].encode()]
    assert save.save(ws, OTTER).outcome == "created"


def test_a_line_of_tombstones_that_is_several_lifts_nothing(ws: Workspace, tmp_path: Path) -> None:
    forget.forget(ws, save.save(ws, OTTER).memory.id)
    (stone,) = standing(ws)
    line = f'{{"salt": "{"00" * 16}", "more":\n{{"lifted": "{stone.key}", "time": ""}}\n}}'
    bring(ws, wrap(tmp_path, header(), {"tombstone": line}))
    assert standing(ws) == {stone}


def test_note_of_a_newer_schema_is_restored_unchanged(ws: Workspace, other: Workspace, tmp_path: Path) -> None:
    saved = save.save(ws, OTTER)
    path = ws.store.absolute(saved.path)
    path.write_text(path.read_text().replace("schema_version: 1", "schema_version: 9"))
    export.export(ws, tmp_path / "x.json")
    bring(other, tmp_path / "x.json")
    assert other.store.absolute(saved.path).read_bytes() == path.read_bytes()


def test_oversized_file_is_skipped_and_named(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save.save(ws, OTTER)
    (ws.store.paths.memories / "long.md").write_text("words " * 1_000)
    monkeypatch.setattr(export_format, "MAX_FILE_BYTES", 2_000)
    assert export.export(ws, tmp_path / "x.json").left == ("memories/long.md",)


def test_export_works_with_fsync(ws: Workspace, tmp_path: Path) -> None:
    save.save(ws, OTTER)
    ws.settings = replace(ws.settings, fsync=True)
    assert export.export(ws, tmp_path / "folder").notes == 1
    assert export.export(ws, tmp_path / "x.json").notes == 1


def test_a_path_within_a_file_is_refused_and_the_others_come(ws: Workspace, tmp_path: Path) -> None:
    texts = {"memories/a.md": OTTER, "memories/a.md/b.md": "---\ntitle: [half\n---\n", "memories/c.md": "Gates open."}
    packed = [{"path": path, "modified": 1, "text": text} for path, text in texts.items()]
    result = bring(ws, wrap(tmp_path, header(), *packed))
    assert [each.outcome for each in result.files] == ["created", "refused", "created"]
