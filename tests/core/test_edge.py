"""What an edge between two memories is follows from what they are."""

import pytest

from memem.core.memory import KINDS, MEANING, MUTUAL, Edge, Memory, compared, edge


def memory(identity: str, kind: str) -> Memory:
    return Memory(identity, "A title", "A statement.", kind=kind)


@pytest.mark.parametrize("known", ["fact", "lesson"])
@pytest.mark.parametrize("ruled", ["decision", "convention"])
def test_what_is_known_supports_what_was_decided_whichever_comes_first(known: str, ruled: str) -> None:
    one, other = memory("b", known), memory("a", ruled)
    wanted = Edge("b", "a", "supports", 0.7, MEANING)
    assert compared(one, other, 0.7, MEANING) == compared(other, one, 0.7, MEANING) == wanted


@pytest.mark.parametrize("ground", ["decision", "convention", "fact"])
def test_a_procedure_depends_on_what_it_rests_on(ground: str) -> None:
    one, other = memory("b", "procedure"), memory("a", ground)
    wanted = Edge("b", "a", "depends_on", 0.7, MEANING)
    assert compared(one, other, 0.7, MEANING) == compared(other, one, 0.7, MEANING) == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_two_of_one_kind_are_of_one_topic(kind: str) -> None:
    assert compared(memory("b", kind), memory("a", kind), 0.7, MEANING) == Edge("a", "b", "same_topic", 0.7, MEANING)


@pytest.mark.parametrize("kind", MUTUAL)
def test_what_holds_both_ways_is_one_edge_whichever_way_it_is_told(kind: str) -> None:
    assert edge("a", "b", kind, 0.5, "link") == edge("b", "a", kind, 0.5, "link")


def test_what_leads_one_way_is_two_edges() -> None:
    assert edge("a", "b", "supersedes", 1, "link") != edge("b", "a", "supersedes", 1, "link")
