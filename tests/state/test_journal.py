"""The journal: an answer is written down before it is applied, and what failed too often is kept to be tried again."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memem.core.conversation import Chunk, Turn
from memem.core.errors import StateUnusable
from memem.state.database import State
from memem.state.journal import ANSWERED, DEAD, Journal

TIME = "2026-03-01T09:00:00+01:00"
TURN = Turn("t1", "human", "Größe: 5 \U0001f389\n[…]", TIME, "s1", "/srv/shop", "main")
CHUNK = Chunk("s1", "/a/s1.jsonl", "shop", (TURN,), "commands run: make", 7, 100, "abc", ("aaaaaaaa",))
ANSWER = [{"op": "ADD", "content": "日本語", "keys": ["a"]}]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(State(tmp_path / "state" / "state.db", fsync=False)) as state:
        yield state.journal


def test_an_answer_is_open_until_it_is_finished(journal: Journal) -> None:
    record = journal.add_answer("s1", CHUNK.as_json(), ANSWER, TIME)
    (read,) = journal.unapplied("s1")
    assert (read.number, read.session, read.state, read.answer, read.time) == (
        record.number,
        "s1",
        ANSWERED,
        ANSWER,
        TIME,
    )
    journal.finish(record.number)
    assert journal.unapplied("s1") == []


def test_a_chunk_comes_back_as_it_was(journal: Journal) -> None:
    journal.add_answer("s1", CHUNK.as_json(), ANSWER, TIME)
    assert Chunk.from_json(journal.unapplied("s1")[0].chunk) == CHUNK


def test_a_chunk_has_the_same_name_whenever_it_is_mined() -> None:
    other = Turn("t2", "assistant", "Yes.")
    longer = Chunk("s1", "/a", "shop", (TURN, other), "", 1, 1, "")
    assert longer.name == "t1:t2"
    assert Chunk("fork", "/b", "other", (TURN, other), "work", 9, 9, "x", ("bbbbbbbb",)).name == longer.name


def test_answers_are_open_in_the_order_in_which_they_came(journal: Journal) -> None:
    for content in ("first", "second", "third"):
        journal.add_answer("s1", CHUNK.as_json(), [{"content": content}], TIME)
    assert [record.answer[0]["content"] for record in journal.unapplied("s1")] == ["first", "second", "third"]


def test_an_answer_is_open_for_its_own_session_only(journal: Journal) -> None:
    journal.add_answer("s1", CHUNK.as_json(), ANSWER, TIME)
    journal.add_answer("s2", CHUNK.as_json(), [], TIME)
    assert len(journal.unapplied("s1")) == len(journal.unapplied("s2")) == 1
    assert journal.sessions() == ["s1", "s2"]


def test_a_dead_letter_says_why_and_is_not_open(journal: Journal) -> None:
    journal.add_dead_letter("s1", CHUNK.as_json(), "The answer is not JSON.", TIME)
    (letter,) = journal.dead_letters()
    assert (letter.state, letter.reason, letter.answer) == (DEAD, "The answer is not JSON.", [])
    assert Chunk.from_json(letter.chunk) == CHUNK
    assert journal.unapplied("s1") == []
    assert journal.sessions() == []


def test_a_dead_letter_that_has_its_answer_is_open(journal: Journal) -> None:
    letter = journal.add_dead_letter("s1", CHUNK.as_json(), "No.", TIME)
    answered = replace(CHUNK, known=("bbbbbbbb",))
    journal.answer_dead_letter(letter.number, answered.as_json(), ANSWER)
    (record,) = journal.unapplied("s1")
    assert (record.number, record.answer, record.reason) == (letter.number, ANSWER, "")
    assert Chunk.from_json(record.chunk) == answered, "with the memories that it was shown this time"
    assert journal.dead_letters() == []


def test_a_number_is_never_given_twice(journal: Journal) -> None:
    """An answer that is finished twice must not finish another one."""
    first = journal.add_answer("s1", CHUNK.as_json(), ANSWER, TIME)
    journal.finish(first.number)
    second = journal.add_answer("s1", CHUNK.as_json(), ANSWER, TIME)
    journal.finish(first.number)
    assert [record.number for record in journal.unapplied("s1")] == [second.number]


@pytest.mark.parametrize("damaged", ["", "{", "[1]", "null", "[" * 100_000, 5])
def test_a_row_that_was_damaged_is_damage_of_the_state(journal: Journal, damaged: object) -> None:
    journal.add_answer("s1", CHUNK.as_json(), ANSWER, TIME)
    journal._connect().execute("UPDATE journal SET chunk = ?", (damaged,))
    with pytest.raises(StateUnusable, match="damaged"):
        journal.unapplied("s1")
