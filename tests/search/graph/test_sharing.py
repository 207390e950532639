"""Where meaning is not known, a rare key or pattern that two notes share connects them."""

from typing import Any

from memem.core.memory import Memory
from memem.search.graph.rules import RARE_KEY, shared_edges


def memory(number: int, project: str = "shop", **fields: Any) -> Memory:
    return Memory(f"id{number}", "A title", "A statement.", project, **fields)


def found(*memories: Memory) -> list[tuple[int, int, float, str]]:
    return list(shared_edges(memories))


def test_a_key_that_two_hold_connects_them_however_it_is_spelled() -> None:
    assert found(memory(1, keys=("REDIS_URL",)), memory(2, keys=("redis_url ",)), memory(3)) == [(0, 1, 0.8, "key")]


def test_a_pattern_of_files_does_too() -> None:
    assert found(memory(1, paths=("src/auth/**",)), memory(2, paths=("src/auth/**",))) == [(0, 1, 0.8, "path")]


def test_the_fewer_hold_it_the_stronger_it_connects() -> None:
    three = found(*(memory(number, keys=("k",)) for number in range(3)))
    assert [(one, other) for one, other, _, _ in three] == [(0, 1), (0, 2), (1, 2)]
    assert {score for _, _, score, _ in three} == {0.6}


def test_a_key_that_many_hold_says_nothing() -> None:
    assert len(found(*(memory(number, keys=("k",)) for number in range(RARE_KEY)))) == RARE_KEY * (RARE_KEY - 1) / 2
    assert found(*(memory(number, keys=("k",)) for number in range(RARE_KEY + 1))) == []


def test_two_projects_share_nothing_but_everybody_shares_with_none_in_particular() -> None:
    assert found(memory(1, "shop", keys=("k",)), memory(2, "ledger", keys=("k",))) == []
    assert found(memory(1, "shop", keys=("k",)), memory(2, "general", keys=("k",))) == [(0, 1, 0.8, "key")]


def test_a_pair_is_told_once_by_what_connects_it_most() -> None:
    three = [memory(number, keys=("k",), paths=("p",) if number else ()) for number in range(3)]
    assert [each for each in found(*three) if each[:2] == (1, 2)] == [(1, 2, 0.8, "path")]
