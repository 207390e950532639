"""A decision in words: what came in and why, what nearly did, and why nothing was said."""

import json
from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from memem.core.memory import Hit, Memory, Slice
from memem.inject.receipts import explain, slice_items
from memem.state.receipts import FILE, PROMPT, SESSION_START, Receipt, ReceiptItem, dump_items, parse_items

ZONE = timezone(timedelta(hours=1))
TIME = 1_772_352_000.0
SIGNING = ReceiptItem("3f2c9a1e-8d1b", "How tokens are signed", confidence=0.83, cosine=0.62, terms=("rs256", "tokens"))
CARTS = ReceiptItem(
    "00000002-8d1b", "When carts expire", shown=False, confidence=0.31, cosine=0.2, kept_out="not likely enough to help"
)
KNOWN = ReceiptItem(
    "00000003-8d1b",
    "Where keys are",
    shown=False,
    confidence=0.7,
    terms=("keys",),
    kept_out="said already in this context",
)


def explained(*items: ReceiptItem, **more: object) -> str:
    known: dict[str, object] = {"project": "shop", "line": 0.5, "characters": 1_640}
    return "\n".join(explain(Receipt(TIME, items=items, **({"event": PROMPT} | known | more)), ZONE))  # type: ignore[arg-type]


def test_what_was_shown_is_explained_with_what_nearly_was(snapshot: SnapshotAssertion) -> None:
    assert explained(SIGNING, ReceiptItem("00000009-0000", pinned=True), CARTS, KNOWN) == snapshot


def test_why_nothing_was_said_is_explained(snapshot: SnapshotAssertion) -> None:
    reason = "no memory matches the prompt well enough"
    assert explained(CARTS, reason=reason, characters=0, degraded="the weights are missing") == snapshot


def test_a_session_that_began_and_a_file_are_explained(snapshot: SnapshotAssertion) -> None:
    item = ReceiptItem("00000007-0000", "The shop is the checkout backend")
    assert [explained(item, event=SESSION_START, line=0.0), explained(item, SIGNING, event=FILE, line=0.0)] == snapshot


def test_a_prompt_of_no_project_that_nothing_came_near_to_takes_one_line() -> None:
    assert explained(project="", reason="the index is being built", characters=0) == (
        "On 2026-03-01 at 09:00, memem showed nothing for a prompt: the index is being built."
    )


def test_an_occasion_of_another_kind_is_named_as_it_is() -> None:
    assert ", memem showed 1 memory (" in explained(SIGNING, event="compaction")


def test_what_came_of_it_is_told_once_it_is_known() -> None:
    used = ReceiptItem("00000001-0000", "A", used="its id is in the answer")
    assert explained(used).splitlines()[1] == "  A (00000001): It was used: its id is in the answer."
    assert explained(ReceiptItem("00000001-0000", "A", used="no")).endswith(
        "A (00000001): Nothing shows that it was used."
    )
    assert explained(ReceiptItem("00000001-0000", "A")).endswith("A (00000001)")


def test_how_near_a_memory_is_in_meaning_has_a_word_and_a_number() -> None:
    near = [explained(ReceiptItem("00000001-0000", "A", cosine=cosine)).splitlines()[1] for cosine in (0.62, 0.41, 0.1)]
    assert [line.partition("It is ")[2] for line in near] == [
        "close in meaning (0.62).",
        "fairly close in meaning (0.41).",
        "distant in meaning (0.10).",
    ]


def test_several_pinned_ones_are_counted_and_not_named() -> None:
    pinned = [ReceiptItem(f"0000000{number}-0000", pinned=True) for number in range(3)]
    assert explained(*pinned).splitlines()[1:] == ["  3 pinned memories of the project were also shown."]


def test_of_many_words_some_are_named() -> None:
    terms = tuple(f"word{number}" for number in range(9))
    assert "“word5” and 3 more words with the prompt" in explained(ReceiptItem("00000001-0000", "A", terms=terms))
    assert "“word5” and 1 more word with the prompt" in explained(ReceiptItem("00000001-0000", "A", terms=terms[:7]))
    assert "It shares “word0” with the prompt." in explained(ReceiptItem("00000001-0000", "A", terms=terms[:1]))


def test_what_kept_a_memory_out_is_told_as_it_was_and_never_guessed() -> None:
    near = ReceiptItem("00000001-0000", "A", shown=False, kept_out="no room.")
    assert explained(near).splitlines()[-1] == "  A (00000001): Kept out: no room."
    old = ReceiptItem("00000001-0000", "A", shown=False, confidence=0.2)
    assert explained(old).splitlines()[2] == "  A (00000001): 20% likely to help."


@pytest.mark.parametrize(
    ("confidence", "line", "percent", "least"),
    [
        (0.2499, 0.25, "24%", "25%"),
        (0.29, 0.5, "29%", "50%"),
        (0.256, 0.253, "26%", "25.3%"),
        (0.2535, 0.253, "26%", "25.3%"),
        (0.2525, 0.253, "25%", "25.3%"),
        (0.25, 0.25, "25%", "25%"),
        (0.996, 0.999, "99%", "99.9%"),
    ],
)
def test_a_percentage_is_on_the_right_side_of_the_line(
    confidence: float, line: float, percent: str, least: str
) -> None:
    lines = explained(ReceiptItem("00000001-0000", "A", shown=confidence >= line, confidence=confidence), line=line)
    assert f": {percent} likely to help." in lines
    assert f"at least {least} likely to help." in lines


def test_a_full_stop_is_not_told_twice() -> None:
    lines = explained(reason="nothing was found.", degraded="there are no weights.", characters=0).splitlines()
    assert [line[-7:] for line in lines] == [" found.", "eights."]
    assert explained(ReceiptItem("00000001-0000", "A", used="it was cited.")).endswith("It was used: it was cited.")


def test_words_of_earlier_turns_are_not_said_to_be_the_prompts_own() -> None:
    item = ReceiptItem("00000001-0000", "A", terms=("ledger",), cosine=0.6)
    assert explained(item, followed=True).endswith(
        "It shares “ledger” with the prompt or with earlier turns, and is close in meaning (0.60)."
    )


@pytest.mark.parametrize(
    ("terms", "listed"),
    [
        (("连接", "接池"), "“连接池”"),
        (("redis", "连接", "接池", "池超", "超时"), "“redis” and “连接池超时”"),
        (("连接", "超时"), "“连接” and “超时”"),
        (("ab", "bc"), "“ab” and “bc”"),
        (("池", "池子"), "“池” and “池子”"),
    ],
)
def test_pairs_of_characters_that_overlap_are_told_as_the_word_they_come_from(
    terms: tuple[str, ...], listed: str
) -> None:
    assert f"It shares {listed} with the prompt." in explained(ReceiptItem("00000001-0000", "A", terms=terms))


# --- made of what was decided -------------------------------------------------------------------------------------


def hit(number: int, **more: object) -> Hit:
    memory = Memory(f"{number:08}-0000", f"Title\n{number} " + "long " * 40, "Body.")
    return Hit(memory, "a.md", 0.75, **({"cosine": 0.4, "terms": ("rs256",), "helps": 0.6} | more))  # type: ignore[arg-type]


def test_a_receipt_has_what_a_slice_shows_what_is_pinned_in_it_and_what_it_nearly_showed() -> None:
    items = slice_items(Slice("text", (hit(1),), "", "shop", "", pinned=("00000002-0000",), runners_up=(hit(3),)))
    assert [(item.id8, item.shown, item.pinned) for item in items] == [
        ("00000001", True, False),
        ("00000002", True, True),
        ("00000003", False, False),
    ]
    assert (items[0].score, items[0].confidence, items[0].cosine, items[0].terms) == (0.75, 0.6, 0.4, ("rs256",))


def test_only_what_was_not_shown_was_kept_out() -> None:
    hits = (hit(1, kept_out="superseded"),), (hit(2, kept_out="superseded"),)
    items = slice_items(Slice("text", hits[0], "", "shop", "", runners_up=hits[1]))
    assert [item.kept_out for item in items] == ["", "superseded"]


def test_a_title_is_one_short_line_and_terms_are_few() -> None:
    (item,) = slice_items(Slice("text", (hit(1, terms=tuple(map(str, range(99)))),), "", "shop", ""))
    assert item.title.startswith("Title 1 long")
    assert len(item.title) <= 80
    assert len(item.terms) == 12


def test_a_cosine_that_says_nothing_is_not_told() -> None:
    (item,) = slice_items(Slice("text", (hit(1, understood=False),), "", "shop", ""))
    assert item.cosine is None


def test_only_what_a_prompt_or_a_file_called_for_is_judged() -> None:
    items = (SIGNING, ReceiptItem("00000009-0000", pinned=True), CARTS)
    assert Receipt(TIME, PROMPT, "s1", items=items).to_judge == (SIGNING,)
    assert Receipt(TIME, FILE, "s1", items=items).to_judge == (SIGNING,)
    assert Receipt(TIME, SESSION_START, "s1", items=items).to_judge == ()
    assert Receipt(TIME, PROMPT, "", items=items).to_judge == ()


floats = st.none() | st.floats(0, 1)
ITEMS = st.builds(
    ReceiptItem,
    st.text(),
    st.text(),
    st.booleans(),
    st.booleans(),
    floats,
    floats,
    floats,
    st.tuples(st.text()),
    st.text(),
    st.text(),
)


@given(ITEMS)
def test_an_item_survives_a_round_through_json(item: ReceiptItem) -> None:
    assert parse_items(dump_items([item])) == (item,)


def test_an_item_states_only_what_it_knows() -> None:
    assert json.loads(dump_items([ReceiptItem("00000001-0000", "A")])) == [{"id": "00000001-0000", "title": "A"}]
