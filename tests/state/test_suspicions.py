"""Pairs that seem to contradict each other, and what the model said of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memem.state.database import State
from memem.state.suspicions import COMPATIBLE, CONTRADICT, MAX_TRIES, WAITING, Suspicion, Suspicions

PAIR = Suspicion("a", "b", "1:2")
OTHER = Suspicion("a", "c", "1:3")


@pytest.fixture
def suspicions(tmp_path: Path) -> Iterator[Suspicions]:
    state = State(tmp_path / "state.db", fsync=False)
    yield state.suspicions
    state.close()


def test_a_pair_waits_until_it_is_judged(suspicions: Suspicions) -> None:
    suspicions.add([PAIR, OTHER])
    assert suspicions.waiting(10) == [PAIR, OTHER]
    suspicions.judge(PAIR, CONTRADICT, "6379 is not 6380")
    assert suspicions.waiting(10) == [OTHER]
    assert suspicions.pairs()[0] == Suspicion("a", "b", "1:2", CONTRADICT, "6379 is not 6380")


def test_a_pair_that_is_added_again_keeps_its_verdict(suspicions: Suspicions) -> None:
    suspicions.add([PAIR])
    suspicions.judge(PAIR, COMPATIBLE, "")
    suspicions.add([PAIR])
    assert [each.verdict for each in suspicions.pairs()] == [COMPATIBLE]


def test_a_pair_that_says_something_else_is_another_question(suspicions: Suspicions) -> None:
    suspicions.add([PAIR])
    suspicions.judge(PAIR, COMPATIBLE, "both hold")
    suspicions.add([Suspicion("a", "b", "1:9")])
    assert suspicions.pairs() == [Suspicion("a", "b", "1:9", WAITING, "")]


def test_a_verdict_on_what_a_pair_no_longer_says_does_not_count(suspicions: Suspicions) -> None:
    suspicions.add([Suspicion("a", "b", "1:9")])
    suspicions.judge(PAIR, COMPATIBLE, "")
    assert [each.verdict for each in suspicions.pairs()] == [WAITING]


def test_what_fails_every_time_is_not_asked_for_ever(suspicions: Suspicions) -> None:
    suspicions.add([PAIR, OTHER])
    for _ in range(MAX_TRIES):
        suspicions.count_try([PAIR])
    assert suspicions.waiting(10) == [OTHER]


def test_the_least_tried_come_first_and_not_all_at_once(suspicions: Suspicions) -> None:
    suspicions.add([PAIR, OTHER])
    suspicions.count_try([PAIR])
    assert suspicions.waiting(1) == [OTHER]


def test_of_a_memory_that_was_forgotten_no_pair_is_known(suspicions: Suspicions) -> None:
    suspicions.add([PAIR, OTHER, Suspicion("c", "d", "3:4")])
    suspicions.forget("a")
    assert suspicions.pairs() == [Suspicion("c", "d", "3:4")]
    suspicions.forget_pair(Suspicion("c", "d", "3:4"))
    assert suspicions.pairs() == []
