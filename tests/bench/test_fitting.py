"""Weights are fitted to prompts whose answers are known, and come out as they were put in."""

import math
from random import Random
from typing import Any

import pytest

from bench import fitting
from bench.prompts import Case
from memem.core.memory import Hit, Memory
from memem.inject import confidence
from memem.inject.confidence import Evidence, EvidenceWeights, PromptFeatures

PUT_IN = EvidenceWeights(always=-3.0, cosine=6.0, coverage=4.0, unknown=-4.0, unknown_name=-2.0)
NOTHING_HELD: dict[str, float] = {}


def hit(name: str = "a", **fields: Any) -> Hit:
    return Hit(Memory(name, name, ""), f"{name}.md", 1.0, **{"cosine": 0.5} | fields)


def case(*hits: Hit, right: tuple[str, ...] = (), wanted: bool | None = None, **prompt: Any) -> Case:
    told = PromptFeatures(**{"question": False, "unknown": 0.0, "names_unknown": False} | prompt)
    is_wanted = bool(right) if wanted is None else wanted
    return Case("", "task", told, hits, frozenset(right), is_wanted)


def drawn(count: int = 300, seed: int = 1) -> list[Case]:
    """Prompts with one memory each, which is right as often as the weights that were put in say."""
    random = Random(seed)  # noqa: S311 - the same every time
    cases = []
    for _ in range(count):
        one = hit(cosine=random.random(), coverage=random.random())
        prompt: dict[str, Any] = {"unknown": random.random(), "names_unknown": random.random() < 0.3}
        odds = fitting.odds(PUT_IN, confidence.evidence(one, case(one, **prompt).prompt))
        is_right = random.random() < 1 / (1 + math.exp(-odds))
        cases.append(case(one, right=("a",) if is_right else (), **prompt))
    return cases


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return drawn()


def test_the_weights_that_were_put_in_come_out_with_their_signs_and_about_their_sizes(cases: list[Case]) -> None:
    fitted = fitting.fit(cases, fitting.OF_MEANING, NOTHING_HELD)
    for name in fitting.OF_MEANING:
        put, found = getattr(PUT_IN, name), getattr(fitted, name)
        assert put * found > 0, name
        assert 0.3 * abs(put) < abs(found) < 1.5 * abs(put), name
    assert fitted.always < 0


def test_unfitted_features_get_no_weight_and_fixed_ones_stay(cases: list[Case]) -> None:
    fitted = fitting.fit(cases, ("cosine",))
    assert (fitted.question, fitted.name) == (fitting.HELD["question"], fitting.HELD["name"])
    assert fitted.coverage == fitted.words == fitted.unknown == fitted.unknown_name == 0
    assert fitting.fit(cases, ("cosine",), {"name": 7.0}).name == 7.0


def test_the_same_prompts_give_the_same_weights(cases: list[Case]) -> None:
    assert fitting.fit(cases, fitting.OF_MEANING) == fitting.fit(list(cases), fitting.OF_MEANING)


def test_the_more_weights_are_shrunk_the_smaller_they_are(cases: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    for shrink in (0.1, 10.0, 1e6):
        monkeypatch.setattr(fitting, "SHRINK", shrink)
        fitted = fitting.fit(cases, fitting.OF_MEANING, NOTHING_HELD)
        sizes.append([abs(getattr(fitted, name)) for name in ("cosine", "coverage", "unknown")])
    assert all(little > more > most for little, more, most in zip(*sizes, strict=True))
    assert max(sizes[-1]) < 0.01


def test_evidence_that_is_the_same_everywhere_gets_no_weight(cases: list[Case]) -> None:
    assert fitting.fit(cases, (*fitting.OF_MEANING, "words"), NOTHING_HELD).words == pytest.approx(0, abs=1e-6)


def test_a_prompt_whose_memory_was_not_found_by_meaning_is_not_used(cases: list[Case]) -> None:
    silent = [
        case(hit(cosine=0.9), wanted=True),
        case(hit(cosine=None, coverage=1.0)),
        case(),
        case(hit(understood=False)),
    ]
    assert fitting.fit([*cases, *silent], fitting.OF_MEANING) == fitting.fit(cases, fitting.OF_MEANING)


def test_of_a_prompt_that_wants_nothing_the_best_memory_counts_and_of_another_the_best_right_one() -> None:
    """The cosine tells right from wrong, though what is wanted is among much that is not, and some of it nearer."""
    far = [hit(f"far{number}", cosine=0.05) for number in range(4)]
    wanting = [case(hit("a", cosine=0.6), hit("b", cosine=0.7), *far, right=("a",)) for _ in range(20)]
    others = [case(hit("b", cosine=0.3), *far) for _ in range(20)]
    fitted = fitting.fit([*wanting, *others], ("cosine",), NOTHING_HELD)
    chance = [1 / (1 + math.exp(-(fitted.always + fitted.cosine * cosine))) for cosine in (0.3, 0.6)]
    assert chance[0] < 0.5 < chance[1]


def test_odds_are_the_weights_times_the_evidence() -> None:
    assert fitting.odds(EvidenceWeights(always=1, cosine=2, name=3), Evidence(cosine=0.5, name=1)) == 5


@pytest.mark.parametrize("likely", [0.01, 0.2, 0.5, 0.99])
def test_log_odds_say_how_likely(likely: float) -> None:
    assert 1 / (1 + math.exp(-fitting.log_odds(likely))) == pytest.approx(likely)


def test_calibrated_weights_keep_the_order_and_are_right_as_often_as_they_say(cases: list[Case]) -> None:
    weights = EvidenceWeights(always=9.0, cosine=30.0, coverage=20.0, unknown=-20.0)
    calibrated = fitting.calibrated(weights, cases)
    seen = [(case, confidence.evidence(case.hits[0], case.prompt)) for case in cases]
    before = [fitting.odds(weights, each) for _, each in seen]
    after = [fitting.odds(calibrated, each) for _, each in seen]
    assert sorted(range(len(seen)), key=before.__getitem__) == sorted(range(len(seen)), key=after.__getitem__)
    likely = [1 / (1 + math.exp(-each)) for each in after]
    right = [bool(case.right) for case, _ in seen]
    assert sum(likely) == pytest.approx(sum(right), rel=0.01)
