"""The weight of a query by rarity, and how much of it occurs in no note."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memem.core.memory import Memory
from memem.search.query import RARE, NoteMatch, SearchMatches, Term, is_mostly_ascii, is_name
from tests.builders import examples

WALRUS, PIER, TICKET = Term("walrus"), Term("pier"), Term("ops-4821", literal=True)
_terms = st.builds(
    Term,
    st.text("abc数据", min_size=1, max_size=3),
    literal=st.booleans(),
    part=st.booleans(),
    bigram=st.booleans(),
)
_frequencies = st.dictionaries(_terms, st.integers(min_value=0, max_value=50), max_size=8)


def make_matches(
    frequencies: dict[Term, int], notes: int = 100, *, multilingual: bool = False, body: str = ""
) -> SearchMatches:
    match = NoteMatch("a.md", (0, 0, 0), Memory("3f2c9a1e", "", body), 1.0, ())
    return SearchMatches((match,), frequencies, notes, multilingual)


def bigrams(*texts: str) -> list[Term]:
    return [Term(text, bigram=True) for text in texts]


# --- rarity -------------------------------------------------------------------------------------------------------


@given(st.integers(0, 100), st.integers(0, 100))
def test_the_rarer_a_term_the_more_it_says_and_it_always_says_something(one: int, other: int) -> None:
    fewer, more = (make_matches({WALRUS: frequency}).weight(WALRUS) for frequency in sorted((one, other)))
    assert 0 < more <= fewer
    assert (fewer == more) == (one == other)


def test_a_piece_of_a_compound_has_half_the_weight() -> None:
    whole, part = Term("pool"), Term("pool", part=True)
    matches = make_matches({whole: 4, part: 4})
    assert matches.weight(part) == matches.weight(whole) / 2


@pytest.mark.parametrize(
    ("term", "frequency", "expected"),
    [
        (TICKET, 1, True),
        (TICKET, RARE, True),
        (TICKET, RARE + 1, False),
        (TICKET, 0, False),
        (WALRUS, 1, False),
    ],
)
def test_a_name_is_an_identifier_in_few_notes(term: Term, frequency: int, expected: bool) -> None:
    assert is_name(term, frequency) == expected


# --- what is in no note -------------------------------------------------------------------------------------------


def test_an_empty_query_has_no_unknown_share() -> None:
    nothing = make_matches({})
    assert (nothing.total_weight, nothing.unknown_share, nothing.names_unknown) == (0, 0, False)


@pytest.mark.parametrize(
    ("frequencies", "least", "most"),
    [({WALRUS: 1, PIER: 1}, 0, 0), ({WALRUS: 1, PIER: 0}, 0.5, 0.7), ({WALRUS: 0, PIER: 0}, 1, 1)],
)
def test_the_unknown_share_is_weighted_by_rarity(frequencies: dict[Term, int], least: float, most: float) -> None:
    assert least <= make_matches(frequencies).unknown_share <= most


def test_a_common_word_makes_up_for_less_than_a_rare_one() -> None:
    assert make_matches({WALRUS: 90, PIER: 0}).unknown_share > make_matches({WALRUS: 1, PIER: 0}).unknown_share


@pytest.mark.parametrize(
    ("frequencies", "expected"),
    [({TICKET: 0}, True), ({TICKET: 1}, False), ({WALRUS: 0}, False), ({TICKET: 40, WALRUS: 0}, False)],
)
def test_a_name_is_unknown_when_it_occurs_in_no_note(frequencies: dict[Term, int], expected: bool) -> None:
    assert make_matches(frequencies).names_unknown == expected


def test_missing_bigrams_do_not_count_up_to_half_of_the_bigrams() -> None:
    """数据库连接: 数据 and 连接 are words, the bigrams across them, 据库 and 库连, may be none."""
    said, across = bigrams("数据", "连接"), bigrams("据库", "库连")
    frequencies = dict.fromkeys(said, 1) | dict.fromkeys(across, 0)
    assert make_matches(frequencies).unknown_share < 0.15
    assert make_matches({replace(term, bigram=False): count for term, count in frequencies.items()}).unknown_share > 0.5


def test_a_prompt_of_unknown_bigrams_is_entirely_unknown() -> None:
    assert make_matches(dict.fromkeys(bigrams("数据", "据库", "库连", "连接"), 0)).unknown_share == pytest.approx(1)


def test_ignored_bigrams_do_not_lower_the_coverage() -> None:
    words, across = bigrams("数据", "连接"), bigrams("据库")
    matches = make_matches(dict.fromkeys(words, 1) | dict.fromkeys(across, 0))
    assert sum(map(matches.weight, words)) == pytest.approx(matches.total_weight)


def test_missing_words_of_other_scripts_count_with_bigrams() -> None:
    known = dict.fromkeys(bigrams("数据", "据库"), 1)
    assert make_matches(known | {WALRUS: 0}).unknown_share > 0.3 > make_matches(known).unknown_share


@settings(max_examples=examples(60))
@given(_frequencies)
def test_what_is_unknown_is_between_nothing_and_all_and_what_is_asked_is_no_less_than_what_is_known(
    frequencies: dict[Term, int],
) -> None:
    matches = make_matches(frequencies, notes=50)
    known_weight = sum(matches.weight(term) for term, count in frequencies.items() if count)
    assert -1e-9 <= matches.unknown_share <= 1 + 1e-9
    assert matches.total_weight >= known_weight - 1e-9


# --- scripts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "body", "multilingual", "expected"),
    [
        ("walrus", "The walrus sleeps.", False, True),
        ("walrus", "海象在码头上睡觉。", False, False),
        ("海象", "The walrus sleeps.", False, False),
        ("海象", "海象在码头上睡觉。", False, False),
        ("海象", "海象在码头上睡觉。", True, True),
        ("walrus", "", False, True),
    ],
)
def test_the_encoder_has_to_read_both_the_query_and_the_note(
    query: str, body: str, multilingual: bool, expected: bool
) -> None:
    assert make_matches({Term(query): 1}, multilingual=multilingual, body=body).encoder_reads() == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", True), ("plain", True), ("naïve café", True), ("数据", False), ("数据 ab", True), ("数据库 ab", True)],
)
def test_a_text_is_read_when_half_of_it_is_ascii(text: str, expected: bool) -> None:
    assert is_mostly_ascii(text) == expected
