"""Read the graph of memories: neighbours, statistics, and links that lead to, from and nowhere."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.errors import Ambiguous, InputError, NoteError, NotFound
from memem.core.memory import Edge, Entry, Memory, link_target
from memem.search import find
from memem.search.graph.edges import BUILT_AT, BUILT_BY, BUILT_FOR
from memem.search.graph.rules import Clusters, find_body_links
from memem.search.refresh import fresh_rows

if TYPE_CHECKING:
    from memem.workspace import Workspace

MAX_DEPTH, MAX_NEIGHBORS = 3, 100
RULES_VERSION = 1  # raised when the same notes and vectors give another graph
LINK_PROPERTIES = ("supersedes", "superseded_by", "related", "contradicts")


@dataclass(frozen=True, slots=True)
class Neighbor(Entry):
    """A memory close to another: the number of steps, and the edge of the last one."""

    steps: int
    edge: Edge


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """A memory and its neighbours, closest first; `behind` when notes changed since the graph was built."""

    entry: Entry
    neighbors: tuple[Neighbor, ...]
    behind: bool


@dataclass(frozen=True, slots=True)
class GraphStats:
    """The graph in numbers: docs/json.md explains each field."""

    memories: int
    edges: int
    kinds: dict[str, int]
    origins: dict[str, int]
    orphans: int
    clusters: int
    largest: int
    mean: float
    most: int
    by: str
    built: str
    behind: bool


def list_edges(ws: Workspace) -> list[Edge]:
    """All edges between readable memories, strongest first."""
    memories = list_memories(ws)
    return [edge for edge in ws.index.edges.all() if edge.source in memories and edge.target in memories]


def list_memories(ws: Workspace) -> dict[str, Entry]:
    """The memories in the graph by id, whatever their status; of several files with one id the first."""
    entries: dict[str, Entry] = {}
    for row in ws.index.rows("problem IS NULL AND status <> 'quarantined' ORDER BY path"):
        if row.memory:
            entries.setdefault(row.memory.id, Entry(row.memory, row.path))
    return entries


def is_current(memory: Memory) -> bool:
    """Whether a memory is compared with others; the rest have stated edges only."""
    return memory.status == "active" and not memory.superseded_by


def find_neighbors(ws: Workspace, identity: str, *, depth: int = 1, limit: int = 20) -> Neighborhood:
    """The memories up to `depth` steps away; of those equally far, the strongest first."""
    if not 1 <= depth <= MAX_DEPTH:
        raise InputError(f"The depth must be a number from 1 to {MAX_DEPTH}.")
    if not 1 <= limit <= MAX_NEIGHBORS:
        raise InputError(f"The limit must be a number from 1 to {MAX_NEIGHBORS}.")
    entry = find.get(ws, identity)
    reached: dict[str, tuple[int, float, Edge]] = {}
    strengths = {entry.id: 1.0}
    frontier = [entry.id]
    for steps in range(1, depth + 1):
        neighbors = _step(ws, frontier, strengths)
        reached |= {other: (steps, strength, edge) for other, (strength, edge) in neighbors.items()}
        strengths |= {other: strength for other, (strength, _) in neighbors.items()}
        frontier = list(neighbors)
    closest = sorted(reached, key=lambda other: (reached[other][0], -reached[other][1], other))
    ids = closest[: 2 * limit]
    condition = f"id IN ({', '.join('?' * len(ids))}) AND status <> 'quarantined' ORDER BY path DESC"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, ids))
    shown = {row.memory.id: (row.memory, row.path) for row in rows if row.memory}
    closest_entries = [Neighbor(*shown[id], *reached[id][::2]) for id in ids if id in shown]
    return Neighborhood(entry, tuple(closest_entries[:limit]), is_behind(ws))


def compute_stats(ws: Workspace) -> GraphStats:
    memories, edges = list_memories(ws), list_edges(ws)
    degrees = count_degrees(edges)
    places = {identity: place for place, identity in enumerate(memories)}
    clusters = Clusters(len(memories))
    for edge in edges:
        clusters.join(places[edge.source], places[edge.target])
    sizes = [size for size in Counter(clusters.all()).values() if size > 1]
    return GraphStats(
        memories=len(memories),
        edges=len(edges),
        kinds=dict(sorted(Counter(edge.kind for edge in edges).items())),
        origins=dict(sorted(Counter(edge.origin for edge in edges).items())),
        orphans=sum(is_current(entry.memory) and identity not in degrees for identity, entry in memories.items()),
        clusters=len(sizes),
        largest=max(sizes, default=0),
        mean=round(sum(degrees.values()) / len(memories), 2) if memories else 0.0,
        most=max(degrees.values(), default=0),
        by=ws.index.meta(BUILT_BY),
        built=ws.index.meta(BUILT_AT),
        behind=is_behind(ws),
    )


def count_degrees(edges: Iterable[Edge]) -> Counter[str]:
    return Counter(end for edge in edges for end in (edge.source, edge.target))


def compute_version(ws: Workspace) -> str:
    """A version of the notes and vectors the graph is built from."""
    passages = ws.index.passages
    vectors = "words" if ws.settings.encoder == "none" else f"{passages.store_id()}/{passages.count_pending()}"
    return f"{RULES_VERSION} {ws.index.edges.version()} {vectors}"


def is_built(ws: Workspace) -> bool:
    return bool(ws.index.meta(BUILT_FOR))


def is_behind(ws: Workspace) -> bool:
    return ws.index.meta(BUILT_FOR) != compute_version(ws)


def _step(ws: Workspace, frontier: list[str], strengths: dict[str, float]) -> dict[str, tuple[float, Edge]]:
    """The memories one step further, each with the strength of the best way to it and the last edge of that way."""
    neighbors: dict[str, tuple[float, Edge]] = {}
    for edge in ws.index.edges.of(frontier):
        for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
            strength = strengths.get(here, 0.0) * edge.score
            if here in frontier and there not in strengths and strength > neighbors.get(there, (0.0, edge))[0]:
                neighbors[there] = (strength, edge)
    return neighbors


def get_links(memory: Memory, name: str) -> tuple[str, ...]:
    value: str | tuple[str, ...] = getattr(memory, name)
    return value if isinstance(value, tuple) else (value,) if value else ()


def resolve_links(ws: Workspace, links: Iterable[str]) -> Iterator[Entry]:
    """The memories that links lead to, as far as they exist and can be read."""
    for link in filter(None, links):
        with suppress(NotFound, Ambiguous, InputError, NoteError):
            yield find.get(ws, link)


def find_backlinks(ws: Workspace, entry: Entry) -> list[Entry]:
    """The memories, by id, that link to this one in any property."""
    condition = "(instr(memory, ?) OR instr(memory, ?)) AND status <> 'quarantined' AND id <> ? ORDER BY id, path"
    values = (entry.memory.id8, link_target(entry.link), entry.id)
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, values))
    entries = [Entry(row.memory, row.path) for row in rows if row.memory]
    return [other for other in entries if any(is_linked_by(other, entry, name) for name in LINK_PROPERTIES)]


def is_linked_by(entry: Entry, other: Entry, name: str) -> bool:
    return any(other.is_named_by(link) for link in get_links(entry.memory, name))


def list_links(memory: Memory, *, body: bool) -> list[tuple[str, str]]:
    """The links of a note, each with the name of its property; those of the statement have the name `body`."""
    links = [(name, link) for name in LINK_PROPERTIES for link in get_links(memory, name)]
    return links + [("body", link) for link, _, _ in find_body_links(memory.body)] if body else links


def find_dangling_links(
    memories: Mapping[str, Memory], vault: Path, *, body: bool = False
) -> Iterator[tuple[str, str, str]]:
    """Note path, property and link of each link that leads to no note of the vault."""
    short_ids = {memory.id8 for memory in memories.values()}
    ids = {memory.id for memory in memories.values()}
    unresolved = []
    for path, memory in memories.items():
        for name, link in list_links(memory, body=body):
            target = link_target(link)
            is_id = bool(target) and any(id.startswith(target) for id in ids)
            if not is_id and target.rpartition("-")[2] not in short_ids:
                unresolved.append((path, name, link))
    if unresolved:  # the vault is listed only when needed
        stems = {file.rpartition("/")[2].removesuffix(".md") for file in list_files(vault)}
        yield from (item for item in unresolved if link_target(item[2]) not in stems)


def find_cycles(memories: Mapping[str, Memory]) -> list[tuple[str, ...]]:
    """The paths of notes that supersede each other in a circle."""
    later = {path: set[str]() for path in memories}
    paths = {memory.id8: path for path, memory in memories.items()}
    for path, memory in memories.items():
        if successor := paths.get(link_target(memory.superseded_by).rpartition("-")[2]):
            later[path].add(successor)
        if predecessor := paths.get(link_target(memory.supersedes).rpartition("-")[2]):
            later[predecessor].add(path)
    cycles: list[tuple[str, ...]] = []
    while True:
        try:
            TopologicalSorter(later).prepare()
            return sorted(cycles)
        except CycleError as error:
            cycle = set(error.args[1])
            cycles.append(tuple(sorted(cycle)))
            later = {path: others - cycle for path, others in later.items() if path not in cycle}


def list_files(vault: Path) -> Iterator[str]:
    """The paths of all visible files in the vault."""
    for folder, folders, files in os.walk(vault):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = Path(folder).relative_to(vault)
        yield from ((inside / name).as_posix() for name in files)
