"""The picture is well-formed whatever titles say, the same each time, and bounded."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.memory import CONTRADICTS, EDGE_KINDS, SAME_TOPIC, SUPERSEDES, Edge
from memem.pages.picture import MOST_PROJECTS, Dot, chosen, groups, svg

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</title><script>alert("x")</script><!-- &amp; ]]> \x00\u202e'


def edge(source: str, target: str, kind: str = SAME_TOPIC) -> Edge:
    return Edge(source, target, kind, 0.5, "meaning")


def drawn(dots: list[Dot], edges: list[Edge] | None = None, *, total: int = 0) -> ElementTree.Element:
    places = [(40.0 * number, 25.0 * (number % 3)) for number in range(len(dots))]
    return ElementTree.fromstring(svg(dots, edges or [], places, total=total or len(dots)))  # noqa: S314 - our own


def texts(picture: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in picture.iter(f"{SVG}text")]


@given(st.lists(st.tuples(st.text(), st.text(max_size=60), st.integers(0, 30)), max_size=8))
def test_any_titles_and_projects_give_well_formed_xml(wanted: list[tuple[str, str, int]]) -> None:
    dots = [Dot(str(number), *each) for number, each in enumerate(wanted)]
    picture = drawn(dots)
    assert len(list(picture.iter(f"{SVG}circle"))) == len(dots)
    assert {each.tag.removeprefix(SVG) for each in picture.iter()} <= {
        "svg",
        "title",
        "style",
        "rect",
        "path",
        "circle",
        "text",
    }


def test_a_hostile_title_is_words() -> None:
    text = svg([Dot("a", HOSTILE, HOSTILE)], [], [(0.0, 0.0)], total=1)
    assert "<script" not in text
    assert "\x00" not in text
    assert "\u202e" not in text
    assert "&lt;script&gt;" in text


def test_the_same_graph_gives_the_same_bytes_in_whatever_order_edges_come() -> None:
    dots = [Dot(name, name, "shop", 2) for name in "abc"]
    edges = [edge("a", "b"), edge("b", "c", SUPERSEDES), edge("a", "c", CONTRADICTS)]
    places = [(0.0, 0.0), (50.0, 0.0), (0.0, 50.0)]
    assert svg(dots, edges, places, total=3) == svg(dots, list(reversed(edges)), places, total=3)


@pytest.mark.parametrize("kind", EDGE_KINDS)
def test_the_legend_names_the_kinds_that_are_there_and_no_other(kind: str) -> None:
    picture = drawn([Dot("a", "One", "shop"), Dot("b", "Two", "shop")], [edge("a", "b", kind)])
    names = {"about the same", "bears out", "rests on", "replaces", "contradicts"}
    assert len(names & set(texts(picture))) == 1
    assert (
        len([each for each in picture.iter(f"{SVG}path") if each.get("class") == kind]) == 2
    )  # in the graph and below


def test_what_replaces_another_points_to_it() -> None:
    tips = [
        each.get("d", "")
        for each in drawn([Dot("a", "New", "p"), Dot("b", "Old", "p")], [edge("a", "b", SUPERSEDES)]).iter(f"{SVG}path")
        if each.get("class") == "supersedes-tip"
    ]
    assert len(tips) == 2
    numbers = list(map(float, re.findall(r"-?[\d.]+", tips[0])))
    assert max(numbers[2], numbers[4]) < numbers[0]  # the old one lies to the right, and so does the point


def test_links_between_projects_are_fainter() -> None:
    picture = drawn([Dot("a", "One", "shop"), Dot("b", "Two", "garage")], [edge("a", "b")])
    assert [each.get("class") for each in picture.iter(f"{SVG}path")][2] == "same_topic far"


def test_what_no_longer_holds_is_hollow_and_has_no_label() -> None:
    picture = drawn([Dot("a", "Now", "p"), Dot("b", "Then", "p", in_force=False)])
    assert [each.get("class") for each in picture.iter(f"{SVG}circle")] == ["c0", "h0"]
    assert "Now" in texts(picture)
    assert "Then" not in texts(picture)
    assert any("hollow" in text for text in texts(picture))


def test_it_says_how_many_were_left_out() -> None:
    dots = [Dot("a", "One", "p")]
    assert "1 memory · 0 links · 1 project" in texts(drawn(dots))
    assert any(
        "1 memory of 1,200, the most linked of the largest projects" in text for text in texts(drawn(dots, total=1_200))
    )


def test_a_project_has_a_name_a_ground_and_a_colour_of_its_own() -> None:
    picture = drawn([Dot("a", "One", "shop"), Dot("b", "Two", "garage")])
    assert {"shop", "garage"} <= set(texts(picture))
    assert [each.get("class") for each in picture.iter(f"{SVG}path")] == ["ground g0", "ground g1"]
    assert {each.get("class") for each in picture.iter(f"{SVG}circle")} == {"c0", "c1"}


def test_a_dot_grows_with_its_links_and_its_importance() -> None:
    sizes = [Dot("a", "", "p", degree, importance).radius for degree, importance in ((0, 1), (0, 3), (4, 3), (9, 5))]
    assert sizes == sorted(set(sizes))
    assert Dot("a", "", "p", 10_000, 5).radius == 13.0


def test_of_too_many_the_most_linked_of_each_project_are_chosen() -> None:
    large = [Dot(f"l{number}", "", "large", number) for number in range(50)]
    small = [Dot(f"s{number}", "", "small", 0) for number in range(2)]
    assert [dot.id for dot in chosen([*large, *small], 5)] == ["l49", "s0", "l48", "s1", "l47"]
    assert len(chosen([*large, *small], 1_000)) == 52


def test_of_too_many_projects_the_largest_are_chosen() -> None:
    dots = [Dot(f"{project}-{number}", "", f"p{project}") for project in range(60) for number in range(project % 7 + 1)]
    shown = groups(chosen(dots, 1_000))
    assert len(shown) == MOST_PROJECTS
    assert min(map(len, shown.values())) == 3


def test_projects_come_by_size_and_their_dots_by_links() -> None:
    dots = [Dot("a", "", "small", 9), Dot("b", "", "large", 1), Dot("c", "", "large", 2)]
    assert groups(dots) == {"large": [2, 1], "small": [0]}


def test_nothing_can_be_drawn_too() -> None:
    assert "0 memories · 0 links · 0 projects" in texts(drawn([]))
