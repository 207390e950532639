"""Which note holds which passage, and which passages have no vector yet."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memem.core import sqlite
from memem.core.errors import IndexDamaged
from memem.core.memory import Memory
from memem.search import passages
from memem.search.notes import NoteIndex, NoteRow
from memem.search.passages import passage_key
from memem.search.query import Scope

ALL = Scope(archive=True)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NoteIndex]:
    monkeypatch.setattr(passages, "PASSAGE_SIZE", 4)  # a paragraph of one word is a passage
    opened = NoteIndex(tmp_path / "cache" / "index.db")
    opened.passages.reset_pending("s")
    yield opened
    opened.close()


def save(index: NoteIndex, name: str, *words: str, **fields: Any) -> int:
    """A note with a passage for each of the (ten-letter) words; returns its row."""
    memory = Memory(id=name, title="", body="\n\n".join(words), **fields)
    index.update([NoteRow(f"{name}.md", (1, 2, 3), "", memory)])
    query = "SELECT row FROM notes WHERE id = ?"
    return int(index._connection.execute(query, (name,)).fetchone()[0])


def remove(index: NoteIndex, name: str) -> None:
    index.update([], gone=[f"{name}.md"])


def keys(*words: str) -> set[bytes]:
    return {passage_key(word) for word in words}


def pending(index: NoteIndex) -> set[bytes]:
    return {each for (each,) in index._connection.execute("SELECT key FROM pending")}


ONE, TWO, THREE, FOUR = "first-text", "secondtext", "third-text", "fourthtext"


# --- what is held -------------------------------------------------------------------------------------------------


def test_a_note_has_its_passages_until_they_change(index: NoteIndex) -> None:
    save(index, "a", ONE, TWO)
    assert index.passages.keys() == keys(ONE, TWO)
    save(index, "a", TWO, THREE)
    assert index.passages.keys() == keys(TWO, THREE)
    remove(index, "a")
    assert index.passages.keys() == set()


def test_a_passage_of_two_notes_is_counted_once(index: NoteIndex) -> None:
    save(index, "a", ONE, TWO)
    save(index, "b", TWO, THREE)
    assert index.passages.count() == 3


def test_a_shared_passage_stays_when_one_note_is_removed(index: NoteIndex) -> None:
    save(index, "a", ONE, TWO)
    save(index, "b", TWO)
    remove(index, "a")
    assert index.passages.keys() == pending(index) == keys(TWO)


@pytest.mark.parametrize(
    "memory", [None, Memory(id="a", title="", body=ONE, status="quarantined")], ids=["unreadable", "quarantined"]
)
def test_a_quarantined_note_has_no_passages(index: NoteIndex, memory: Memory | None) -> None:
    save(index, "a", ONE)
    index.update([NoteRow("a.md", (1, 2, 3), "", memory, problem="" if memory else "half-typed")])
    assert index.passages.keys() == pending(index) == set()


def test_a_reset_index_has_no_passages(index: NoteIndex) -> None:
    save(index, "a", ONE)
    index.reset_for("another vault")
    assert index.passages.keys() == pending(index) == set()


# --- who holds it -------------------------------------------------------------------------------------------------


@pytest.fixture
def rows(index: NoteIndex) -> dict[str, int]:
    """Notes of two projects, one of them archived."""
    return {
        "a": save(index, "a", ONE, TWO, project="shop"),
        "b": save(index, "b", TWO, project="zoo"),
        "c": save(index, "c", TWO, THREE, project="zoo", layer=3),
        "d": save(index, "d", FOUR, project="zoo", status="stale"),
    }


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (ALL, {("a", TWO), ("b", TWO), ("c", TWO), ("c", THREE)}),
        (Scope(), {("a", TWO), ("b", TWO)}),
        (Scope(("zoo",)), {("b", TWO)}),
        (Scope(("zoo",), archive=True), {("b", TWO), ("c", TWO), ("c", THREE)}),
        (Scope(("nowhere",)), set()),
        (Scope(()), set()),
    ],
)
def test_the_holders_of_passages_are_those_in_the_scope(
    index: NoteIndex, rows: dict[str, int], scope: Scope, expected: set[tuple[str, str]]
) -> None:
    pairs = index.passages.holders([passage_key(TWO), passage_key(THREE), passage_key("nobody's")], scope)
    assert sorted(pairs) == sorted((passage_key(text), rows[name]) for name, text in expected)


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (ALL, {("a", ONE), ("a", TWO), ("b", TWO), ("c", TWO), ("c", THREE), ("d", FOUR)}),
        (Scope(), {("a", ONE), ("a", TWO), ("b", TWO)}),
        (Scope(("zoo", "shop")), {("a", ONE), ("a", TWO), ("b", TWO)}),
        (Scope(("zoo",), archive=True), {("b", TWO), ("c", TWO), ("c", THREE), ("d", FOUR)}),
        (Scope(()), set()),
    ],
)
def test_all_passages_of_a_scope_are_given_with_their_rows(
    index: NoteIndex, rows: dict[str, int], scope: Scope, expected: set[tuple[str, str]]
) -> None:
    assert sorted(index.passages.in_scope(scope)) == sorted((passage_key(text), rows[name]) for name, text in expected)


def test_the_passages_of_given_rows_are_theirs(index: NoteIndex, rows: dict[str, int]) -> None:
    pairs = index.passages.of_rows([rows["a"], rows["d"], 999])
    assert sorted(pairs) == sorted(
        [(passage_key(ONE), rows["a"]), (passage_key(TWO), rows["a"]), (passage_key(FOUR), rows["d"])]
    )
    assert index.passages.of_rows([]) == []


def test_more_keys_than_one_statement_allows_are_looked_up(index: NoteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "MAX_VALUES", 2)
    words = [f"number{number:04}" for number in range(5)]
    rows = [save(index, word, word) for word in words]
    expected = sorted(zip(map(passage_key, words), rows, strict=True))
    assert (
        sorted(index.passages.of_rows(rows))
        == sorted(index.passages.holders(list(map(passage_key, words)), Scope()))
        == expected
    )


# --- what waits for a vector --------------------------------------------------------------------------------------


def test_new_passages_are_pending_and_unchecked(index: NoteIndex) -> None:
    save(index, "a", ONE, TWO)
    assert index.passages.count_pending() == 2
    assert set(index.passages.unchecked()) == keys(ONE, TWO)


def test_marked_passages_are_not_looked_up_again(index: NoteIndex) -> None:
    save(index, "a", ONE, TWO, THREE)
    index.passages.mark("s", [passage_key(ONE)], [passage_key(TWO)])
    assert pending(index) == keys(TWO, THREE)
    assert set(index.passages.unchecked()) == keys(THREE)
    assert index.passages.keys() == keys(ONE, TWO, THREE)


def test_an_updated_note_waits_again_for_all_its_passages_and_no_longer_for_the_old(index: NoteIndex) -> None:
    save(index, "a", ONE, TWO)
    index.passages.mark("s", [passage_key(ONE)], [passage_key(TWO)])
    save(index, "a", ONE, THREE)
    assert pending(index) == set(index.passages.unchecked()) == keys(ONE, THREE)


def test_a_checked_passage_stays_checked_when_another_note_shares_it(index: NoteIndex) -> None:
    save(index, "a", ONE)
    index.passages.mark("s", [], [passage_key(ONE)])
    save(index, "b", ONE)
    assert (index.passages.count_pending(), index.passages.unchecked()) == (1, [])


def test_a_removed_note_leaves_nothing_pending(index: NoteIndex) -> None:
    save(index, "a", ONE, TWO)
    index.passages.mark("s", [passage_key(ONE)])
    remove(index, "a")
    assert index.passages.count_pending() == 0


def test_for_another_model_everything_waits_again(index: NoteIndex) -> None:
    save(index, "a", ONE, TWO)
    save(index, "b", TWO, THREE)
    index.passages.mark("s", [passage_key(ONE)], [passage_key(TWO)])
    index.passages.reset_pending("s")
    assert pending(index) == set(index.passages.unchecked()) == keys(ONE, TWO, THREE)


def test_marking_an_unused_passage_changes_nothing(index: NoteIndex) -> None:
    save(index, "a", ONE)
    index.passages.mark("s", [passage_key(TWO)], [passage_key(THREE)])
    assert pending(index) == set(index.passages.unchecked()) == keys(ONE)


def test_marks_for_another_store_are_ignored(index: NoteIndex) -> None:
    save(index, "a", ONE, TWO)
    index.passages.mark("another", [passage_key(ONE)], [passage_key(TWO)])
    assert pending(index) == set(index.passages.unchecked()) == keys(ONE, TWO)
    index.passages.reset_pending("another")
    assert index.passages.store_id() == "another"
    index.passages.mark("another", [passage_key(ONE)])
    assert pending(index) == keys(TWO)


def test_the_notes_that_wait_are_those_with_a_passage_that_waits(index: NoteIndex) -> None:
    for name, words in (("a", (ONE, TWO)), ("b", (TWO,)), ("c", (THREE,)), ("d", (FOUR,))):
        save(index, name, *words)
    index.passages.mark("s", [passage_key(ONE), passage_key(THREE)])
    assert [memory.id for memory in index.memories_without_vectors(10)] == ["a", "b", "d"]
    assert [memory.id for memory in index.memories_without_vectors(2)] == ["a", "b"]


def test_a_failed_update_leaves_passages_and_work_as_they_were(index: NoteIndex) -> None:
    save(index, "a", ONE)
    unfit = Memory(id="b", title="", body=TWO, tags=(object(),))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        index.update([NoteRow("b.md", (1, 2, 3), "", unfit)], gone=["a.md"])
    assert index.passages.keys() == pending(index) == keys(ONE)


def test_lost_tables_are_damage(index: NoteIndex) -> None:
    other = sqlite3.connect(index.path)
    with other:
        other.execute("DROP TABLE passages")
        other.execute("DROP TABLE pending")
    other.close()
    uses = (
        index.passages.count,
        index.passages.keys,
        index.passages.count_pending,
        lambda: index.passages.reset_pending("s"),
        index.passages.unchecked,
        lambda: index.passages.holders([passage_key(ONE)], ALL),
        lambda: index.passages.in_scope(ALL),
        lambda: index.passages.of_rows([1]),
        lambda: index.passages.mark("s", [passage_key(ONE)]),
    )
    for use in uses:
        with pytest.raises(IndexDamaged, match="memem index rebuild"):
            use()
