"""The graph as it is read: all of it, in numbers, and around one memory."""

import uuid
from collections.abc import Sequence

import pytest

from memem.core.errors import InputError, NotFound
from memem.core.memory import Edge, Memory
from memem.notes import forget, write
from memem.search.graph import build, read
from memem.workspace import Workspace


def identity(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def connected(ws: Workspace, *edges: tuple[str, str, float], names: Sequence[str] = "abcdef") -> None:
    """A vault with a memory for each name, and these edges between them and no others."""
    for name in names:
        write.keep(ws, Memory(identity(name), name, f"Statement {name}.", "shop", author="model"))
    made = [Edge(identity(one), identity(other), "supports", score, "meaning") for one, other, score in edges]
    ws.index.edges.replace(made, {"graph_for": read.state(ws), "graph_at": "2026-03-01", "graph_by": "meaning"})


def around(ws: Workspace, name: str, **options: int) -> list[tuple[str, int]]:
    return [(each.title, each.steps) for each in read.neighbors(ws, identity(name), **options).neighbors]


def test_neighbours_are_those_an_edge_leads_to_or_comes_from_the_strongest_first(ws: Workspace) -> None:
    connected(ws, ("a", "b", 0.5), ("c", "a", 0.9), ("b", "d", 0.9))
    assert around(ws, "a") == [("c", 1), ("b", 1)]


def test_further_steps_come_behind_nearer_ones_and_each_memory_once(ws: Workspace) -> None:
    connected(ws, ("a", "b", 0.5), ("a", "c", 0.9), ("b", "c", 0.9), ("c", "d", 0.9), ("b", "e", 0.9), ("e", "f", 1.0))
    assert around(ws, "a", depth=2) == [("c", 1), ("b", 1), ("d", 2), ("e", 2)]
    assert around(ws, "a", depth=3)[-1] == ("f", 3)


def test_a_neighbour_tells_the_edge_that_leads_to_it(ws: Workspace) -> None:
    connected(ws, ("a", "b", 0.5), ("c", "b", 0.9))
    near, far = read.neighbors(ws, identity("a"), depth=2).neighbors
    assert (near.edge.target, near.edge.kind, near.edge.score) == (identity("b"), "supports", 0.5)
    assert (far.edge.source, far.edge.target) == (identity("c"), identity("b"))


def test_at_most_so_many_are_shown(ws: Workspace) -> None:
    connected(ws, *(("a", other, 0.5 + ord(other) / 1_000) for other in "bcdef"))
    assert around(ws, "a", limit=2) == [("f", 1), ("e", 1)]


def test_what_was_forgotten_or_quarantined_is_no_neighbour(ws: Workspace) -> None:
    connected(ws, ("a", "b", 0.5), ("a", "c", 0.5), ("a", "d", 0.5))
    forget.forget(ws, identity("b"))
    write.edit(ws, identity("c"), status="quarantined")
    assert around(ws, "a") == [("d", 1)]


def test_it_says_when_notes_changed_since_the_graph_was_made(ws: Workspace) -> None:
    connected(ws)
    assert not read.neighbors(ws, identity("a")).behind
    write.edit(ws, identity("a"), importance=5)
    assert read.neighbors(ws, identity("a")).behind


@pytest.mark.parametrize("options", [{"depth": 0}, {"depth": 4}, {"limit": 0}, {"limit": 101}])
def test_depth_and_limit_are_bounded(ws: Workspace, options: dict[str, int]) -> None:
    connected(ws)
    with pytest.raises(InputError, match=r"is a number from 1 to"):
        read.neighbors(ws, identity("a"), **options)


def test_of_a_memory_that_is_not_there_nothing_is_told(ws: Workspace) -> None:
    connected(ws)
    with pytest.raises(NotFound):
        read.neighbors(ws, "ffffffff")


def test_the_numbers(ws: Workspace) -> None:
    connected(ws, ("a", "b", 0.5), ("b", "c", 0.5), ("d", "e", 0.5))
    found = read.stats(ws)
    assert (found.memories, found.edges, found.orphans, found.clusters, found.largest) == (6, 3, 1, 2, 3)
    assert (found.kinds, found.origins, found.mean, found.most) == ({"supports": 3}, {"meaning": 3}, 1.0, 2)
    assert (found.by, found.built, found.behind) == ("meaning", "2026-03-01", False)


def test_what_is_no_longer_in_force_is_no_orphan(ws: Workspace) -> None:
    connected(ws, names="ab")
    write.edit(ws, identity("a"), status="deprecated")
    assert read.stats(ws).orphans == 1


def test_an_empty_vault_has_a_graph_of_nothing(ws: Workspace) -> None:
    ws.store.make_vault()
    build.look_at_graph(ws)
    found = read.stats(ws)
    assert (found.memories, found.edges, found.mean, found.most, found.behind) == (0, 0, 0.0, 0, False)


def test_every_edge_leads_between_memories_that_are_there(ws: Workspace) -> None:
    connected(ws, ("a", "b", 0.5), ("b", "c", 0.6))
    write.edit(ws, identity("c"), status="quarantined")
    assert [(each.source, each.target) for each in read.edges(ws)] == [(identity("a"), identity("b"))]
    assert identity("c") not in read.memories(ws)
