"""Silence is the default: a memory is shown unasked only if it holds enough of what the prompt asks for."""

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
