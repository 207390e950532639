"""The audit lists faults of the graph, and repairs links in memem's own notes as a batch that can be undone."""

from typing import Any

import pytest

from memem.core.memory import Edge, Entry
from memem.notes import forget, undo, write
from memem.search import find, refresh
from memem.search.graph import build, read
from memem.upkeep import graph_audit
from memem.upkeep.graph_audit import HUB_DEGREE, Flaw
from memem.workspace import Workspace
from tests.builders import keep_note

GONE = "[[gone-00000099]]"


def flaws(ws: Workspace, problem: str) -> list[Flaw]:
    return [flaw for flaw in graph_audit.audit(ws).flaws if flaw.problem == problem]


def superseded(ws: Workspace) -> tuple[Entry, Entry]:
    """An old memory and the one that holds now, twice removed."""
    old, middle, new = keep_note(ws, 1), keep_note(ws, 2), keep_note(ws, 3)
    for earlier, later in ((old, middle), (middle, new)):
        write.revise(ws, earlier.id, superseded_by=later.link, status="deprecated")
    return old, new


# --- what is found ------------------------------------------------------------------------------------------------


def test_a_memory_without_any_edge_is_an_orphan(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    keep_note(ws, 2, f"See {one.link}.")
    alone = keep_note(ws, 3)
    (flaw,) = flaws(ws, "orphan")
    assert (flaw.id, flaw.path, flaw.title) == (alone.id, alone.path, "Note 3")
    assert f"`memem forget {alone.memory.id8}`" in flaw.fix


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"related": (GONE,)}, "`related`"),
        ({"supersedes": GONE}, "`supersedes`"),
        ({"body": f"See {GONE}."}, "its text"),
    ],
)
def test_dead_link_is_reported_with_its_property(ws: Workspace, more: dict[str, Any], where: str) -> None:
    keep_note(ws, 1, **more)
    (flaw,) = flaws(ws, "dead_link")
    assert flaw.detail == f"links in {where} to {GONE}, but there is no such note"


def test_a_link_to_a_page_of_the_persons_own_is_not_dead(ws: Workspace) -> None:
    keep_note(ws, 1, "See [[Diary]].")
    (ws.settings.vault / "Diary.md").write_text("Mine.")
    assert flaws(ws, "dead_link") == []


def test_a_memory_that_everything_leads_to_is_a_hub(ws: Workspace) -> None:
    hub = keep_note(ws, 1)
    for number in range(2, HUB_DEGREE + 3):
        keep_note(ws, number, f"Statement {number}, see {hub.link}.")
    (flaw,) = flaws(ws, "hub")
    assert (flaw.id, flaw.detail) == (
        hub.id,
        f"has {HUB_DEGREE + 1} edges, {HUB_DEGREE + 1} of them from links in notes",
    )


@pytest.mark.parametrize(("name", "where"), [("related", "`related`"), ("body", "its text")])
def test_link_to_a_superseded_note_names_the_successor(ws: Workspace, name: str, where: str) -> None:
    old, new = superseded(ws)
    keep_note(ws, 4, **({"related": (old.link,)} if name == "related" else {"body": f"See {old.link}."}))
    (flaw,) = flaws(ws, "stale_edge")
    assert flaw.detail == f"links in {where} to {old.link}, which is superseded by [[note-2-00000002]]"
    assert new.link in flaw.fix


def test_link_to_a_stale_note_has_no_successor(ws: Workspace) -> None:
    old = keep_note(ws, 1)
    keep_note(ws, 2, related=(old.link,))
    write.revise(ws, old.id, status="stale")
    (flaw,) = flaws(ws, "stale_edge")
    assert (flaw.detail, flaw.mendable) == (f"links in `related` to {old.link}, which is stale", False)


def test_computed_edge_of_an_outdated_note_needs_a_rebuild(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    old, other = keep_note(ws, 1), keep_note(ws, 2)
    build.rebuild(ws)
    ws.index.edges.replace([Edge(old.id, other.id, "same_topic", 0.6, "meaning")], {})
    monkeypatch.setattr(build, "MAX_INTERACTIVE_NOTES", 0)
    write.edit(ws, old.id, status="deprecated")
    (flaw,) = flaws(ws, "stale_edge")
    assert (flaw.id, flaw.fix) == (old.id, "Run `memem graph rebuild`.")


def test_supersession_and_contradiction_links_are_fine(ws: Workspace) -> None:
    old = keep_note(ws, 1)
    new = keep_note(ws, 2, supersedes=old.link, contradicts=(old.link,))
    write.revise(ws, old.id, superseded_by=new.link, status="deprecated")
    assert graph_audit.audit(ws).flaws == ()


def test_the_counts_name_every_kind_of_flaw_and_the_numbers_come_along(ws: Workspace) -> None:
    keep_note(ws, 1, related=(GONE,))
    found = graph_audit.audit(ws)
    assert found.counts == {"orphan": 1, "dead_link": 1, "hub": 0, "stale_edge": 0}
    assert found.stats == read.compute_stats(ws)
    assert (found.mended, found.batch) == ((), "")


# --- what is mended -----------------------------------------------------------------------------------------------


def related(ws: Workspace, entry: Entry) -> tuple[str, ...]:
    return find.get(ws, entry.id).memory.related


def test_a_dead_link_of_a_machines_note_is_dropped_and_an_undo_brings_it_back(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    two = keep_note(ws, 2, related=(GONE, one.link), contradicts=(GONE,))
    before = ws.store.absolute(two.path).read_bytes()
    done = graph_audit.audit(ws, fix=True)
    assert [flaw.detail for flaw in done.mended] == [
        f"links in `{name}` to {GONE}, but there is no such note" for name in ("related", "contradicts")
    ]
    assert (related(ws, two), done.counts["dead_link"]) == ((one.link,), 0)
    assert undo.undo(ws, done.batch).restored == (two.path,)
    assert ws.store.absolute(two.path).read_bytes() == before


def test_fix_replaces_a_superseded_target_by_its_successor(ws: Workspace) -> None:
    old, new = superseded(ws)
    two = keep_note(ws, 4, related=(old.link, new.link))
    done = graph_audit.audit(ws, fix=True)
    assert len(done.mended) == 1
    assert (related(ws, two), done.counts["stale_edge"]) == ((new.link,), 0)


def test_a_successor_does_not_come_to_link_to_itself(ws: Workspace) -> None:
    old, new = superseded(ws)
    write.revise(ws, new.id, related=(old.link,))
    assert graph_audit.audit(ws, fix=True).mended == ()
    assert related(ws, new) == (old.link,)


@pytest.mark.parametrize(
    ("more", "touched"),
    [
        ({"related": (GONE,), "author": "human"}, False),
        ({"related": (GONE,)}, True),
        ({"superseded_by": GONE}, False),
        ({"body": f"See {GONE}."}, False),
    ],
    ids=["a person's", "touched by one", "history", "its text"],
)
def test_fix_leaves_a_persons_notes_and_history(ws: Workspace, more: dict[str, Any], touched: bool) -> None:
    path = ws.store.absolute(keep_note(ws, 1, **more).path)
    if touched:
        path.write_text(path.read_text().replace("Statement", "My statement"))
        refresh.refresh(ws)
    before = path.read_bytes()
    done = graph_audit.audit(ws, fix=True)
    assert (done.mended, done.batch, done.counts["dead_link"]) == ((), "", 1)
    assert not any(flaw.mendable for flaw in done.flaws)
    assert path.read_bytes() == before


def test_a_mended_graph_has_nothing_left_to_mend(ws: Workspace) -> None:
    old = keep_note(ws, 1)
    keep_note(ws, 2, related=(old.link, GONE))
    forget.forget(ws, old.id)
    assert len(graph_audit.audit(ws, fix=True).mended) == 2
    again = graph_audit.audit(ws, fix=True)
    assert (again.mended, again.batch) == ((), "")
