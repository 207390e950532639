"""The receipts: bounded, judged once, and with them how often each memory was of use."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memem.core.errors import StateUnusable
from memem.state import contexts, receipts
from memem.state.contexts import Contexts
from memem.state.receipts import FILE, PROMPT, SESSION_START, Receipt, ReceiptItem, Receipts

A, B = "aaaaaaaa-0000", "bbbbbbbb-0000"
ITEMS = (
    ReceiptItem(A, "A “title”", score=0.9, confidence=0.8, cosine=0.7, terms=("rs256", "网关")),
    ReceiptItem(B, shown=False, terms=("carts",), kept_out="no room"),
)
SHOWN = Receipt(1.5, PROMPT, "s1", "shop", "0123", "2 of 9", 640, 0.5, "no weights", ITEMS, followed=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "contexts.db"


@pytest.fixture
def store(path: Path) -> Iterator[Receipts]:
    with closing(Contexts(path)) as opened:
        yield opened.receipts


def add(store: Receipts, *, time: float = 1, event: str = PROMPT, session: str = "s1", shown: str = A) -> int:
    return store.add(Receipt(time, event, session, items=(ReceiptItem(shown),) if shown else ()))


def test_a_receipt_comes_back_as_it_was(store: Receipts) -> None:
    number = store.add(SHOWN)
    assert store.last() == replace(SHOWN, number=number)


def test_the_last_one_is_of_a_session_or_of_all(store: Receipts) -> None:
    numbers = [add(store, session=session) for session in ("s1", "s2", "s1", "s3")]
    assert [getattr(store.last(session), "number", None) for session in ("s1", "s2", "", "none")] == [
        numbers[2],
        numbers[1],
        numbers[3],
        None,
    ]


def test_the_oldest_goes_when_there_are_too_many(store: Receipts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "MOST_RECEIPTS", 3)
    numbers = [add(store) for _ in range(9)]
    assert [receipt.number for receipt in store.for_memory(A, 99)] == numbers[:-4:-1]


def test_a_receipt_holds_few_memories(store: Receipts) -> None:
    shown = [ReceiptItem(f"shown {number}") for number in range(99)]
    near = [ReceiptItem(f"near {number}", shown=False) for number in range(9)]
    store.add(Receipt(1, PROMPT, "s1", items=(*near, *shown)))
    (receipt,) = store.unjudged("s1")
    assert receipt.shown == tuple(shown[: receipts.MOST_SHOWN])
    assert receipt.runners_up == tuple(near[:3])


def test_a_memory_finds_the_receipts_that_show_it_the_last_first(store: Receipts) -> None:
    numbers = [store.add(SHOWN), add(store, shown=B), store.add(SHOWN), store.add(SHOWN)]
    assert [receipt.number for receipt in store.for_memory(A, 2)] == [numbers[3], numbers[2]]
    assert [receipt.number for receipt in store.for_memory(B, 9)] == [numbers[1]], "nearly shown is not shown"
    assert store.for_memory(A[:8], 9) == store.for_memory("s1", 9) == []


# --- judged -------------------------------------------------------------------------------------------------------


def test_what_was_shown_waits_to_be_judged_and_nothing_else_does(store: Receipts) -> None:
    numbers = [add(store), add(store, event=FILE)]
    add(store, event=SESSION_START)
    add(store, shown="")
    add(store, session="")
    add(store, session="s2")
    assert [receipt.number for receipt in store.unjudged("s1")] == numbers
    assert store.unjudged("") == []


def test_how_memories_were_used_is_written_down_and_counted(store: Receipts) -> None:
    number = store.add(
        replace(SHOWN, items=(ReceiptItem(A), ReceiptItem(B), ReceiptItem("c"), ReceiptItem("d", shown=False)))
    )
    store.mark_used(number, {A: "cited", B: "no"}, now=7)
    assert [item.used for item in getattr(store.last(), "items", ())] == ["cited", "no", "", ""]
    assert store.tally([A, B, "c", "d"]) == {A: (1, 1), B: (1, 0)}
    assert not store.has_unjudged()


def test_nothing_is_judged_or_counted_twice(store: Receipts) -> None:
    number = add(store)
    for used in ("no", "cited"):
        store.mark_used(number, {A: used}, now=7)
    store.mark_used(number + 1, {A: "cited"}, now=7)
    assert store.tally([A]) == {A: (1, 0)}
    assert store.for_memory(A, 1)[0].items[0].used == "no"


def test_what_cannot_be_judged_counts_for_nothing_and_is_not_tried_again(store: Receipts) -> None:
    store.mark_used(add(store), {}, now=7)
    assert (store.unjudged("s1"), store.tally([A])) == ([], {})


def test_what_has_waited_too_long_is_given_up(store: Receipts) -> None:
    add(store, time=10)
    late = add(store, time=20)
    store.expire_unjudged(before=20)
    assert [receipt.number for receipt in store.unjudged("s1")] == [late]
    assert store.has_unjudged()


def test_uses_add_up_over_sessions(store: Receipts) -> None:
    for number, used in enumerate(["cited", "no", "no", "cited"]):
        store.mark_used(add(store, session=f"s{number}"), {A: used}, now=number)
    assert store.tally([A]) == {A: (4, 2)}


def test_a_tally_of_many_is_whole(store: Receipts) -> None:
    store.mark_used(add(store), {A: "cited"}, now=1)
    assert store.tally([*(f"other {number}" for number in range(2_000)), A]) == {A: (1, 1)}
    assert store.tally([]) == {}


def test_what_is_old_is_dropped(store: Receipts) -> None:
    for time, identity in ((10, A), (30, B)):
        store.mark_used(add(store, time=time, shown=identity), {identity: "no"}, now=time)
    store.prune(before=20)
    assert store.tally([A, B]) == {B: (1, 0)}
    assert (store.for_memory(A, 9), len(store.for_memory(B, 9))) == ([], 1)


def test_a_session_that_is_forgotten_leaves_no_receipt(store: Receipts) -> None:
    for session in ("s1", "s2"):
        add(store, session=session)
    store.forget("s1")
    assert (store.last("s1"), getattr(store.last(), "session", "")) == (None, "s2")


def test_a_memory_that_is_forgotten_leaves_its_id_and_no_words(store: Receipts) -> None:
    number = store.add(replace(SHOWN, items=(*ITEMS, ReceiptItem("c", "Other", terms=("x",)))))
    store.mark_used(number, {A: "the answer uses its words (rs256)", "c": "cited"}, now=1)
    before = store.for_memory("c", 1)[0]
    store.forget_memory(A)
    (after,) = store.for_memory(A, 9)
    assert after.items[0] == replace(before.items[0], title="", terms=(), used="")
    assert (after.items[1:], replace(after, items=())) == (before.items[1:], replace(before, items=()))
    assert store.tally([A, "c"]) == {"c": (1, 1)}


# --- the file -----------------------------------------------------------------------------------------------------


def test_a_file_of_the_first_version_gets_the_receipts_and_keeps_what_it_has(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        contexts.MIGRATIONS[0](connection)
        connection.execute("INSERT INTO contexts VALUES ('s1', 0, 1, x'00', 7.0)")
        connection.execute("INSERT INTO shown VALUES (1, 's1', 'a')")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    with closing(Contexts(path)) as opened:
        assert (opened.shown("s1"), opened.get("s1").empty) == (["a"], 1)
        assert opened.receipts.last() is None
        number = opened.receipts.add(SHOWN)
    with closing(Contexts(path)) as again:
        assert again.receipts.last() == replace(SHOWN, number=number)
        assert again.shown("s1") == ["a"]


def test_a_receipt_of_the_second_version_is_told_as_it_was(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        for migration in contexts.MIGRATIONS[:2]:
            migration(connection)
        stated = (7, 1.5, PROMPT, "s1", "shop", "0123", "why", 640, 0.5, "", '[{"id":"a","shown":false}]', 1)
        connection.execute("INSERT INTO receipts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", stated)
        connection.execute("PRAGMA user_version = 2")
        connection.commit()
    with closing(Contexts(path)) as opened:
        item = ReceiptItem("a", shown=False)
        assert opened.receipts.last() == Receipt(1.5, PROMPT, "s1", "shop", "0123", "why", 640, 0.5, "", (item,), 7)


def test_a_context_that_is_emptied_keeps_its_receipts(path: Path) -> None:
    with closing(Contexts(path)) as opened:
        opened.add("s1", [A], 1)
        add(opened.receipts)
        opened.forget("s1")
        opened.prune(before=99)
        assert opened.receipts.last("s1")


def test_damage_is_told_in_our_words(store: Receipts) -> None:
    store._connect().execute("DROP TABLE usefulness")
    with pytest.raises(StateUnusable, match=r"damaged.*Delete the file"):
        store.tally([A])


@pytest.mark.parametrize(
    "damaged", ["", "{}", "[5]", '[{"id": "a", "other": 1}]', '[{"id": "a", "terms": 5}]', "[" * 100_000]
)
def test_a_receipt_that_was_damaged_is_damage_of_the_record(store: Receipts, damaged: str) -> None:
    add(store)
    store._connect().execute("UPDATE receipts SET items = ?", (damaged,))
    with pytest.raises(StateUnusable, match="damaged"):
        store.last()
