"""Reading the graph: edges, statistics and neighbours."""

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
    ws.index.edges.replace(
        made, {"graph_for": read.compute_version(ws), "graph_at": "2026-03-01", "graph_by": "meaning"}
    )


def around(ws: Workspace, name: str, **options: int) -> list[tuple[str, int]]:
    return [(each.title, each.steps) for each in read.find_neighbors(ws, identity(name), **options).neighbors]


def test_neighbours_are_listed_strongest_first_in_both_directions(ws: Workspace) -> None:
    connected(ws, ("a", "b", 0.5), ("c", "a", 0.9), ("b", "d", 0.9))
    assert around(ws, "a") == [("c", 1), ("b", 1)]


def test_farther_neighbours_come_later_and_only_once(ws: Workspace) -> None:
    connected(ws, ("a", "b", 0.5), ("a", "c", 0.9), ("b", "c", 0.9), ("c", "d", 0.9), ("b", "e", 0.9), ("e", "f", 1.0))
    assert around(ws, "a", depth=2) == [("c", 1), ("b", 1), ("d", 2), ("e", 2)]
    assert around(ws, "a", depth=3)[-1] == ("f", 3)


def test_neighbour_has_the_edge_that_leads_to_it(ws: Workspace) -> None:
    connected(ws, ("a", "b", 0.5), ("c", "b", 0.9))
    near, far = read.find_neighbors(ws, identity("a"), depth=2).neighbors
    assert (near.edge.target, near.edge.kind, near.edge.score) == (identity("b"), "supports", 0.5)
    assert (far.edge.source, far.edge.target) == (identity("c"), identity("b"))


def test_limit_bounds_the_neighbours(ws: Workspace) -> None:
    connected(ws, *(("a", other, 0.5 + ord(other) / 1_000) for other in "bcdef"))
    assert around(ws, "a", limit=2) == [("f", 1), ("e", 1)]


def test_forgotten_and_quarantined_memories_are_not_neighbours(ws: Workspace) -> None:
    connected(ws, ("a", "b", 0.5), ("a", "c", 0.5), ("a", "d", 0.5))
    forget.forget(ws, identity("b"))
    write.edit(ws, identity("c"), status="quarantined")
    assert around(ws, "a") == [("d", 1)]


def test_outdated_graph_is_reported(ws: Workspace) -> None:
    connected(ws)
    assert not read.find_neighbors(ws, identity("a")).behind
    write.edit(ws, identity("a"), importance=5)
    assert read.find_neighbors(ws, identity("a")).behind


@pytest.mark.parametrize("options", [{"depth": 0}, {"depth": 4}, {"limit": 0}, {"limit": 101}])
def test_depth_and_limit_are_bounded(ws: Workspace, options: dict[str, int]) -> None:
    connected(ws)
    with pytest.raises(InputError, match=r"must be a number from 1 to"):
        read.find_neighbors(ws, identity("a"), **options)


def test_missing_memory_raises_not_found(ws: Workspace) -> None:
    connected(ws)
    with pytest.raises(NotFound):
        read.find_neighbors(ws, "ffffffff")


def test_statistics_count_edges_orphans_and_clusters(ws: Workspace) -> None:
    connected(ws, ("a", "b", 0.5), ("b", "c", 0.5), ("d", "e", 0.5))
    found = read.compute_stats(ws)
    assert (found.memories, found.edges, found.orphans, found.clusters, found.largest) == (6, 3, 1, 2, 3)
    assert (found.kinds, found.origins, found.mean, found.most) == ({"supports": 3}, {"meaning": 3}, 1.0, 2)
    assert (found.by, found.built, found.behind) == ("meaning", "2026-03-01", False)


def test_outdated_memory_is_not_an_orphan(ws: Workspace) -> None:
    connected(ws, names="ab")
    write.edit(ws, identity("a"), status="deprecated")
    assert read.compute_stats(ws).orphans == 1


def test_empty_vault_has_an_empty_graph(ws: Workspace) -> None:
    ws.store.make_vault()
    build.refresh_graph(ws)
    found = read.compute_stats(ws)
    assert (found.memories, found.edges, found.mean, found.most, found.behind) == (0, 0, 0.0, 0, False)


def test_edges_join_existing_memories_only(ws: Workspace) -> None:
    connected(ws, ("a", "b", 0.5), ("b", "c", 0.6))
    write.edit(ws, identity("c"), status="quarantined")
    assert [(each.source, each.target) for each in read.list_edges(ws)] == [(identity("a"), identity("b"))]
    assert identity("c") not in read.list_memories(ws)
