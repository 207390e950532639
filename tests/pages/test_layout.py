"""Dots have places of their own, projects lie apart, and nothing of it is left to chance."""

from itertools import combinations
from math import dist

from hypothesis import given, settings
from hypothesis import strategies as st

from memem.pages import labels as module
from memem.pages.labels import GAP, Link
from tests.builders import examples

NAME = (60.0, 24.0)

graphs = st.integers(1, 30).flatmap(
    lambda count: st.tuples(
        st.lists(st.integers(0, 4), min_size=count, max_size=count),
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1), st.floats(0.1, 1)), max_size=60),
        st.lists(st.floats(2, 13), min_size=count, max_size=count),
    )
)


def layout(groups: list[list[int]], links: list[Link], sizes: list[float]) -> list[tuple[float, float]]:
    return module.layout(groups, links, sizes, [NAME] * len(groups))


def grouped(homes: list[int]) -> list[list[int]]:
    return [[dot for dot, at in enumerate(homes) if at == home] for home in sorted(set(homes))]


@settings(max_examples=examples(15))
@given(graphs)
def test_no_dot_lies_on_another_and_it_is_the_same_each_time(graph: tuple[list[int], list[Link], list[float]]) -> None:
    homes, wanted, sizes = graph
    links = [link for link in wanted if link[0] != link[1]]
    places = layout(grouped(homes), links, sizes)
    assert places == layout(grouped(homes), links, sizes)
    for one, other in combinations(range(len(sizes)), 2):
        assert dist(places[one], places[other]) > sizes[one] + sizes[other] + GAP / 3


def test_projects_lie_apart() -> None:
    homes = [number % 3 for number in range(60)]
    links = [(number, number + 3, 0.8) for number in range(57)] + [(0, 1, 0.5), (4, 2, 0.5)]
    places = layout(grouped(homes), links, [5.0] * 60)
    middles = [
        [sum(axis) / 20 for axis in zip(*(places[dot] for dot in group), strict=True)] for group in grouped(homes)
    ]
    reach = [max(dist(places[dot], middles[at]) for dot in group) for at, group in enumerate(grouped(homes))]
    for dot, home in enumerate(homes):
        nearest = min(range(3), key=lambda at: dist(places[dot], middles[at]))
        assert nearest == home or dist(places[dot], middles[home]) < reach[home]
    boxes = [
        [(min(axis), max(axis)) for axis in zip(*(places[dot] for dot in group), strict=True)]
        for group in grouped(homes)
    ]
    assert all(
        any(one[axis][1] < other[axis][0] or other[axis][1] < one[axis][0] for axis in (0, 1))
        or min(dist(places[a], places[b]) for a in grouped(homes)[i] for b in grouped(homes)[j]) > 50
        for (i, one), (j, other) in combinations(enumerate(boxes), 2)
    )


@settings(max_examples=examples(15))
@given(st.lists(st.tuples(st.integers(1, 5), st.floats(5, 300)), min_size=1, max_size=12), st.integers(0, 40))
def test_there_is_room_for_the_name_of_every_project(wanted: list[tuple[int, float]], linked: int) -> None:
    homes = [home for home, (count, _) in enumerate(wanted) for _ in range(count)]
    names = [(width, 24.0) for _, width in wanted]
    ends = [(number % len(homes), (number * 7 + 1) % len(homes)) for number in range(linked)]
    links = [(one, other, 0.5) for one, other in ends if one != other]
    places = module.layout(grouped(homes), links, [4.0] * len(homes), names)
    boxes = []
    for group, (width, height) in zip(grouped(homes), names, strict=True):
        across = [places[dot][0] for dot in group]
        middle, top = (min(across) + max(across)) / 2, min(places[dot][1] for dot in group) - 4
        boxes.append((middle - width / 2, top - height, middle + width / 2, top))
    for one, other in combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def test_what_is_linked_lies_closer() -> None:
    links = [(0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0), (3, 4, 1.0), (4, 5, 1.0), (3, 5, 1.0)]
    places = layout([list(range(6))], links, [3.0] * 6)
    within = max(dist(places[one], places[other]) for one, other, _ in links)
    across = min(dist(places[one], places[other]) for one in (0, 1, 2) for other in (3, 4, 5))
    assert within < across


def test_one_dot_and_none_have_their_place_too() -> None:
    assert layout([], [], []) == []
    assert layout([[0]], [], [4.0]) == [(0.0, 0.0)]
