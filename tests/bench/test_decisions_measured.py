"""Outcomes of prompts at a threshold, on cases few enough to count by hand."""

from collections.abc import Sequence
from typing import Any

import pytest

from bench import decisions, fitting
from bench.decisions import above_cosine, at, by_kind, crossed, in_use, point, reliability
from bench.prompts import ABSTENTION, OFF_TOPIC, Case
from memem.core.memory import MOST_HITS, Hit, Memory
from memem.core.options import OPTIONS
from memem.inject.confidence import MIN_COVERAGE, EvidenceWeights, PromptFeatures, Thresholds

PROMPT = PromptFeatures(question=False, unknown=0.0, names_unknown=False)
HALF = Thresholds(0.5, 0.0, 1.0)
BY_COSINE = EvidenceWeights(always=-5.0, cosine=10.0)
"""Even at a cosine of one half."""


def hit(name: str, confidence: float | None, score: float = 1.0, **fields: Any) -> Hit:
    """Found by words that are all of the prompt, unless said otherwise."""
    given = {"coverage": 1.0} | fields
    return Hit(Memory(name, name, f"Says {name}."), f"{name}.md", score, helps=confidence, **given)


def case(*hits: Hit, kind: str = "task", right: Sequence[str] = (), wanted: bool = True, **more: Any) -> Case:
    return Case("", kind, PROMPT, hits, frozenset(right), wanted, **more)


FOUR = [
    case(hit("a", 0.9), hit("b", 0.6), hit("c", 0.1), right="a"),
    case(hit("d", 0.7), right="e"),
    case(hit("f", 0.3), right="f"),
    case(hit("g", 0.8), kind=OFF_TOPIC, wanted=False),
    case(hit("h", 0.2), kind=OFF_TOPIC, wanted=False),
    case(hit("i", 0.9), kind=ABSTENTION, wanted=False),
]


def test_a_point_counts_prompts_that_fire_and_those_that_are_right() -> None:
    found = point(FOUR, at(HALF), 0.5)
    assert (found.line, found.off_topic, found.of_off) == (0.5, 1, 2)
    assert (found.answered, found.right, found.of_on) == (2, 1, 3)
    assert (found.items, found.right_items) == (3, 1)
    assert found.characters > 100
    assert found.as_json()["answered"] == 2


def test_at_a_line_that_nothing_reaches_nothing_fires() -> None:
    found = point(FOUR, at(Thresholds(1.0, 0.0, 1.0)), 1.0)
    assert (found.off_topic, found.answered, found.items, found.characters) == (0, 0, 0, 0)


def test_a_plain_threshold_looks_at_the_cosine_alone() -> None:
    cases = [case(hit("a", 0.0, cosine=0.6), hit("b", 1.0, cosine=0.4), hit("c", 1.0), right="a")]
    assert [each.id for each in above_cosine(0.5)(cases[0])] == ["a"]
    assert point(cases, above_cosine(0.5), 0.5).right == 1


def test_the_simulated_choice_equals_a_real_slice() -> None:
    many = case(*(hit(f"n{number}", 0.9) for number in range(MOST_HITS + 3)))
    assert len(at(HALF)(many)) == MOST_HITS
    behind = case(hit("a", 0.9), hit("b", 0.9, score=0.2))
    assert [each.id for each in at(Thresholds(0.5, 0.5, 1.0))(behind)] == ["a"]
    twice = case(*(Hit(Memory(name, "t", "The same."), "x", 1.0, helps=0.9, named=True) for name in "ab"))
    assert len(at(HALF)(twice)) == 1


def test_a_memory_with_hardly_any_lexical_evidence_is_not_shown() -> None:
    hardly = {"coverage": MIN_COVERAGE - 0.01}
    found = case(hit("words", 0.9, **hardly), hit("near", 0.9, cosine=0.6, **hardly), hit("name", 0.9, named=True))
    assert [each.id for each in at(HALF)(found)] == ["near", "name"]


def test_a_memory_found_by_meaning_proves_that_there_was_a_model() -> None:
    by_words = case(hit("a", 0.9), hit("b", 0.9, cosine=0.5, understood=False))
    assert not decisions.has_meaning([by_words, case()])
    assert decisions.has_meaning([by_words, case(hit("c", 0.1), hit("d", 0.1, cosine=0.0))])


def test_other_weights_rejudge_memories_found_by_meaning() -> None:
    found = case(hit("near", 0.0, cosine=0.6), hit("far", 1.0, cosine=0.4), hit("said", 1.0))
    assert [each.id for each in at(HALF, BY_COSINE)(found)] == ["near", "said"]


def test_the_threshold_in_use_is_the_default() -> None:
    defaults = {option.key: float(option.default) for option in OPTIONS if option.key.startswith("recall_")}
    line = in_use()
    assert line.confidence == defaults["recall_min_confidence"]
    assert line.score == defaults["recall_min_item_score"]
    assert line.unknown == defaults["recall_oov_threshold"]


# --- the best line ------------------------------------------------------------------------------------------------


def cases_with_cosines(cosines: Sequence[float], *, wanted: bool) -> list[Case]:
    kind = "task" if wanted else OFF_TOPIC
    return [
        case(hit(f"n{number}", 0.0, cosine=each), right=(f"n{number}",) if wanted else (), wanted=wanted, kind=kind)
        for number, each in enumerate(cosines)
    ]


def likely(cosine: float) -> float:
    (judged,) = at(Thresholds(0.0, 0.0, 1.0), BY_COSINE)(case(hit("a", None, cosine=cosine)))
    assert judged.helps is not None
    return judged.helps


def test_the_threshold_lies_midway_between_separable_prompts() -> None:
    cases = cases_with_cosines((0.7, 0.8, 0.9), wanted=True) + cases_with_cosines((0.1, 0.2, 0.3), wanted=False)
    line = decisions.best_line(cases, BY_COSINE)
    assert line.confidence == pytest.approx((likely(0.3) + likely(0.7)) / 2)
    assert (line.score, line.unknown) == (in_use().score, in_use().unknown)


def test_where_they_cannot_silence_is_worth_more_than_an_answer() -> None:
    cases = cases_with_cosines((0.5, 0.9), wanted=True) + cases_with_cosines((0.1, 0.6), wanted=False)
    assert likely(0.6) < decisions.best_line(cases, BY_COSINE).confidence < likely(0.9)


def test_prompts_for_which_nothing_was_found_have_a_line_too() -> None:
    cases = [case(right="a"), case(wanted=False, kind=OFF_TOPIC)]
    assert 0 < decisions.best_line(cases, BY_COSINE).confidence < 1


# --- cross-validation ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def apart() -> list[Case]:
    """Ten prompts that want something and fifteen that do not, as easily told apart as can be."""
    on = cases_with_cosines([0.7 + number / 100 for number in range(10)], wanted=True)
    return on + cases_with_cosines([0.1 + number / 100 for number in range(15)], wanted=False)


def test_separable_prompts_are_separated_on_unseen_ones(apart: list[Case]) -> None:
    found = crossed([*apart, case(hit("i", 0.9), kind=ABSTENTION, wanted=False)])
    assert (found["folds"], found["repeats"]) == (decisions.FOLDS, decisions.REPEATS)
    assert found["off_topic"] == {"value": 0.0, "low": 0.0, "high": 0.0, "count": 0.0, "of": 15}
    for name in ("answered", "right"):
        assert found[name] == {"value": 1.0, "low": 1.0, "high": 1.0, "count": 10.0, "of": 10}


def test_a_wrong_memory_counts_as_answered_and_not_as_right(apart: list[Case]) -> None:
    found = crossed([*apart, *(case(hit("wrong", 0.0, cosine=0.75), right="x") for _ in range(10))])
    assert (found["answered"]["value"], found["right"]["value"]) == (1.0, 0.5)


def test_the_same_seed_gives_the_same_numbers_and_another_may_not() -> None:
    mixed = cases_with_cosines([number / 20 for number in range(20)], wanted=True)
    mixed += cases_with_cosines([number / 25 for number in range(20)], wanted=False)
    assert crossed(mixed, seed=1) == crossed(mixed, seed=1)
    assert crossed(mixed, seed=1) != crossed(mixed, seed=5)


def test_every_fold_is_trained_on_prompts_of_both_sorts_and_never_on_its_own(
    apart: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []

    def fit(cases: Sequence[Case], *_: object) -> EvidenceWeights:
        seen.append((sum(each.wanted for each in cases), len(cases)))
        return BY_COSINE

    monkeypatch.setattr(fitting, "fit", fit)
    crossed(apart)
    assert seen == [(8, 20)] * decisions.FOLDS * decisions.REPEATS


# --- kinds and bands ----------------------------------------------------------------------------------------------


def test_kinds_are_counted_apart_by_whether_something_is_wanted() -> None:
    cases = [
        case(hit("a", 0.9), kind="cjk", right="a"),
        case(hit("b", 0.9), hit("x", 0.8), kind="cjk", right="c", never=frozenset("x")),
        case(hit("d", 0.1), kind="cjk", wanted=False),
    ]
    wanting, silent = by_kind(cases, at(HALF))
    assert wanting == {
        "kind": "cjk",
        "prompts": 2,
        "wanted": True,
        "fired": 2,
        "right": 1,
        "never": 1,
        "items": 3,
        "right_items": 1,
    }
    assert (silent["wanted"], silent["prompts"], silent["fired"]) == (False, 1, 0)


def test_reliability_compares_how_sure_with_how_often_right() -> None:
    cases = [
        case(hit("a", 0.6), hit("b", 0.6), hit("c", 0.05), right="a"),
        case(hit("d", 1.0), hit("e", None), right="d"),
    ]
    low, middle, high = reliability(cases)
    assert (low["low"], low["items"], low["predicted"], low["observed"]) == (0.0, 2, pytest.approx(0.025), 0.0)
    assert (middle["low"], middle["items"], middle["predicted"], middle["observed"]) == (0.5, 2, 0.6, 0.5)
    assert (high["high"], high["items"], high["predicted"], high["observed"]) == (1.0, 1, 1.0, 1.0)


def test_every_confidence_is_in_one_band() -> None:
    values = [0.0, 0.1, 0.2999, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0]
    rows = reliability([case(*(hit(str(each), each) for each in values))])
    assert sum(row["items"] for row in rows) == len(values)
