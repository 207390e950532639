"""Words in the picture: anything that anybody may have typed, cut and set so that nothing stands on anything else."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from memem.pages import labels as pages_labels
from memem.pages.labels import Box, cut, escaped, set_beside, width_of

FRAME = (0.0, 0.0, 400.0, 300.0)
places = st.tuples(st.floats(0, 400), st.floats(0, 300))


def meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@given(st.text(), st.integers(2, 40))
def test_any_text_is_one_short_line_of_xml(text: str, most: int) -> None:
    shown = cut(text, most)
    assert len(shown) <= most
    assert shown == " ".join(shown.split())
    assert ElementTree.fromstring(f'<a b="{escaped(shown)}">{escaped(shown)}</a>').text == (shown or None)  # noqa: S314 - our own


def test_what_cannot_be_seen_is_left_out() -> None:
    assert cut("a\x00b\u202ec\ud800d\ufffe\x1b[1m\te\nf", 40) == "abcd[1m e f"


def test_a_longer_text_and_wider_letters_take_more_room() -> None:
    assert width_of("ab", 10) < width_of("abc", 10) < width_of("ABC", 10) < width_of("数据库", 10)


@given(st.lists(st.tuples(st.text("abcdefghij ", min_size=1, max_size=30), places), max_size=25), places)
def test_no_label_stands_on_another_or_outside_and_none_but_the_first_on_a_dot(
    wanted: list[tuple[str, tuple[float, float]]], at: Box
) -> None:
    dots = [place for _, place in wanted]
    taken = (at[0], at[1], at[0] + 60, at[1] + 12)
    labels = set_beside([title for title, _ in wanted], dots, [4.0] * len(dots), FRAME, [taken])
    boxes = [label.box for _, label in labels]
    circles = [(x - 4, y - 4, x + 4, y + 4) for x, y in dots]
    for number, box in enumerate(boxes):
        assert (min(FRAME[0], box[0]), min(FRAME[1], box[1])) == FRAME[:2]
        assert (max(FRAME[2], box[2]), max(FRAME[3], box[3])) == FRAME[2:]
        assert not any(meet(box, other) for other in (*boxes[:number], taken))
        assert labels[number][0] < pages_labels.FIRST or not any(meet(box, dot) for dot in circles)


def test_the_first_titles_have_the_choice_and_there_are_only_so_many() -> None:
    spots = [(20.0 + 190 * (number % 2), 12.0 + 30 * (number // 2)) for number in range(18)]
    titles = [f"title {number}" for number in range(18)]
    found = set_beside(titles, spots, [3.0] * 18, FRAME, [])
    assert [number for number, _ in found][:3] == [0, 1, 2]
    assert len(set_beside(["a"] * 200, [(200.0, 150.0)] * 200, [0.0] * 200, FRAME, [])) < pages_labels.MOST_LABELS


def test_the_first_have_a_label_where_it_covers_the_fewest_dots() -> None:
    crowd = [(200.0 + 7 * column, 150.0 + 7 * row) for row in range(-6, 7) for column in range(-20, 21)]
    spots = sorted(crowd, key=lambda place: (place[0] - 200) ** 2 + (place[1] - 150) ** 2)
    found = set_beside([f"title {number}" for number in range(len(spots))], spots, [3.0] * len(spots), FRAME, [])
    assert found[0][0] == 0
    assert all(number < pages_labels.FIRST or not 165 < label.y < 195 for number, label in found)


def test_an_empty_title_has_no_label() -> None:
    assert set_beside(["", " \n"], [(50.0, 50.0), (50.0, 90.0)], [3.0, 3.0], FRAME, []) == []
