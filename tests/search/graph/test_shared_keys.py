"""Edges by rare keys and path patterns."""

from typing import Any

from memem.core.memory import Memory
from memem.search.graph.rules import MAX_SHARERS, find_shared_edges


def memory(number: int, project: str = "shop", **fields: Any) -> Memory:
    return Memory(f"id{number}", "A title", "A statement.", project, **fields)


def find_edges(*memories: Memory) -> list[tuple[int, int, float, str]]:
    return list(find_shared_edges(memories))


def test_shared_key_connects_in_any_case() -> None:
    assert find_edges(memory(1, keys=("REDIS_URL",)), memory(2, keys=("redis_url ",)), memory(3)) == [
        (0, 1, 0.8, "key")
    ]


def test_shared_path_pattern_connects() -> None:
    assert find_edges(memory(1, paths=("src/auth/**",)), memory(2, paths=("src/auth/**",))) == [(0, 1, 0.8, "path")]


def test_rarer_keys_connect_more_strongly() -> None:
    three = find_edges(*(memory(number, keys=("k",)) for number in range(3)))
    assert [(one, other) for one, other, _, _ in three] == [(0, 1), (0, 2), (1, 2)]
    assert {score for _, _, score, _ in three} == {0.6}


def test_common_key_connects_nothing() -> None:
    assert (
        len(find_edges(*(memory(number, keys=("k",)) for number in range(MAX_SHARERS))))
        == MAX_SHARERS * (MAX_SHARERS - 1) / 2
    )
    assert find_edges(*(memory(number, keys=("k",)) for number in range(MAX_SHARERS + 1))) == []


def test_only_general_shares_keys_across_projects() -> None:
    assert find_edges(memory(1, "shop", keys=("k",)), memory(2, "ledger", keys=("k",))) == []
    assert find_edges(memory(1, "shop", keys=("k",)), memory(2, "general", keys=("k",))) == [(0, 1, 0.8, "key")]


def test_pair_appears_once_with_its_strongest_origin() -> None:
    three = [memory(number, keys=("k",), paths=("p",) if number else ()) for number in range(3)]
    assert [each for each in find_edges(*three) if each[:2] == (1, 2)] == [(1, 2, 0.8, "path")]
