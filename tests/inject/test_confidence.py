"""Silence is the default: a memory is shown unasked only when it is likely enough to help, each on its own."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from memem.core.memory import Hit, Memory
from memem.core.options import OPTIONS
from memem.inject import confidence
from memem.inject.confidence import (
    BY_WORDS,
    ENOUGH_NOTES,
    FAR_BEHIND,
    FEW_WORDS,
    FOREIGN,
    MAX_QUESTION_WORDS,
    MEANING,
    MIN_COVERAGE,
    UNSURE,
    EvidenceWeights,
    PromptFeatures,
    Thresholds,
)
from memem.search.query import SearchMatches, Term
from tests.builders import examples

MEMORY = Memory(id="3f2c9a1e", title="t", body="b")
ASKING, ORDERING = PromptFeatures(True, 0.0, False), PromptFeatures(False, 0.0, False)
DEFAULTS = {option.key: float(option.default) for option in OPTIONS if option.key.startswith("recall_")}
IN_USE = Thresholds(
    DEFAULTS["recall_min_confidence"], DEFAULTS["recall_min_item_score"], DEFAULTS["recall_oov_threshold"]
)
ANYTHING = Thresholds(0.0, 0.0, 1.0)

QUESTIONS = """
    how are tokens signed? | how are tokens signed | What's the port of staging | whats the port | which port |
    who owns the ledger | whose key is it | when do carts expire | where is main | why did it fail |
    did we decide this | does the pool grow | has anyone measured it | do we pin versions | have we a runbook |
    is there a runbook | are there limits | and what about the port | ok, so how do we deploy | hey - which port |
    ...why not | The port is 7411, right? | (is it 7411?) | "is it 7411?" | it is 7411??? | is it 7411?  |
    tell me: is it 7411? |
    端口是多少？ | 这是端口吗 | 这是端口吗。 | 端口呢 | 這是端口嗎 | ポートはどこですか | ポートはどこですか。 |
    これを使いますか | 포트가 있나요 | 이걸 쓸까 | 포트가 있나요? """
ORDERS = """
    sign the tokens | show me how tokens are signed | whatever | However it is done, sign them | wherever | howto |
    rename this variable. | 把端口改成 7411 | ポートを変えて | 포트를 바꿔 | is the pool | it does"""


def rows(table: str) -> list[str]:
    return [row.strip() for row in table.replace("\n", "").split("|")]


def hit(name: str = "a", score: float = 1.0, **fields: Any) -> Hit:
    return Hit(replace(MEMORY, id=name), f"{name}.md", score, **fields)


def likely(one: Hit, prompt: PromptFeatures = ASKING) -> float:
    (judged,) = confidence.rate_hits([one], prompt)
    assert judged.helps is not None
    return judged.helps


def shown(*hits: Hit, prompt: PromptFeatures = ASKING, line: Thresholds = IN_USE) -> list[str]:
    return [each.id for each in passing(confidence.rate_hits(hits, prompt), prompt, line)]


def passing(hits: Sequence[Hit], prompt: PromptFeatures, line: Thresholds) -> list[Hit]:
    return [each for each in confidence.apply_thresholds(hits, prompt, line) if not each.kept_out]


# --- what a prompt says of itself ---------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", rows(QUESTIONS))
def test_who_asks_is_known_in_several_languages(prompt: str) -> None:
    assert confidence.is_question(prompt)


@pytest.mark.parametrize("prompt", rows(ORDERS))
def test_who_orders_does_not_ask(prompt: str) -> None:
    assert not confidence.is_question(prompt)


@pytest.mark.parametrize(
    "pasted",
    [
        "where is the bug\nTraceback (most recent call last):\n  File main.py, line 3",
        "what happened here:\n\n    error 500",
        "How to install\n==============\nRun make.",
        "what the customer wrote " + "and wrote " * MAX_QUESTION_WORDS,
    ],
)
def test_what_was_pasted_is_no_question_because_it_begins_like_one(pasted: str) -> None:
    assert not confidence.is_question(pasted)
    assert confidence.is_question(f"{pasted}\nIs that ours?")


def test_a_question_may_have_so_many_words() -> None:
    assert confidence.is_question("what " * MAX_QUESTION_WORDS)
    assert not confidence.is_question("what " * (MAX_QUESTION_WORDS + 1))


@given(st.text(max_size=80))
def test_any_prompt_asks_or_does_not_and_a_mark_at_its_end_makes_it_ask(prompt: str) -> None:
    confidence.is_question(prompt)
    assert confidence.is_question(f"{prompt}?")


def test_a_prompt_is_read_with_what_was_found_for_it() -> None:
    known, missing = Term("walrus"), Term("ops-4821", literal=True)
    found = SearchMatches((), {known: 1, missing: 0}, 100)
    assert confidence.describe_prompt("where is the walrus", found) == PromptFeatures(
        True, found.unknown_share, names_unknown=True
    )
    assert confidence.describe_prompt("feed the walrus", replace(found, frequencies={known: 1})) == ORDERING


# --- how likely ---------------------------------------------------------------------------------------------------

_share = st.floats(min_value=0, max_value=1)
_cosine = st.one_of(st.none(), st.floats(min_value=-1, max_value=1))
_hits = st.builds(
    lambda cosine, coverage, terms, named, understood: hit(
        cosine=cosine, coverage=coverage, terms=("word",) * terms, named=named, understood=understood
    ),
    _cosine,
    _share,
    st.integers(0, 6),
    st.booleans(),
    st.booleans(),
)
_prompts = st.builds(PromptFeatures, st.booleans(), _share, st.booleans(), st.integers(0, 2 * ENOUGH_NOTES))


@given(_hits, _prompts)
def test_a_confidence_is_a_probability(one: Hit, prompt: PromptFeatures) -> None:
    assert 0 <= likely(one, prompt) <= 1


@settings(max_examples=examples(150))
@given(_hits, _prompts, _share, st.floats(min_value=-1, max_value=1))
def test_more_evidence_never_makes_a_memory_less_likely(
    one: Hit, prompt: PromptFeatures, coverage: float, cosine: float
) -> None:
    richer = [
        replace(one, coverage=max(one.coverage, coverage)),
        replace(one, named=True),
        replace(one, about_file=1.0),
        replace(one, terms=(*one.terms, "another")),
        *([replace(one, cosine=max(one.cosine, cosine))] if one.cosine is not None else []),
    ]
    assert all(likely(each, prompt) >= likely(one, prompt) for each in richer)


@given(_hits, _prompts, _share)
def test_a_question_is_worth_more_than_an_order_and_what_is_unknown_less(
    one: Hit, prompt: PromptFeatures, unknown: float
) -> None:
    assert likely(one, replace(prompt, question=True)) >= likely(one, replace(prompt, question=False))
    more = replace(prompt, unknown=max(prompt.unknown, unknown))
    assert likely(one, more) <= likely(one, prompt)
    assert likely(one, replace(prompt, names_unknown=True)) <= likely(one, replace(prompt, names_unknown=False))


def test_an_unknown_name_does_not_speak_against_a_memory_that_holds_another() -> None:
    prompt = replace(ASKING, names_unknown=True)
    named, other = hit(cosine=0.4, named=True), hit(cosine=0.4)
    assert likely(named, prompt) == likely(named, ASKING)
    assert likely(other, prompt) < likely(other, ASKING)


def test_in_a_script_the_encoder_does_not_read_the_cosine_says_nothing() -> None:
    for cosine in (-0.5, 0.0, 0.99):
        unread = hit(cosine=cosine, understood=False, terms=("连接",), coverage=0.5)
        assert likely(unread) == likely(replace(unread, cosine=None))


def test_a_weight_speaks_for_what_it_should_or_against_it() -> None:
    for weights in (MEANING, BY_WORDS):
        assert weights.coverage > 0 < weights.name
        assert weights.file > 0
        assert weights.question > 0 > weights.always
        assert weights.unknown < 0 > weights.unknown_name
    assert MEANING.cosine > 0 == BY_WORDS.cosine
    assert isinstance(MEANING, EvidenceWeights)


# --- what may be shown --------------------------------------------------------------------------------------------

NEAR: dict[str, Any] = {"cosine": 0.7, "terms": ("walrus", "pier"), "coverage": 0.8}
SAID: dict[str, Any] = {"terms": ("walrus", "pier", "harbour"), "coverage": 1.0}


@pytest.mark.parametrize("evidence", [NEAR, SAID])
@pytest.mark.parametrize("prompt", [ASKING, ORDERING])
def test_at_the_line_in_use_what_plainly_answers_is_shown(evidence: dict[str, Any], prompt: PromptFeatures) -> None:
    assert shown(hit(**evidence), prompt=prompt) == ["a"]


@pytest.mark.parametrize(
    "evidence",
    [
        {},
        {"cosine": 0.05},
        {"cosine": 0.15, "terms": ("deploy",), "coverage": 0.1},
    ],
)
@pytest.mark.parametrize("prompt", [ASKING, ORDERING])
def test_at_the_line_in_use_what_has_little_to_do_with_the_prompt_is_not(
    evidence: dict[str, Any], prompt: PromptFeatures
) -> None:
    assert shown(hit(**evidence), prompt=prompt) == []


def test_by_words_alone_one_word_is_not_enough_for_an_order_nor_for_a_question_that_is_half_unknown() -> None:
    one_word = hit(terms=("deploy",), coverage=0.1)
    assert shown(one_word, prompt=ORDERING) == shown(one_word, prompt=replace(ASKING, unknown=0.5)) == []


def test_a_high_score_alone_never_speaks() -> None:
    assert shown(hit(score=1.0, cosine=0.1)) == []


@pytest.mark.parametrize("line", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_less_likely_than_the_line_nothing_is_shown(line: float) -> None:
    hits = confidence.rate_hits([hit(str(at), cosine=at / 10) for at in range(11)], ASKING)
    kept = passing(hits, ASKING, Thresholds(line, 0.0, 1.0))
    assert kept == [each for each in hits if each.helps is not None and each.helps >= line]


def test_a_hit_that_nobody_judged_is_not_shown() -> None:
    assert passing([hit(**NEAR)], ASKING, IN_USE) == []


@pytest.mark.parametrize(
    ("least", "expected"), [(0.0, ["a", "b", "c"]), (0.5, ["a", "b"]), (0.51, ["a"]), (1.0, ["a"])]
)
def test_what_has_too_small_a_part_of_the_best_score_is_not_shown(least: float, expected: list[str]) -> None:
    hits = [hit("a", 0.8, **NEAR), hit("b", 0.4, **NEAR), hit("c", 0.1, **NEAR)]
    assert shown(*hits, line=replace(IN_USE, score=least)) == expected


@pytest.mark.parametrize(("most", "expected"), [(0.6, []), (0.61, ["a", "b"]), (1.0, ["a", "b"])])
def test_a_prompt_that_is_mostly_unknown_gets_nothing(most: float, expected: list[str]) -> None:
    prompt = replace(ASKING, unknown=0.61)
    assert shown(hit("a", **NEAR), hit("b", **SAID), prompt=prompt, line=Thresholds(0.0, 0.0, most)) == expected


def test_unless_it_names_a_memory_which_alone_is_shown() -> None:
    prompt = replace(ASKING, unknown=0.95)
    assert shown(hit("a", **NEAR), hit("b", named=True, **NEAR), prompt=prompt) == ["b"]


def test_the_order_stays() -> None:
    hits = [hit("b", 0.7, **SAID), hit("a", 0.9, **NEAR), hit("c", 0.8, **NEAR)]
    assert shown(*hits, line=ANYTHING) == ["b", "a", "c"]


_scored = st.lists(st.tuples(_hits, _share), max_size=5).map(
    lambda found: [replace(each, score=score, path=str(at)) for at, (each, score) in enumerate(found)]
)


def rated(hits: list[Hit], prompt: PromptFeatures, line: Thresholds = IN_USE) -> list[Hit]:
    return confidence.apply_thresholds(confidence.rate_hits(hits, prompt), prompt, line)


@settings(max_examples=examples(150))
@given(_scored, _hits, _prompts, _share)
def test_a_memory_that_scores_lower_than_all_never_changes_what_becomes_of_the_others(
    hits: list[Hit], another: Hit, prompt: PromptFeatures, share: float
) -> None:
    weakest = replace(another, score=share * min((each.score for each in hits), default=1.0), path="weakest")
    assert rated([*hits, weakest], prompt)[:-1] == rated(hits, prompt)


@settings(max_examples=examples(150))
@given(_scored, _hits, _prompts, st.sampled_from([UNSURE, FOREIGN, FEW_WORDS, FAR_BEHIND]))
@example([hit(score=0.1, cosine=0.7, coverage=0.8)], hit(cosine=0.1), ASKING, UNSURE)
def test_a_memory_that_is_not_shown_itself_never_changes_what_becomes_of_the_others(
    hits: list[Hit], another: Hit, prompt: PromptFeatures, why: str
) -> None:
    """However well it scores: a text that has most of the words and answers nothing keeps nobody out."""
    together = rated([*hits, replace(another, path="another")], prompt)
    assume(together[-1].kept_out == why)
    assert together[:-1] == rated(hits, prompt)


@settings(max_examples=examples(150))
@given(_scored, _hits, _prompts)
def test_the_most_that_a_stronger_one_can_do_is_to_leave_another_far_behind(
    hits: list[Hit], another: Hit, prompt: PromptFeatures
) -> None:
    strongest = replace(another, score=1.0, path="strongest")
    for before, after in zip(rated(hits, prompt), rated([*hits, strongest], prompt)[:-1], strict=True):
        assert after == before or (after == replace(before, kept_out=FAR_BEHIND) and not before.kept_out)


# --- why not ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "unknown", "why"),
    [
        ({"cosine": 0.1}, 0.0, UNSURE),
        ({"cosine": 0.1}, 1.0, UNSURE),
        (NEAR, 0.9, FOREIGN),
        ({"terms": ("walrus", "pier", "harbour", "herring"), "coverage": MIN_COVERAGE - 0.01}, 0.0, FEW_WORDS),
        (NEAR | {"score": 0.1}, 0.0, FAR_BEHIND),
        (NEAR, 0.0, ""),
    ],
)
def test_what_is_not_shown_bears_the_reason(fields: dict[str, Any], unknown: float, why: str) -> None:
    prompt = replace(ASKING, unknown=unknown)
    line = Thresholds(0.4, 0.5, 0.8)
    best = hit("best", named=True, **NEAR)
    one = hit(**fields)
    assert [each.kept_out for each in rated([best, one], prompt, line)] == ["", why]


@given(_scored, _prompts)
def test_thresholds_only_add_reasons(hits: list[Hit], prompt: PromptFeatures) -> None:
    judged = confidence.rate_hits(hits, prompt)
    marked = confidence.apply_thresholds(judged, prompt, IN_USE)
    assert [replace(each, kept_out="") for each in marked] == judged


@pytest.mark.parametrize("words", [{"cosine": None}, {"cosine": 0.9, "understood": False}])
def test_where_words_decide_alone_a_memory_holds_some_part_of_the_prompt_or_is_named(words: dict[str, Any]) -> None:
    few = hit(coverage=MIN_COVERAGE - 0.001, terms=("walrus",), **words)
    assert shown(few, line=ANYTHING) == []
    assert shown(replace(few, coverage=MIN_COVERAGE), line=ANYTHING) == ["a"]
    assert shown(replace(few, named=True), line=ANYTHING) == ["a"]
    assert shown(replace(few, cosine=0.0, understood=True), line=ANYTHING) == ["a"]


# --- few notes know few words -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("notes", "foreign"), [(0, 0.0), (1, 0.008), (50, 0.4), (ENOUGH_NOTES, 0.8), (10 * ENOUGH_NOTES, 0.8)]
)
def test_what_is_unknown_says_as_much_as_there_are_notes_to_know_it_from(notes: int, foreign: float) -> None:
    assert PromptFeatures(True, 0.8, False, notes).foreign == pytest.approx(foreign)


def test_in_a_small_vault_a_prompt_of_unknown_words_is_answered() -> None:
    small, large = (PromptFeatures(True, 0.95, False, notes) for notes in (10, ENOUGH_NOTES))
    near = hit(cosine=0.6, terms=("walrus",), coverage=0.3)
    assert likely(near, small) > likely(near, large)
    assert (shown(near, prompt=small), shown(near, prompt=large)) == (["a"], [])


def test_where_words_decide_alone_what_is_unknown_counts_in_full() -> None:
    said = hit(terms=("walrus",), coverage=0.3)
    assert likely(said, PromptFeatures(True, 0.7, False, 3)) == likely(
        said, PromptFeatures(True, 0.7, False, 10 * ENOUGH_NOTES)
    )


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", [{"cosine": 0.3}, {"terms": ("walrus",), "coverage": 0.3}])
def test_a_file_at_hand_counts_and_one_that_the_prompt_names_counts_more(evidence: dict[str, Any]) -> None:
    none, at_hand, named = (likely(hit(about_file=part, **evidence)) for part in (0.0, 0.4, 1.0))
    assert none < at_hand < named


def test_a_file_alone_shows_nothing() -> None:
    assert shown(hit(about_file=1.0, cosine=0.0), prompt=ORDERING) == []


def test_one_good_memory_brings_no_other() -> None:
    assert shown(hit("good", 1.0, **NEAR), *(hit(str(at), 0.9, cosine=0.15) for at in range(7))) == ["good"]
