"""Which of many links stay: a spanning forest first, then the strongest."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from memem.search.graph.rules import Clusters, Pair, build_forest, fill_degrees

PAIRS = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.integers(1, 99)), max_size=60)


def ordered(drawn: list[tuple[int, int, int]]) -> list[Pair]:
    """Each pair once, the strongest first."""
    found = {(min(one, other), max(one, other)): score / 100 for one, other, score in drawn if one != other}
    return sorted(((*pair, score) for pair, score in found.items()), key=lambda pair: (-pair[2], pair))


def clusters(pairs: list[Pair]) -> list[int]:
    found = Clusters(12)
    for one, other, _ in pairs:
        found.join(one, other)
    return [found.of(place) for place in range(12)]


@given(PAIRS)
def test_forest_connects_with_the_fewest_links(drawn: list[tuple[int, int, int]]) -> None:
    pairs = ordered(drawn)
    kept = build_forest(pairs, Clusters(12))
    assert clusters(kept) == clusters(pairs)
    assert len(kept) == 12 - len(set(clusters(pairs)))


def test_weakest_link_of_a_cycle_is_dropped() -> None:
    circle = [(0, 1, 0.9), (1, 2, 0.8), (0, 2, 0.7)]
    assert build_forest(circle, Clusters(3)) == circle[:2]


@given(PAIRS, st.integers(1, 4))
def test_filling_respects_the_maximum_degree(drawn: list[tuple[int, int, int]], most: int) -> None:
    pairs = ordered(drawn)
    trunk = build_forest(pairs, Clusters(12))
    degrees = [0] * 12
    kept = list(fill_degrees(trunk, pairs, degrees, most))
    assert kept[: len(trunk)] == trunk
    assert len(set(kept)) == len(kept)
    before = Counter(end for one, other, _ in trunk for end in (one, other))
    after = Counter(end for one, other, _ in kept for end in (one, other))
    assert degrees == [after[place] for place in range(12)]
    assert all(after[place] <= max(most, before[place]) for place in range(12))


@given(PAIRS)
def test_only_links_at_full_notes_are_left_out(drawn: list[tuple[int, int, int]]) -> None:
    degrees = [0] * 12
    pairs = ordered(drawn)
    kept = set(fill_degrees((), pairs, degrees, 2))
    assert all(
        degrees[one] >= 2 or degrees[other] >= 2 for one, other, score in pairs if (one, other, score) not in kept
    )
