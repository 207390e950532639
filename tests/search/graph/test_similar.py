"""Edges between similar notes."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memem.search.encoders.interface import Vectors
from memem.search.graph import similar
from memem.search.graph.rules import Clusters, Pair
from tests.builders import examples

NOWHERE = "general"
LEAST, MOST = 0.5, 3


def unit(rows: NDArray[Any]) -> Vectors:
    return np.ascontiguousarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def scattered(count: int, seed: int, *, topics: int = 4, spread: float = 0.25, dimensions: int = 12) -> Vectors:
    """Vectors around a few directions."""
    random = np.random.default_rng(seed)
    middle = unit(random.standard_normal((topics, dimensions)))
    return unit(middle[random.integers(0, topics, count)] + spread * random.standard_normal((count, dimensions)))


def clusters(count: int, pairs: list[tuple[int, int]]) -> list[int]:
    found = Clusters(count)
    for one, other in pairs:
        found.join(one, other)
    return [found.of(place) for place in range(count)]


def ends(pairs: list[Pair]) -> list[tuple[int, int]]:
    return [(one, other) for one, other, _ in pairs]


def list_similar(vectors: Vectors, projects: list[str]) -> list[tuple[int, int]]:
    """All pairs of a project above the line, one by one."""
    cosines = vectors @ vectors.T
    count = range(len(vectors))
    return [(i, j) for j in count for i in range(j) if projects[i] == projects[j] and cosines[i, j] >= LEAST]


@settings(max_examples=examples(40))
@given(st.integers(0, 10_000), st.integers(2, 2 * MOST + 1), st.integers(1, 3))
def test_similar_notes_of_a_project_stay_connected(seed: int, count: int, projects: int) -> None:
    vectors = scattered(count, seed)
    names = [f"p{number % projects}" for number in range(count)]
    kept = similar.link_similar_notes(vectors, names, NOWHERE, LEAST, MOST)
    assert clusters(count, ends(kept)) == clusters(count, list_similar(vectors, names))


@settings(max_examples=examples(40))
@given(st.integers(0, 10_000), st.integers(2, 60))
def test_links_join_similar_notes_with_their_cosine(seed: int, count: int) -> None:
    vectors = scattered(count, seed)
    kept = similar.link_similar_notes(vectors, ["p"] * count, NOWHERE, LEAST, MOST)
    assert len(set(ends(kept))) == len(kept)
    for one, other, score in kept:
        assert one < other
        assert score == pytest.approx(float(vectors[one] @ vectors[other]), abs=1e-3)
        assert score >= LEAST - 1e-3


def test_dense_notes_reach_the_maximum_degree() -> None:
    vectors = scattered(60, 1, topics=1, spread=0.1)
    degrees = Counter(
        end for pair in ends(similar.link_similar_notes(vectors, ["p"] * 60, NOWHERE, LEAST, MOST)) for end in pair
    )
    assert len(degrees) == 60
    assert sum(count <= MOST for count in degrees.values()) >= 50


def test_projects_are_not_linked_with_each_other() -> None:
    vectors = scattered(40, 5, topics=1)
    names = ["shop", "ledger"] * 20
    assert all(
        names[one] == names[other]
        for one, other in ends(similar.link_similar_notes(vectors, names, NOWHERE, LEAST, MOST))
    )


def test_general_notes_are_linked_with_any_project() -> None:
    vectors = scattered(6, 5, topics=1, spread=0.01)
    names = ["shop", "ledger", NOWHERE, "shop", "ledger", NOWHERE]
    kept = ends(similar.link_similar_notes(vectors, names, NOWHERE, LEAST, MOST))
    across = [pair for pair in kept if names[pair[0]] != names[pair[1]]]
    assert across
    assert all(NOWHERE in (names[one], names[other]) for one, other in across)
    assert max(Counter(end for pair in kept for end in pair).values()) <= MOST


def test_block_size_does_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, names = scattered(50, 9), ["p"] * 50
    whole = similar.link_similar_notes(vectors, names, NOWHERE, LEAST, MOST)
    monkeypatch.setattr(similar, "BLOCK_ROWS", 7)
    assert ends(similar.link_similar_notes(vectors, names, NOWHERE, LEAST, MOST)) == ends(whole)


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_to_compare_gives_no_links(count: int) -> None:
    assert similar.link_similar_notes(scattered(4, 1)[:count], ["p"] * count, NOWHERE, LEAST, MOST) == []
