"""Charts: what they show, where things stand, and that they are always the same."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from bench.plots import QUIET, STYLES, Axis, Mark, Panel, Series, svg

SVG = "{http://www.w3.org/2000/svg}"
ACROSS, UP = Axis("places", 1, 5, 1), Axis("share", 0.5, 1, 0.1, percent=True)
FOUND = Series("found <all>", ((1, 0.5), (3, 0.75), (5, 1.0)))
OTHER = Series("other", ((1, 0.6), (5, 0.9)))
PANEL = Panel(ACROSS, UP, (FOUND, OTHER), "one heading")


def drawn(*panels: Panel) -> ElementTree.Element:
    return ElementTree.fromstring(svg("Recall & co", panels))  # noqa: S314 - made here


def texts(chart: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in chart.iter(f"{SVG}text")]


def points(chart: ElementTree.Element, colour: str) -> list[tuple[float, float]]:
    """Return the points of the last line in this colour; the first is in the legend."""
    lines = [each for each in chart.iter(f"{SVG}polyline") if each.get("stroke") == colour]
    pairs = [pair.split(",") for pair in lines[-1].get("points", "").split()]
    return [(float(x), float(y)) for x, y in pairs]


def test_a_chart_shows_its_title_names_labels_and_ticks() -> None:
    shown = texts(drawn(PANEL))
    assert shown[:3] == ["Recall & co", "found <all>", "other"]
    assert {"places", "share", "one heading"} <= set(shown)
    assert [each for each in shown if each.isdigit()] == ["1", "2", "3", "4", "5"]
    assert [each for each in shown if each.endswith(" %")] == ["50 %", "60 %", "70 %", "80 %", "90 %", "100 %"]


def test_a_chart_has_an_accessible_name() -> None:
    chart = drawn(PANEL)
    assert (chart.get("role"), chart.findtext(f"{SVG}title")) == ("img", "Recall & co")


def test_the_same_numbers_give_the_same_bytes() -> None:
    assert svg("a", [PANEL]) == svg("a", [PANEL])


def test_points_stand_between_the_axes_in_proportion() -> None:
    (left, bottom), (middle, half), (right, top) = points(drawn(PANEL), STYLES[0][0])
    assert middle == pytest.approx((left + right) / 2, abs=0.1)
    assert half == pytest.approx((top + bottom) / 2, abs=0.1)
    assert left < right
    assert top < bottom


def test_coordinates_are_rounded_so_that_little_changes() -> None:
    third = replace(PANEL, series=(Series("thirds", ((1 + 1 / 3, 2 / 3), (2 + 2 / 3, 2 / 3))),))
    numbers = re.findall(r' (?:points|x|y|cx|cy)="([^"]+)"', svg("a", [third]))
    assert all(re.fullmatch(r"-?\d+(\.\d)?", number) for each in numbers for number in re.split("[ ,]", each))


def test_lines_differ_in_colour_dashes_and_dots() -> None:
    assert [len({style[part] for style in (*STYLES, QUIET)}) for part in range(3)] == [4, 4, 4]


def test_a_quiet_line_has_no_dots() -> None:
    loud = drawn(replace(PANEL, series=(OTHER,)))
    quiet = drawn(replace(PANEL, series=(replace(OTHER, quiet=True),)))
    assert len(list(loud.iter(f"{SVG}circle"))) == 3  # one in the legend
    assert list(quiet.iter(f"{SVG}circle")) == []
    assert points(quiet, QUIET[0]) == points(loud, STYLES[0][0])


def test_a_line_looks_alike_in_every_panel_and_is_named_once() -> None:
    other = replace(PANEL, series=(OTHER,), heading="another")
    chart = drawn(PANEL, other)
    assert texts(chart).count("other") == 1
    colours = [each.get("stroke") for each in chart.iter(f"{SVG}polyline") if each.get("stroke-dasharray")]
    assert set(colours) == {STYLES[1][0]}
    assert len(colours) == 3  # in the legend and in both panels


def test_panels_stand_side_by_side() -> None:
    chart = drawn(PANEL, replace(PANEL, series=(OTHER,)))
    assert points(drawn(PANEL), STYLES[0][0])[-1][0] > points(chart, STYLES[0][0])[-1][0]
    assert points(chart, STYLES[1][0])[0][0] > points(chart, STYLES[0][0])[-1][0]


def test_points_outside_the_axes_are_clipped() -> None:
    chart = drawn(PANEL)
    (group,) = chart.iter(f"{SVG}g")
    (clip,) = chart.iter(f"{SVG}clipPath")
    assert group.get("clip-path") == f"url(#{clip.get('id')})"


@pytest.mark.parametrize(
    ("x", "y", "to_the_right", "above"), [(1.5, 0.9, True, True), (4.5, 0.9, False, True), (1.5, 0.6, True, False)]
)
def test_a_marked_point_has_a_ring_and_its_words_where_there_is_room(
    x: float, y: float, to_the_right: bool, above: bool
) -> None:
    chart = drawn(replace(PANEL, mark=Mark(x, y, "in use")))
    (ring,) = [each for each in chart.iter(f"{SVG}circle") if each.get("fill") == "none"]
    (words,) = [each for each in chart.iter(f"{SVG}text") if each.text == "in use"]
    assert (float(words.get("x", "")) > float(ring.get("cx", ""))) == to_the_right
    assert (float(words.get("y", "")) < float(ring.get("cy", ""))) == above


def test_ticks_reach_the_end_of_an_axis_in_spite_of_rounding() -> None:
    assert Axis("", 0, 0.3, 0.1).ticks() == [0, 0.1, 0.2, 0.3]
    assert Axis("", 0, 0.35, 0.1).ticks() == [0, 0.1, 0.2, 0.3]
