"""Stated links become edges, one note at a time and in a rebuild."""

from memem.core.memory import Edge
from memem.notes import forget, undo, write
from memem.search import refresh
from memem.search.graph import build, read
from memem.workspace import Workspace
from tests.builders import keep_note


def describe(ws: Workspace) -> set[tuple[str, str, str, str]]:
    """The edges, by the numbers of the notes."""
    return {(each.source[7], each.target[7], each.kind, each.origin) for each in read.list_edges(ws)}


def test_writing_a_note_adds_its_edges(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    keep_note(ws, 2, f"It depends on {one.link}.", related=(one.link,))
    assert describe(ws) == {("2", "1", "depends_on", "link")}


def test_reconciling_writes_edges(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    two = keep_note(ws, 2, supersedes=one.link, related=(one.link,))
    write.revise(ws, one.id, superseded_by=two.link, status="deprecated")
    keep_note(ws, 3, contradicts=(two.link,))
    assert describe(ws) == {("2", "1", "supersedes", "reconciled"), ("2", "3", "contradicts", "reconciled")}


def test_removed_link_stays_an_edge_only_if_the_other_note_has_it(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    two = keep_note(ws, 2, related=(one.link,))
    write.revise(ws, one.id, related=(two.link,))
    write.revise(ws, two.id, related=())
    assert describe(ws) == {("1", "2", "same_topic", "reconciled")}
    write.revise(ws, one.id, related=())
    assert describe(ws) == set()


def test_unrelated_change_keeps_edges_of_others(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    keep_note(ws, 2, f"See {one.link}.")
    write.revise(ws, one.id, importance=5)
    assert describe(ws) == {("1", "2", "same_topic", "link")}


def test_forgotten_edges_return_after_undo_and_rebuild(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    keep_note(ws, 2, f"See {one.link}.")
    forget.forget(ws, one.id)
    assert describe(ws) == set()
    undo.undo(ws)
    build.refresh_graph(ws)
    assert describe(ws) == {("1", "2", "same_topic", "link")}


def test_renamed_note_is_found_by_name_and_id(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    path = ws.store.absolute(one.path)
    path.rename(path.with_name("Tokens.md"))
    refresh.refresh(ws)
    keep_note(ws, 2, "This supports [[Tokens]].")
    keep_note(ws, 3, f"This supports {one.link}.")
    assert describe(ws) == {("2", "1", "supports", "link"), ("3", "1", "supports", "link")}
    build.rebuild(ws)
    assert describe(ws) == {("2", "1", "supports", "link"), ("3", "1", "supports", "link")}


def test_dangling_and_self_links_make_no_edges(ws: Workspace) -> None:
    one = keep_note(ws, 1, "See [[a page of mine]] and [[nothing-00000009]].")
    write.revise(ws, one.id, related=(one.link,))
    build.rebuild(ws)
    assert describe(ws) == set()


def test_specific_kind_replaces_same_topic() -> None:
    same, more = Edge("a", "b", "same_topic", 1.0, "link"), Edge("b", "a", "depends_on", 1.0, "link")
    assert build.merge_edges([same, more, None]) == [more]


def test_stronger_of_two_equal_edges_wins() -> None:
    weak, strong = Edge("a", "b", "same_topic", 0.9, "reconciled"), Edge("a", "b", "same_topic", 1.0, "link")
    assert build.merge_edges([weak, strong]) == build.merge_edges([strong, weak]) == [strong]


def test_incremental_edges_equal_a_rebuild(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    two = keep_note(ws, 2, f"It requires {one.link}.", contradicts=(one.link,))
    keep_note(ws, 3, f"See {one.link}; confirmed by {two.link}.", related=(two.link,))
    before = read.list_edges(ws)
    build.rebuild(ws)
    assert before == read.list_edges(ws)
    assert before
