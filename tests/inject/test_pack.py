"""Packing a slice: the best memories first, each cut to its share, and the whole always under its budget."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memem.core.memory import MOST_HITS, PINNED_MAX_CHARACTERS, PINNED_MAX_NOTES, Hit, Memory
from memem.core.options import OPTIONS
from memem.inject.pack import SHORTER, PackedSlice, drop_repeats, pack
from memem.safety import quote
from tests.builders import examples

SMALLEST, USUAL, LARGEST = 500, 8_000, 9_500
FACTS = ["- Project: shop", "- Branch: main"]
_long = st.tuples(st.sampled_from(("word ", "x", "数", "\n", "<a>", "> ", " ", "**")), st.integers(0, 1_500))
_text = st.one_of(st.text(max_size=80), _long.map(lambda pair: pair[0] * pair[1]))
_memories = st.lists(st.builds(Memory, st.just("3f2c9a1e-7"), _text, _text, project=_text), max_size=12)
_budgets = st.integers(min_value=SMALLEST, max_value=LARGEST)


def memory(number: int = 0, body: str = "", **fields: Any) -> Memory:
    return Memory(id=f"{number:08d}-x", title=f"Memory {number}", body=body, project="shop", **fields)


def hits(*memories: Memory) -> list[Hit]:
    return [Hit(each, f"{each.id}.md", 1.0) for each in memories]


def numbers(packed: PackedSlice) -> list[int]:
    return [int(line.split(".")[0]) for line in packed.text.splitlines() if re.match(r"[0-9]+\. ", line)]


def pins(packed: PackedSlice) -> int:
    return packed.text.count("\n- Pinned · ")


def test_the_budgets_tried_here_are_those_that_can_be_set() -> None:
    option = next(option for option in OPTIONS if option.key == "slice_characters")
    assert [option.parse(str(budget)) for budget in (SMALLEST, USUAL, LARGEST)] == [SMALLEST, USUAL, LARGEST]
    for beyond in (SMALLEST - 1, LARGEST + 1):
        with pytest.raises(ValueError, match="use a number"):
            option.parse(str(beyond))


# --- bounds -------------------------------------------------------------------------------------------------------


@settings(max_examples=examples(150))
@given(_memories, _memories, _budgets)
@example([memory(body="x" * 9_000)] * 12, [memory(body="x" * 9_000)] * 12, SMALLEST)
def test_a_slice_never_exceeds_its_budget(found: list[Memory], pinned: list[Memory], budget: int) -> None:
    packed = pack(hits(*found), pinned, FACTS, "shop", budget)
    assert len(packed.text) <= budget
    assert numbers(packed) == list(range(1, len(packed.hits) + 1))
    assert len(packed.hits) <= MOST_HITS


@given(_text, _text, st.lists(_text, max_size=6).map(tuple), _budgets)
@example("b" * 300, "t" * 300, ("f" * 300,), SMALLEST)
def test_the_facts_count_against_the_budget_too(branch: str, mode: str, files: tuple[str, ...], budget: int) -> None:
    facts = quote.list_facts(project="p" * 80, branch=branch, task_mode=mode, files=files)
    pinned = [memory(number, "x" * 400) for number in range(10)]
    packed = pack(hits(memory(1, "x" * 400)), pinned, facts, "shop", budget)
    assert len(packed.text) <= budget
    assert packed.text.splitlines()[2:4] == [quote.WORKING, f"- Project: {'p' * 80}"]


def test_at_most_so_many_hits_are_shown_and_they_are_the_best() -> None:
    found = hits(*(memory(number, "short") for number in range(MOST_HITS + 4)))
    packed = pack(found, [], FACTS, "shop", USUAL)
    assert packed.hits == tuple(found[:MOST_HITS])
    assert numbers(packed) == list(range(1, MOST_HITS + 1))


def test_a_hit_that_does_not_fit_leaves_room_for_smaller_ones() -> None:
    small, large, last = memory(1, "small"), memory(2, "y\n" * 300), memory(3, "last")
    packed = pack(hits(small, large, last), [], FACTS, "shop", SMALLEST)
    assert [hit.memory for hit in packed.hits] == [small, last]
    assert numbers(packed) == [1, 2]


def test_the_last_character_of_the_budget_is_used_and_no_more() -> None:
    found = hits(memory(1, "one"), memory(2, "two"))
    exact = len(pack(found, [], FACTS, "shop", USUAL).text)
    assert len(pack(found, [], FACTS, "shop", exact).hits) == 2
    assert len(pack(found, [], FACTS, "shop", exact - 1).hits) == 1


def test_a_hit_is_reported_if_and_only_if_it_is_shown() -> None:
    found = hits(*(memory(number, "z" * 300) for number in range(6)))
    packed = pack(found, [], FACTS, "shop", 1_000)
    assert 0 < len(packed.hits) < len(found)
    assert [hit for hit in found if hit.memory.id8 in packed.text] == list(packed.hits)


def test_a_long_body_is_cut_to_its_share() -> None:
    packed = pack(hits(memory(1, "word " * 2_000), memory(2, "word " * 2_000)), [], FACTS, "shop", USUAL)
    assert len(packed.hits) == 2
    assert packed.text.count("[…]") == 2


def test_a_long_body_is_shown_by_the_passage_that_answers() -> None:
    (found,) = hits(memory(1, "word " * 2_000 + "the answer"))
    assert "the answer" not in pack([found], [], FACTS, "shop", USUAL).text
    assert "   > […] the answer\n" in pack([replace(found, passage="the answer")], [], FACTS, "shop", USUAL).text


@pytest.mark.parametrize("most", SHORTER)
def test_the_first_is_cut_shorter_where_there_is_no_room_for_its_share(most: int) -> None:
    (found,) = hits(memory(1, "word " * 2_000))
    budget = len(quote.render_slice(FACTS, [quote.render_item(1, found, "shop", most)]))
    assert pack([found], [], FACTS, "shop", budget).hits == (found,)
    assert len(pack([found], [], FACTS, "shop", budget).text) == budget


def test_what_has_no_room_even_so_is_not_shown() -> None:
    (found,) = hits(memory(1, "word " * 2_000))
    budget = len(quote.render_slice(FACTS, [quote.render_item(1, found, "shop", min(SHORTER))])) - 1
    assert pack([found], [], FACTS, "shop", budget) == PackedSlice(quote.render_slice(FACTS, []), ())


def test_those_after_the_first_are_not_cut_shorter() -> None:
    first, second = hits(memory(1, "small"), memory(2, "word " * 2_000))
    budget = len(quote.render_slice(FACTS, [quote.render_item(1, each, "shop", 300) for each in (first, second)]))
    assert pack([first, second], [], FACTS, "shop", budget).hits == (first,)


def test_where_the_best_has_no_room_at_all_the_next_comes_first_and_is_cut_in_its_place() -> None:
    wide, long = hits(memory(1, "y\n" * 300), memory(2, "word " * 2_000))
    budget = len(quote.render_slice(FACTS, [quote.render_item(1, long, "shop", min(SHORTER))]))
    packed = pack([wide, long], [], FACTS, "shop", budget)
    assert (packed.hits, numbers(packed)) == ((long,), [1])


def test_nothing_at_all_is_still_a_slice() -> None:
    packed = pack([], [], FACTS, "shop", USUAL)
    assert packed == PackedSlice(quote.render_slice(FACTS, []), ())


# --- pinned -------------------------------------------------------------------------------------------------------


def test_pinned_memories_are_shown_before_the_hits_in_their_order() -> None:
    packed = pack(hits(memory(3, "hit")), [memory(1, "one"), memory(2, "two")], FACTS, "shop", USUAL)
    places = [packed.text.index(part) for part in ("> one", "> two", quote.RELEVANT, "> hit")]
    assert places == sorted(places)


def test_at_most_so_many_pinned_memories_are_shown() -> None:
    pinned = [memory(number, "short") for number in range(PINNED_MAX_NOTES + 5)]
    assert pins(pack([], pinned, FACTS, "shop", USUAL)) == PINNED_MAX_NOTES


@settings(max_examples=examples(60))
@given(_memories, _budgets)
def test_pinned_memories_stay_in_their_share(pinned: list[Memory], budget: int) -> None:
    without = pack([], [], FACTS, "shop", budget)
    packed = pack([], pinned, FACTS, "shop", budget)
    assert len(packed.text) - len(without.text) <= min(PINNED_MAX_CHARACTERS, budget // 2)


def test_pinned_memories_leave_room_for_a_hit_in_the_smallest_slice() -> None:
    pinned = [memory(number, "x" * 100) for number in range(10)]
    packed = pack(hits(memory(99, "the hit")), pinned, FACTS, "shop", SMALLEST)
    assert len(packed.hits) == 1
    assert pins(packed) > 0


# --- the same twice -----------------------------------------------------------------------------------------------

STATED = (
    "The nightly job of the ledger runs at three in the morning and writes its report into the shared folder, where "
    "people of finance look it up."
)


def distinct_numbers(*bodies: str) -> list[int]:
    """Which of these statements are shown, under one title."""
    found = [replace(memory(number, body), title="Ledger") for number, body in enumerate(bodies)]
    return [int(hit.id[:8]) for hit in drop_repeats(hits(*found))]


@pytest.mark.parametrize(
    "again",
    [
        STATED,
        STATED.upper(),
        STATED.replace(" ", "\n  "),
        STATED.replace("shared ", ""),
        STATED.replace("writes", "puts"),
        "  ".join(reversed(STATED.rstrip(".").split())),
    ],
)
def test_what_says_the_same_as_a_better_one_is_shown_once(again: str) -> None:
    assert distinct_numbers(STATED, again) == [0]
    assert distinct_numbers(again, STATED) == [0]


@pytest.mark.parametrize(
    "changed",
    [
        STATED.replace("three", "3"),
        STATED.replace("runs", "never runs"),
        STATED.replace("runs", "does not run"),
        STATED.replace("writes", "writes no"),
        STATED.replace("at three", "before three"),
        STATED.replace("shared folder", "shared folder /srv/ledger"),
        STATED.replace("ledger", "ledger_sync"),
        STATED.replace("report", "report since v2.3"),
    ],
)
def test_a_number_a_name_or_a_negation_makes_it_another_statement(changed: str) -> None:
    assert distinct_numbers(STATED, changed) == [0, 1]


def test_what_differs_in_more_than_a_word_is_another_statement() -> None:
    assert distinct_numbers(STATED, STATED.replace("ledger", "invoices").replace("morning", "afternoon")) == [0, 1]
    assert distinct_numbers("Deploys run on Mondays.", "Deploys run on Fridays.") == [0, 1]


@pytest.mark.parametrize("other", ["on", "off"])
def test_what_is_switched_on_is_not_what_is_switched_off(other: str) -> None:
    both = [STATED.replace("runs", f"is switched {switch} and runs") for switch in ("on", "off")]
    assert distinct_numbers(*both) == [0, 1]
    assert distinct_numbers(STATED, STATED.replace("runs", f"{other} runs")) == [0, 1]


def test_the_same_under_another_title_is_measured_with_it() -> None:
    same = [replace(memory(1, "Yes."), title="Ledger runs nightly"), replace(memory(2, "Yes."), title="Carts expire")]
    assert len(drop_repeats(hits(*same))) == 2


def test_in_a_script_without_spaces_two_statements_are_not_taken_for_one() -> None:
    assert distinct_numbers("支付服务用 Redis 做缓存", "支付服务用 Redis 做队列") == [0, 1]
    assert distinct_numbers("支付服务用 Redis 做缓存", "支付服务用 Redis 做缓存") == [0]


@settings(max_examples=examples(60))
@given(st.lists(st.text("ab 1\n", max_size=12), max_size=6))
def test_of_any_statements_the_first_of_each_is_kept_in_their_order(bodies: list[str]) -> None:
    shown = distinct_numbers(*bodies)
    assert shown == sorted(shown)
    assert shown[:1] == ([0] if bodies else [])
    assert distinct_numbers(*(bodies[at] for at in shown)) == list(range(len(shown)))
