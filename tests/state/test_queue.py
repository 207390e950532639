"""Marks: a session that has something new is marked, and stays so until somebody takes it up."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memem.core.errors import StateUnusable
from memem.state.database import State
from memem.state.sessions import Mark, Queue
from memem.state.tables import count_marks


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    with closing(State(tmp_path / "state" / "state.db", fsync=False)) as state:
        yield state.queue


def test_a_mark_is_taken_once(queue: Queue) -> None:
    mark = Mark("s1", "/a/s1.jsonl", flush=True, expected="abc")
    queue.mark(mark, 1)
    assert queue.take("s1") == mark
    assert queue.take("s1") is None


def test_nobody_can_take_what_is_not_marked(queue: Queue) -> None:
    queue.mark(Mark("s1", "/a/s1.jsonl"), 1)
    assert queue.take("s2") is None
    assert len(queue.marks()) == 1


def test_the_oldest_mark_comes_first(queue: Queue) -> None:
    for session, now in (("late", 3), ("early", 1), ("between", 2)):
        queue.mark(Mark(session, f"/a/{session}.jsonl"), now)
    assert [mark.session for mark in queue.marks()] == ["early", "between", "late"]


def test_a_session_that_is_marked_again_has_its_turn_after_the_others(queue: Queue) -> None:
    queue.mark(Mark("s1", "/a/s1.jsonl"), 1)
    queue.mark(Mark("s2", "/a/s2.jsonl"), 2)
    queue.mark(Mark("s1", "/a/s1.jsonl"), 3)
    assert [mark.session for mark in queue.marks()] == ["s2", "s1"]
    assert [mark.session for mark in queue.due(10, marked_since=3)] == ["s1"]


def test_an_answer_that_is_waited_for_is_not_forgotten_by_another_mark(queue: Queue) -> None:
    queue.mark(Mark("s1", "/a/s1.jsonl", expected="abc"), 1)
    queue.mark(Mark("s1", "/a/s1.jsonl"), 2)
    assert queue.take("s1") == Mark("s1", "/a/s1.jsonl", expected="abc")


def test_a_session_that_was_to_be_flushed_still_is(queue: Queue) -> None:
    queue.mark(Mark("s1", "/a/s1.jsonl", flush=True), 1)
    queue.mark(Mark("s1", "/a/s1.jsonl"), 2)
    assert queue.take("s1") == Mark("s1", "/a/s1.jsonl", flush=True)


def test_the_last_place_and_the_last_expected_answer_count(queue: Queue) -> None:
    queue.mark(Mark("s1", "/a/s1.jsonl", expected="old"), 1)
    queue.mark(Mark("s1", "/b/s1.jsonl", expected="new"), 2)
    assert queue.take("s1") == Mark("s1", "/b/s1.jsonl", expected="new")


def test_a_mark_that_comes_while_the_session_is_read_is_a_new_one(queue: Queue) -> None:
    queue.mark(Mark("s1", "/a/s1.jsonl", flush=True), 1)
    queue.take("s1")
    queue.mark(Mark("s1", "/a/s1.jsonl"), 2)
    assert queue.marks() == [Mark("s1", "/a/s1.jsonl")]


def test_any_name_can_be_marked(queue: Queue) -> None:
    for name in ("../../x", "'; DROP TABLE queue; --", "会话"):
        queue.mark(Mark(name, "/a"), 1)
    assert {mark.session for mark in queue.marks()} == {"../../x", "'; DROP TABLE queue; --", "会话"}


def test_marks_are_counted_without_opening_the_whole_state(queue: Queue) -> None:
    assert count_marks(queue.path) == 0
    queue.mark(Mark("s1", "/a/s1.jsonl"), 1)
    queue.mark(Mark("s2", "/a/s2.jsonl"), 1)
    assert count_marks(queue.path) == 2


def test_where_there_is_no_state_nothing_is_marked_and_none_is_made(tmp_path: Path) -> None:
    assert count_marks(tmp_path / "state.db") == 0
    assert not list(tmp_path.glob("state.db*"))


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100])
def test_marks_in_a_damaged_state_cannot_be_counted(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state.db").write_bytes(content)
    with pytest.raises(StateUnusable, match="damaged"):
        count_marks(tmp_path / "state.db")
