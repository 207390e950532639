"""What the notes say of each other becomes edges: at once for a note that memem writes, and for all by a rebuild."""

from memem.core.memory import Edge
from memem.notes import forget, undo, write
from memem.search import refresh
from memem.search.graph import build, read
from memem.workspace import Workspace
from tests.builders import keep_note


def told(ws: Workspace) -> set[tuple[str, str, str, str]]:
    """The edges, by the numbers of the notes."""
    return {(each.source[7], each.target[7], each.kind, each.origin) for each in read.edges(ws)}


def test_a_link_of_a_note_is_an_edge_as_soon_as_it_is_written(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    keep_note(ws, 2, f"It depends on {one.link}.", related=(one.link,))
    assert told(ws) == {("2", "1", "depends_on", "link")}


def test_reconciling_writes_edges(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    two = keep_note(ws, 2, supersedes=one.link, related=(one.link,))
    write.revise(ws, one.id, superseded_by=two.link, status="deprecated")
    keep_note(ws, 3, contradicts=(two.link,))
    assert told(ws) == {("2", "1", "supersedes", "reconciled"), ("2", "3", "contradicts", "reconciled")}


def test_a_link_that_is_taken_out_is_no_edge_any_more_unless_the_other_note_has_it(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    two = keep_note(ws, 2, related=(one.link,))
    write.revise(ws, one.id, related=(two.link,))
    write.revise(ws, two.id, related=())
    assert told(ws) == {("1", "2", "same_topic", "reconciled")}
    write.revise(ws, one.id, related=())
    assert told(ws) == set()


def test_a_change_that_has_nothing_to_do_with_links_keeps_those_of_others(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    keep_note(ws, 2, f"See {one.link}.")
    write.revise(ws, one.id, importance=5)
    assert told(ws) == {("1", "2", "same_topic", "link")}


def test_the_edges_of_what_is_forgotten_go_and_return_with_a_rebuild_after_an_undo(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    keep_note(ws, 2, f"See {one.link}.")
    forget.forget(ws, one.id)
    assert told(ws) == set()
    undo.undo(ws)
    build.look_at_graph(ws)
    assert told(ws) == {("1", "2", "same_topic", "link")}


def test_a_note_that_a_person_has_renamed_is_led_to_by_its_new_name_and_by_its_id(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    path = ws.store.absolute(one.path)
    path.rename(path.with_name("Tokens.md"))
    refresh.refresh(ws)
    keep_note(ws, 2, "This supports [[Tokens]].")
    keep_note(ws, 3, f"This supports {one.link}.")
    assert told(ws) == {("2", "1", "supports", "link"), ("3", "1", "supports", "link")}
    build.rebuild(ws)
    assert told(ws) == {("2", "1", "supports", "link"), ("3", "1", "supports", "link")}


def test_links_to_nowhere_and_to_itself_are_no_edges(ws: Workspace) -> None:
    one = keep_note(ws, 1, "See [[a page of mine]] and [[nothing-00000009]].")
    write.revise(ws, one.id, related=(one.link,))
    build.rebuild(ws)
    assert told(ws) == set()


def test_what_is_known_to_be_more_is_not_also_of_one_topic() -> None:
    same, more = Edge("a", "b", "same_topic", 1.0, "link"), Edge("b", "a", "depends_on", 1.0, "link")
    assert build.settle_edges([same, more, None]) == [more]


def test_of_two_that_state_the_same_the_stronger_counts() -> None:
    weak, strong = Edge("a", "b", "same_topic", 0.9, "reconciled"), Edge("a", "b", "same_topic", 1.0, "link")
    assert build.settle_edges([weak, strong]) == build.settle_edges([strong, weak]) == [strong]


def test_what_was_written_one_by_one_is_what_a_rebuild_makes_of_it(ws: Workspace) -> None:
    one = keep_note(ws, 1)
    two = keep_note(ws, 2, f"It requires {one.link}.", contradicts=(one.link,))
    keep_note(ws, 3, f"See {one.link}; confirmed by {two.link}.", related=(two.link,))
    before = read.edges(ws)
    build.rebuild(ws)
    assert before == read.edges(ws)
    assert before
