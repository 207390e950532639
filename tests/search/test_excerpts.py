"""The excerpt of a long text: the part with most of the query's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.search.query import Term
from memem.search.transcripts.turns import ELLIPSIS, beginning, excerpt

FILLER = "Nothing of interest is said here, and at some length. " * 40


def find_excerpt(text: str, *terms: str, length: int = 300, weights: tuple[float, ...] = ()) -> str:
    given = weights or (1.0,) * len(terms)
    return excerpt(text, {Term(term): weight for term, weight in zip(terms, given, strict=True)}, length)


def test_a_short_text_is_shown_whole() -> None:
    assert find_excerpt("  The pool is restarted by hand.\n", "pool") == "The pool is restarted by hand."


def test_an_excerpt_surrounds_the_query_terms() -> None:
    shown = find_excerpt(f"{FILLER} The pool is restarted by hand. {FILLER}", "pool")
    assert "The pool is restarted by hand." in shown
    assert shown.startswith(f"{ELLIPSIS}")
    assert shown.endswith(f"{ELLIPSIS}")


def test_an_excerpt_at_the_end_includes_the_text_before() -> None:
    shown = find_excerpt(f"{FILLER}The pool is restarted by hand.", "pool")
    assert shown.endswith("The pool is restarted by hand.")
    assert len(shown) > 250


def test_other_forms_of_a_word_are_seen() -> None:
    assert "restarting the pool" in find_excerpt(f"{FILLER} We are restarting the pool. {FILLER}", "restarted")


def test_accents_and_case_are_folded_as_in_the_index() -> None:
    assert "CAFÉ" in find_excerpt(f"{FILLER} The CAFÉ is closed … {FILLER}", "cafe")


def test_a_script_without_spaces_is_seen() -> None:
    assert "数据库" in find_excerpt(f"{'天气很好。' * 200}数据库{'天气很好。' * 200}", "数据", "据库")


def test_the_part_with_most_query_terms_is_shown() -> None:
    text = f"The pool. {FILLER} Restart the pool by hand. {FILLER} By hand."
    assert "Restart the pool by hand." in find_excerpt(text, "pool", "restart", "hand")


def test_a_rare_word_outweighs_two_common_ones() -> None:
    text = f"The pool by hand. {FILLER} OPS-4821 was that. {FILLER}"
    assert "OPS-4821" in find_excerpt(text, "pool", "hand", "ops-4821", weights=(1.0, 1.0, 5.0))


def test_where_nothing_is_seen_the_beginning_is_shown() -> None:
    assert find_excerpt(FILLER, "pool").startswith("Nothing of interest")


def test_a_part_of_another_word_does_not_match() -> None:
    shown = find_excerpt(f"The carpool came late. {FILLER} The pool is full. {FILLER}", "pool")
    assert "The pool is full." in shown


@given(st.text(max_size=1_000), st.lists(st.text(min_size=1, max_size=6), max_size=4), st.integers(150, 400))
def test_it_is_a_part_of_the_text_and_never_longer_than_agreed(text: str, terms: list[str], length: int) -> None:
    shown = find_excerpt(text, *dict.fromkeys(terms), length=length)
    assert len(shown) <= length + 2 * len(ELLIPSIS)
    assert shown.removeprefix(ELLIPSIS).removesuffix(ELLIPSIS) in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [("as it is", "as it is"), ("two\n lines", "two lines"), ("much too long", f"much too{ELLIPSIS}")],
)
def test_the_beginning_of_a_text_is_one_line(text: str, shown: str) -> None:
    assert beginning(text, 10) == shown
