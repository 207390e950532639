"""Copies that a sync service made are reported and never recalled as memories of their own."""

import os
from pathlib import Path

import pytest

from memem.notes import forget, review, save, write
from memem.notes.write import Written
from memem.pages import refresh as pages_refresh
from memem.search import find, refresh
from memem.upkeep import doctor, status
from memem.upkeep.status import Finding
from memem.workspace import Workspace
from tests.vault.test_copies import NAMES

FACT, OTHER = "Walruses sleep on the beach.", "Walruses sleep in the pool."
SERVICES = ("conflicted copy", "sync-conflict", "(1)", " 2", "-LAPTOP")
ENDINGS = [name.removeprefix("tokens-3f2c9a1e").removesuffix(".md") for name, service in NAMES.items() if service]


@pytest.fixture
def saved(ws: Workspace) -> Written:
    return save.save(ws, FACT, title="Walrus", project="zoo")


def copied(ws: Workspace, path: str, ending: str, old: str = FACT, new: str = OTHER) -> Path:
    """Create a sync service's copy of a file: the other machine's version."""
    original = ws.store.absolute(path)
    copy = original.with_name(f"{original.stem}{ending}{original.suffix}")
    copy.write_bytes(original.read_bytes().replace(old.encode(), new.encode()))
    refresh.refresh(ws)
    return copy


def of(ws: Workspace, path: Path) -> list[Finding]:
    return [each for each in status.check(ws) if each.path == path.relative_to(ws.store.paths.ours).as_posix()]


def statements(ws: Workspace) -> list[str]:
    return [hit.memory.body for hit in find.search(ws, "walruses sleep", limit=10)]


@pytest.mark.slow(keep=3)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_copy_is_reported_and_the_original_alone_is_recalled(ws: Workspace, saved: Written, ending: str) -> None:
    copy = copied(ws, saved.path, ending)
    before = copy.read_bytes()
    assert statements(ws) == [FACT]
    (finding,) = of(ws, copy)
    assert finding.serious
    assert f"made of {saved.path} when two machines changed it" in finding.problem
    assert "1 line is only in this file, and 1 is only in the original." in finding.advice
    assert "Run `memem index check` to list them." in [each.fix for each in doctor.diagnose(ws) if each.what == "notes"]
    assert copy.read_bytes() == before


def test_a_note_with_a_copy_can_be_edited_by_its_id(ws: Workspace, saved: Written) -> None:
    copied(ws, saved.path, " 2")
    assert write.edit(ws, saved.memory.id, importance=5).outcome == "edited"


def test_the_advice_names_the_newer_file(ws: Workspace, saved: Written) -> None:
    copy = copied(ws, saved.path, " 2")
    os.utime(copy, (1, 1))
    assert of(ws, copy)[0].advice.startswith("The original is newer.")
    os.utime(ws.store.absolute(saved.path), (0, 0))
    assert of(ws, copy)[0].advice.startswith("This file is newer.")


def test_a_copy_whose_original_was_deleted_is_the_note(ws: Workspace, saved: Written) -> None:
    copy = copied(ws, saved.path, " (conflicted copy 2026-01-02)")
    ws.store.absolute(saved.path).unlink()
    refresh.refresh(ws)
    assert statements(ws) == [OTHER]
    assert of(ws, copy) == []
    assert not ws.home.vanished_file.exists()


def test_a_copy_is_reported_once_its_original_arrives(ws: Workspace, saved: Written) -> None:
    copy = copied(ws, saved.path, ".sync-conflict-20260102-101112-ABCDEFG")
    original = ws.store.absolute(saved.path)
    data = original.read_bytes()
    original.unlink()
    refresh.refresh(ws)
    original.write_bytes(data)
    refresh.refresh(ws)
    assert statements(ws) == [FACT]
    assert of(ws, copy)


def test_a_copy_does_not_bring_back_what_was_forgotten(ws: Workspace, saved: Written) -> None:
    copy = copied(ws, saved.path, " (conflicted copy 2026-01-02)")
    forget.forget(ws, saved.memory.id)
    refresh.refresh(ws)
    assert statements(ws) == []
    assert "which was forgotten" in of(ws, copy)[0].problem
    copy.rename(copy.with_name("back.md"))
    refresh.refresh(ws)
    assert statements(ws) == [OTHER]


def test_a_file_of_such_a_name_that_is_another_memory_is_recalled(ws: Workspace, saved: Written) -> None:
    other = ws.store.absolute(saved.path).with_name(f"{Path(saved.path).stem} 2.md")
    other.write_text("Walruses sleep at noon, I noted.\n")
    refresh.refresh(ws)
    assert len(statements(ws)) == 2


def test_notes_without_ids_are_copies_where_the_name_is_certain(ws: Workspace, saved: Written, memories: Path) -> None:
    for name in ("mine", "mine 2", "mine (conflicted copy 2026-01-02)"):
        (memories / f"{name}.md").write_text(f"Walruses sleep in {len(name)} caves.\n")
    refresh.refresh(ws)
    assert set(statements(ws)) == {FACT, "Walruses sleep in 4 caves.", "Walruses sleep in 6 caves."}


def test_copies_of_pages_and_of_the_marker_are_reported_and_stay(ws: Workspace, saved: Written) -> None:
    pages_refresh.write_pages(ws)
    paths = ws.store.paths
    for path in (paths.home_page, paths.projects / "zoo.md", paths.marker):
        copy = path.with_name(f"{path.stem} (conflicted copy 2026-01-02){path.suffix}")
        copy.write_bytes(path.read_bytes())
        assert [each.serious for each in of(ws, copy)] == [False]
        pages_refresh.write_pages(ws)
        assert copy.exists()


def test_a_proposal_with_a_copy_is_listed_once(ws: Workspace, saved: Written) -> None:
    from memem.core.memory import Memory

    review.propose(ws, Memory("12345678-0000", "Doubt", "Otters may move.", "zoo"), "look")
    (proposal,) = review.proposals(ws)
    copy = copied(ws, proposal.path, " (1)", "Otters", "Seals")
    assert [each.path for each in review.proposals(ws)] == [proposal.path]
    assert status.status(ws).proposals == 1
    assert of(ws, copy)
    assert review.accept(ws, "12345678").outcome == "accepted"


def test_merge_conflict_markers_are_reported(ws: Workspace, saved: Written) -> None:
    note = ws.store.absolute(saved.path)
    text = note.read_text()
    note.write_text(text.replace(FACT, f"<<<<<<< HEAD\n{FACT}\n=======\n{OTHER}\n>>>>>>> laptop"))
    refresh.refresh(ws)
    assert "unfinished git merge" in of(ws, note)[0].problem
    note.write_text(text.replace("project: zoo", "<<<<<<< HEAD\nproject: zoo\n=======\nproject: sea\n>>>>>>> laptop"))
    refresh.refresh(ws)
    assert statements(ws) == []
    assert "unfinished git merge" in of(ws, note)[0].problem
