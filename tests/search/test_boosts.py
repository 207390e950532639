"""Everything besides relevance may only nudge it, within bounds; what was superseded stays behind what replaced it."""

from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memem.core.memory import Memory, id8_of
from memem.search import ranking as module
from memem.search.dates.query import When
from memem.search.ranking import BEST, LINKED, NO_BOOSTS, Boosts, apply_boosts, matches_path
from memem.state import usefulness
from tests.builders import examples

MARCH = When(date(2026, 3, 1), date(2026, 3, 31))
EVERYTHING = Boosts("shop", ("src/auth/token.py",), MARCH)
LEAST_USE, MOST_USE = usefulness.multiplier(1_000_000, 0), usefulness.multiplier(1_000_000, 1_000_000)


def memory(name: str = "a", **fields: Any) -> Memory:
    return Memory(id=name.ljust(8, "-"), title=name, body="", **fields)


def link(name: str) -> str:
    return f"[[a-note-{name.ljust(8, '-')}]]"


def boosted_score(one: Memory, boosts: Boosts = EVERYTHING, score: float = 0.5) -> float:
    return apply_boosts([score], [one], boosts)[0]


# --- each nudge ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "factor"),
    [
        ({"project": "shop"}, module.SAME_PROJECT),
        ({"paths": ("src/auth/**",)}, module.PATH_MATCH),
        ({"created": "2026-03-09T10:00:00Z"}, module.RIGHT_TIME),
        ({"valid_from": "2025-01-01", "valid_to": "2026-03-02"}, module.RIGHT_TIME),
        ({"created": "2026-02-09T10:00:00Z"}, 1),
        ({"importance": 5}, 1 + 2 * module.IMPORTANCE_STEP),
        ({"importance": 1}, 1 - 2 * module.IMPORTANCE_STEP),
        ({"status": "deprecated"}, module.SET_ASIDE),
        ({"status": "stale"}, module.SET_ASIDE),
        ({"superseded_by": link("z")}, module.SET_ASIDE),
        ({"status": "stale", "superseded_by": link("z")}, module.SET_ASIDE),
        ({"project": "other", "paths": ("docs/**",)}, 1),
    ],
)
def test_each_boost_has_its_documented_factor(fields: dict[str, Any], factor: float) -> None:
    assert boosted_score(memory(**fields)) == pytest.approx(boosted_score(memory()) * factor)


def test_usefulness_is_a_factor_of_the_memory_that_has_one() -> None:
    useful = Boosts(useful={memory("a").id: 1.05, memory("b").id: 0.95})
    plain, better, worse = (boosted_score(memory(name), useful) for name in ("c", "a", "b"))
    assert better == pytest.approx(plain * 1.05)
    assert worse == pytest.approx(plain * 0.95)


def test_no_boost_applies_without_context() -> None:
    scores = apply_boosts(
        [0.4, 0.2], [memory("a"), memory("b", project="shop", paths=("x.py",), created="2026-03-09")], NO_BOOSTS
    )
    assert scores[0] == pytest.approx(2 * scores[1])


def test_memories_valid_at_the_time_in_question_rank_first() -> None:
    then, later = memory("then", created="2026-03-09"), memory("later", created="2026-05-09")
    scores = apply_boosts([0.5, 0.5], [then, later], EVERYTHING)
    assert scores[0] > scores[1]


def test_a_query_about_the_past_does_not_demote_outdated_memories() -> None:
    old, new = memory("old", superseded_by=link("new"), status="deprecated"), memory("new")
    for relevance in ([0.9, 0.3], [0.3, 0.9]):
        now, past = (apply_boosts(relevance, [old, new], Boosts(when=When(past=is_past))) for is_past in (False, True))
        assert past[0] <= past[1] == now[1]
        assert past[0] >= now[0]
    assert boosted_score(old, Boosts(when=When(past=True))) == boosted_score(new, Boosts())


@pytest.mark.parametrize(
    ("pattern", "file", "fits"),
    [
        ("src/auth/**", "src/auth/token.py", True),
        ("src/auth/**", "src/auth/deep/token.py", True),
        ("*.py", "src/auth/token.py", True),
        ("src/auth/token.py", "src/auth/token.py", True),
        ("src/[id]/page.tsx", "src/[id]/page.tsx", True),
        ("src/auth/**", "src/billing/token.py", False),
        ("SRC/**", "src/auth/token.py", False),
        ("", "src/auth/token.py", False),
    ],
)
def test_a_memory_is_about_a_file_by_the_patterns_it_states(pattern: str, file: str, fits: bool) -> None:
    assert matches_path(memory(paths=("other.py", pattern)), ("elsewhere.py", file)) == fits
    assert not matches_path(memory(paths=(pattern,)), ())


@pytest.mark.parametrize(
    ("linked", "expected"),
    [
        ("[[some-note-3f2c9a1e]]", "3f2c9a1e"),
        ("[[some-note-3f2c9a1e|what it says]]", "3f2c9a1e"),
        ("[[some-note-3f2c9a1e.md]]", "3f2c9a1e"),
        ("3f2c9a1e", "3f2c9a1e"),
        ("", ""),
    ],
)
def test_a_link_names_a_note_by_the_beginning_of_its_id(linked: str, expected: str) -> None:
    assert id8_of(linked) == expected


# --- bounds -------------------------------------------------------------------------------------------------------

_fields = st.fixed_dictionaries(
    {
        "project": st.sampled_from(("shop", "general")),
        "importance": st.integers(min_value=1, max_value=5),
        "paths": st.sampled_from(((), ("src/**",))),
        "created": st.sampled_from(("", "2026-03-09", "2024-01-01")),
        "related": st.sampled_from(((), (link("best"),), (link("z"), link("a")))),
    }
)
_use = st.sampled_from((LEAST_USE, 1.0, MOST_USE))


@settings(max_examples=examples(150))
@given(_fields, _fields, st.tuples(_use, _use), st.floats(0.001, 0.5), st.booleans())
@example(
    {"importance": 1},
    {"importance": 5, "project": "shop", "paths": ("src/**",), "created": "2026-03-09", "related": (link("best"),)},
    (LEAST_USE, MOST_USE),
    0.3,
    True,
)
def test_whatever_speaks_for_another_twice_the_relevance_wins(
    better: dict[str, Any], worse: dict[str, Any], use: tuple[float, float], relevance: float, more: bool
) -> None:
    ours, theirs = memory("z", **better), memory("a", **worse)
    useful = {ours.id: use[0], theirs.id: use[1]}
    others = [memory(f"best{number}" if number else "best") for number in range(BEST if more else 0)]
    scores = apply_boosts(
        [2 * relevance, relevance, *(2 * relevance for _ in others)],
        [ours, theirs, *others],
        Boosts("shop", ("src/x.py",), MARCH, useful),
    )
    assert scores[0] > scores[1]


@given(st.lists(st.tuples(st.floats(0, 1), _fields, _use), max_size=6))
def test_no_score_is_below_nothing_or_above_one(parts: list[tuple[float, dict[str, Any], float]]) -> None:
    memories = [memory(str(number), **fields) for number, (_, fields, _) in enumerate(parts)]
    useful = {each.id: use for each, (_, _, use) in zip(memories, parts, strict=True)}
    scores = apply_boosts([score for score, *_ in parts], memories, Boosts("shop", ("src/x.py",), MARCH, useful))
    assert all(0 <= score <= 1 for score in scores)


# --- links --------------------------------------------------------------------------------------------------------


def raised(*memories: Memory, scores: Sequence[float] = (0.9, 0.8, 0.7, 0.3)) -> float:
    """By how much the last of four is raised."""
    plain = [memory(each.title) for each in memories]
    return apply_boosts(scores, memories, NO_BOOSTS)[-1] / apply_boosts(scores, plain, NO_BOOSTS)[-1]


@pytest.mark.parametrize("best", range(BEST))
def test_a_link_with_one_of_the_best_boosts_in_either_direction(best: int) -> None:
    pointing = [memory(name, related=(link("d"),) if number == best else ()) for number, name in enumerate("abc")]
    assert raised(*pointing, memory("d")) == pytest.approx(LINKED)
    assert raised(*map(memory, "abc"), memory("d", related=(link("abc"[best]),))) == pytest.approx(LINKED)


def pair(one: str, other: str) -> tuple[str, str]:
    return memory(one).id, memory(other).id


@pytest.mark.parametrize("best", "abc")
def test_an_edge_to_one_of_the_best_boosts_like_a_link(best: str) -> None:
    memories, scores = list(map(memory, "abcd")), (0.9, 0.8, 0.7, 0.3)
    alone = apply_boosts(scores, memories, NO_BOOSTS)
    held = apply_boosts(scores, memories, Boosts(linked={pair(best, "d")}))
    assert held == [*alone[:3], pytest.approx(alone[3] * LINKED)]
    also = [*memories[:3], memory("d", related=(link(best),))]
    assert apply_boosts(scores, also, Boosts(linked={pair(best, "d")})) == held


def test_edges_among_the_others_or_the_best_boost_nothing() -> None:
    memories, scores = list(map(memory, "abcde")), (0.9, 0.8, 0.7, 0.3, 0.3)
    held = Boosts(linked={pair("d", "e"), pair("a", "b"), pair("a", "z")})
    assert apply_boosts(scores, memories, held) == apply_boosts(scores, memories, NO_BOOSTS)


def test_a_link_to_what_is_not_among_the_best_raises_nothing() -> None:
    linked = memory("e", related=(link("d"),))
    assert raised(*map(memory, "abcd"), linked, scores=(0.9, 0.8, 0.7, 0.3, 0.3)) == pytest.approx(1)
    assert raised(*map(memory, "abc"), memory("d", related=("[[elsewhere-00000000]]",))) == pytest.approx(1)


def test_several_links_raise_no_more_than_one() -> None:
    assert raised(*map(memory, "abc"), memory("d", related=tuple(map(link, "abc")))) == pytest.approx(LINKED)


def test_the_best_do_not_raise_each_other() -> None:
    linked = [memory("a", related=(link("b"),)), memory("b", related=(link("a"),)), memory("c"), memory("d")]
    scores = (0.5, 0.4, 0.3, 0.2)
    assert apply_boosts(scores, linked, NO_BOOSTS) == apply_boosts(scores, list(map(memory, "abcd")), NO_BOOSTS)


@settings(max_examples=examples(60))
@given(st.lists(st.floats(0.01, 1), min_size=BEST + 1, max_size=8), st.data())
def test_what_is_raised_comes_at_most_that_much_before_what_it_is_linked_with(
    scores: list[float], data: st.DataObject
) -> None:
    names = [str(number) for number in range(len(scores))]
    links = [data.draw(st.lists(st.sampled_from(names), max_size=2)) for _ in names]
    memories = [memory(name, related=tuple(map(link, each))) for name, each in zip(names, links, strict=True)]
    plain = apply_boosts(scores, [memory(name) for name in names], NO_BOOSTS)
    linked = apply_boosts(scores, memories, NO_BOOSTS)
    best = sorted(plain)[-BEST:]
    for before, after in zip(plain, linked, strict=True):
        assert before <= after <= before * LINKED + 1e-12
        assert after == before or after <= best[0] * LINKED + 1e-12


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (3, 2, 1, 0, 4), (4, 3, 0, 1, 2)])
def test_which_are_the_best_of_equals_does_not_depend_on_the_order_they_come_in(order: tuple[int, ...]) -> None:
    names = ("a", "b", "c", "d")
    memories = [*map(memory, names), memory("e", related=(link("d"),))]
    scores = [0.5, 0.5, 0.5, 0.5, 0.3]
    plain = dict(zip(memories, apply_boosts(scores, memories, NO_BOOSTS), strict=True))
    mixed = [memories[place] for place in order]
    assert dict(zip(mixed, apply_boosts([scores[place] for place in order], mixed, NO_BOOSTS), strict=True)) == plain


# --- what was superseded ------------------------------------------------------------------------------------------


@settings(max_examples=examples(80))
@given(
    st.lists(st.floats(0.01, 1), min_size=2, max_size=5), st.randoms(use_true_random=False), st.booleans(), st.data()
)
def test_what_was_superseded_never_scores_above_its_successor_in_a_chain_of_any_length(
    scores: list[float], random: Any, past: bool, data: st.DataObject
) -> None:
    last = len(scores) - 1
    chain = [
        memory(str(at), superseded_by=link(str(at + 1)) if at < last else "", **data.draw(_fields))
        for at in range(len(scores))
    ]
    found = list(zip(scores, chain, strict=True))
    random.shuffle(found)
    boosts = Boosts("shop", ("src/x.py",), When(past=past))
    boosted = apply_boosts([score for score, _ in found], [each for _, each in found], boosts)
    by_name = dict(zip((each.title for _, each in found), boosted, strict=True))
    in_order = [by_name[str(at)] for at in range(len(scores))]
    assert all(older <= module.SUPERSEDED_CAP * newer for older, newer in pairwise(in_order))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_notes_superseding_each_other_in_a_loop_get_the_lowest_score(length: int) -> None:
    names = "abc"[:length]
    loop = [memory(name, superseded_by=link(names[(at + 1) % length])) for at, name in enumerate(names)]
    outside = memory("before", superseded_by=link("a"))
    scores = apply_boosts([*(0.9, 0.5, 0.2)[:length], 0.8], [*loop, outside], NO_BOOSTS)
    assert len(set(scores[:length])) == 1
    assert scores[-1] <= module.SUPERSEDED_CAP * scores[0]


@given(st.lists(st.floats(0.01, 1), min_size=6, max_size=6), st.permutations(range(6)))
def test_what_leads_into_a_loop_is_behind_it_in_whichever_order_they_come(
    scores: list[float], order: list[int]
) -> None:
    after = {"a": "b", "b": "c", "c": "d", "d": "e", "e": "c", "z": ""}
    memories = [memory(name, superseded_by=link(then) if then else "") for name, then in after.items()]
    boosted = apply_boosts([scores[at] for at in order], [memories[at] for at in order], NO_BOOSTS)
    found = {memories[at].title: score for at, score in zip(order, boosted, strict=True)}
    assert found["c"] == found["d"] == found["e"]
    assert found["a"] <= module.SUPERSEDED_CAP * found["b"]
    assert found["b"] <= module.SUPERSEDED_CAP * found["c"]


def test_two_memories_superseded_by_one_rank_behind_it() -> None:
    memories = [memory("a", superseded_by=link("c")), memory("b", superseded_by=link("c")), memory("c")]
    first, second, last = apply_boosts([1.0, 0.9, 0.2], memories, NO_BOOSTS)
    assert first == second == module.SUPERSEDED_CAP * last


def test_a_missing_successor_caps_nothing() -> None:
    assert boosted_score(memory(superseded_by=link("gone")), NO_BOOSTS) == pytest.approx(
        boosted_score(memory(), NO_BOOSTS) * module.SET_ASIDE
    )
