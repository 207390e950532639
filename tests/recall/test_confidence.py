"""Silence is the default: a memory is shown unasked only if it holds enough of what the prompt asks for."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.memory import Hit, Memory
from memem.recall.confidence import IN_USE, deserves

MEMORY = Memory(id="3f2c9a1e", title="t", body="b")
ENOUGH = tuple(f"word{number}" for number in range(IN_USE.words))


def hit(terms: tuple[str, ...], coverage: float, *, literal: bool = False, score: float = 1.0) -> Hit:
    return Hit(MEMORY, "a.md", score, terms=terms, coverage=coverage, literal=literal)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (hit((), 0), False),
        (hit(ENOUGH, 1), True),
        (hit(ENOUGH, IN_USE.coverage), True),
        (hit(ENOUGH, IN_USE.coverage - 0.01), False),
        (hit(ENOUGH[:-1], 1), False),
        (hit(("ops-4821",), 1, literal=True), True),
        (hit(("ops-4821",), IN_USE.coverage_with_literal, literal=True), True),
        (hit(("ops-4821",), IN_USE.coverage_with_literal - 0.01, literal=True), False),
        (hit((*ENOUGH, "ops-4821"), IN_USE.coverage_with_literal - 0.01, literal=True), False),
    ],
)
def test_a_memory_deserves_to_be_shown(one: Hit, expected: bool) -> None:
    assert deserves(one) == expected


def test_an_exact_identifier_needs_less_than_words_do() -> None:
    assert 0 < IN_USE.coverage_with_literal < IN_USE.coverage <= 1
    assert IN_USE.words >= 2


def test_the_score_alone_never_speaks() -> None:
    assert not deserves(hit(("deploy",), 0.01, score=1.0))


@given(
    st.lists(st.text(min_size=1), max_size=5).map(tuple),
    st.floats(min_value=0, max_value=1),
    st.floats(min_value=0, max_value=1),
    st.booleans(),
)
def test_more_evidence_never_silences(terms: tuple[str, ...], coverage: float, more: float, literal: bool) -> None:
    less = hit(terms, min(coverage, more), literal=literal)
    if deserves(less):
        richer: list[dict[str, Any]] = [{"coverage": max(coverage, more)}, {"literal": True}]
        for change in richer:
            assert deserves(
                Hit(MEMORY, "a.md", 1.0, terms=terms, **({"coverage": less.coverage, "literal": literal} | change))
            )
        assert deserves(hit((*terms, "another"), less.coverage, literal=literal))


def test_a_cosine_in_a_script_the_encoder_does_not_read_neither_speaks_nor_silences() -> None:
    near = Hit(MEMORY, "a.md", 1.0, cosine=0.99, understood=False)
    assert not deserves(near)
    assert deserves(replace(near, understood=True))
    said = Hit(MEMORY, "a.md", 1.0, cosine=0.0, understood=False, terms=ENOUGH, coverage=1.0)
    assert deserves(said)
    assert not deserves(replace(said, understood=True))


@pytest.mark.parametrize(
    ("cosine", "terms", "expected"),
    [
        (IN_USE.cosine, (), True),
        (IN_USE.cosine - 0.01, (), False),
        (IN_USE.cosine_with_words, ENOUGH, True),
        (IN_USE.cosine_with_words - 0.01, ENOUGH, False),
        (None, ENOUGH, True),
    ],
)
def test_meaning_speaks_by_itself_when_it_is_near_and_for_words_when_it_does_not_contradict_them(
    cosine: float | None, terms: tuple[str, ...], expected: bool
) -> None:
    assert deserves(Hit(MEMORY, "a.md", 1.0, cosine=cosine, terms=terms, coverage=float(bool(terms)))) == expected


def test_an_exact_identifier_speaks_whatever_the_meaning() -> None:
    assert deserves(Hit(MEMORY, "a.md", 1.0, cosine=-0.1, terms=("ops-4821",), coverage=1.0, literal=True))
