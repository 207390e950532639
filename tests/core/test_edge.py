"""The kind of an edge follows from the kinds of its memories."""

import pytest

from memem.core.memory import KINDS, MEANING, MUTUAL, Edge, Memory, edge, relate_similar


def memory(identity: str, kind: str) -> Memory:
    return Memory(identity, "A title", "A statement.", kind=kind)


@pytest.mark.parametrize("known", ["fact", "lesson"])
@pytest.mark.parametrize("ruled", ["decision", "convention"])
def test_fact_supports_a_decision_in_either_order(known: str, ruled: str) -> None:
    one, other = memory("b", known), memory("a", ruled)
    wanted = Edge("b", "a", "supports", 0.7, MEANING)
    assert relate_similar(one, other, 0.7, MEANING) == relate_similar(other, one, 0.7, MEANING) == wanted


@pytest.mark.parametrize("ground", ["decision", "convention", "fact"])
def test_procedure_depends_on_its_grounds(ground: str) -> None:
    one, other = memory("b", "procedure"), memory("a", ground)
    wanted = Edge("b", "a", "depends_on", 0.7, MEANING)
    assert relate_similar(one, other, 0.7, MEANING) == relate_similar(other, one, 0.7, MEANING) == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_two_of_one_kind_are_of_one_topic(kind: str) -> None:
    assert relate_similar(memory("b", kind), memory("a", kind), 0.7, MEANING) == Edge(
        "a", "b", "same_topic", 0.7, MEANING
    )


@pytest.mark.parametrize("kind", MUTUAL)
def test_mutual_edge_is_the_same_in_either_order(kind: str) -> None:
    assert edge("a", "b", kind, 0.5, "link") == edge("b", "a", kind, 0.5, "link")


def test_directed_edges_differ_by_direction() -> None:
    assert edge("a", "b", "supersedes", 1, "link") != edge("b", "a", "supersedes", 1, "link")
