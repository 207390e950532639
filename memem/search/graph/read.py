"""Read the graph of memories: neighbours and statistics, and the links that lead to, from and nowhere."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core.errors import Ambiguous, InputError, NoteError, NotFound
from memem.core.memory import Edge, Entry, Memory, link_target
from memem.search import find
from memem.search.graph.edges import BUILT_AT, BUILT_BY, BUILT_FOR
from memem.search.graph.rules import Clusters
from memem.search.refresh import fresh_rows

if TYPE_CHECKING:
    from memem.workspace import Workspace


MOST_STEPS, MOST_NEIGHBORS = 3, 100
RULES = 1
"""Raised whenever something else is made of the same notes and vectors: the graph is then behind."""


@dataclass(frozen=True, slots=True)
class Neighbor(Entry):
    """A memory near another: how many steps away, and the edge of the last one."""

    steps: int
    edge: Edge


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """A memory and what is around it, the nearest first; `behind` says that notes changed since the graph was made."""

    entry: Entry
    neighbors: tuple[Neighbor, ...]
    behind: bool


@dataclass(frozen=True, slots=True)
class Stats:
    """The graph in numbers.

    An orphan is a memory in force without any edge, a cluster two or more memories that edges connect. `most` is the
    number of edges of the memory that has the most. `by` says what notes were compared by, `built` when.
    """

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


def edges(ws: Workspace) -> list[Edge]:
    """All edges, the strongest first. Both memories of each are among `memories`."""
    known = memories(ws)
    return [edge for edge in ws.index.edges.all() if edge.source in known and edge.target in known]


def memories(ws: Workspace) -> dict[str, Entry]:
    """The memories that are in the graph, by id, whatever their status; of several files with one id the first."""
    rows = ws.index.rows("problem IS NULL AND status <> 'quarantined' ORDER BY path")
    found: dict[str, Entry] = {}
    for row in rows:
        if row.memory:
            found.setdefault(row.memory.id, Entry(row.memory, row.path))
    return found


def stands(memory: Memory) -> bool:
    """Whether it is in force as far as its links go: the others are led to by what is stated alone."""
    return memory.status == "active" and not memory.superseded_by


def neighbors(ws: Workspace, identity: str, *, depth: int = 1, limit: int = 20) -> Neighborhood:
    """What is around a memory: up to `depth` steps away, and of what is equally far the strongest first."""
    if not 1 <= depth <= MOST_STEPS:
        raise InputError(f"The depth is a number from 1 to {MOST_STEPS}.")
    if not 1 <= limit <= MOST_NEIGHBORS:
        raise InputError(f"The limit is a number from 1 to {MOST_NEIGHBORS}.")
    entry = find.get(ws, identity)
    reached: dict[str, tuple[int, float, Edge]] = {}
    strength = {entry.id: 1.0}
    ahead = [entry.id]
    for steps in range(1, depth + 1):
        found = _next(ws, ahead, strength)
        for other, (strong, edge) in found.items():
            reached[other] = (steps, strong, edge)
            strength[other] = strong
        ahead = list(found)
    nearest = sorted(reached, key=lambda other: (reached[other][0], -reached[other][1], other))
    known = _entries(ws, nearest[: 2 * limit])
    shown = [Neighbor(known[id].memory, known[id].path, *reached[id][::2]) for id in nearest if id in known]
    return Neighborhood(entry, tuple(shown[:limit]), is_behind(ws))


def stats(ws: Workspace) -> Stats:
    """The graph in numbers."""
    known, found = memories(ws), edges(ws)
    degrees = degrees_of(found)
    places = {identity: place for place, identity in enumerate(known)}
    clusters = Clusters(len(known))
    for edge in found:
        clusters.join(places[edge.source], places[edge.target])
    sizes = [size for size in Counter(clusters.all()).values() if size > 1]
    return Stats(
        memories=len(known),
        edges=len(found),
        kinds=_counted(edge.kind for edge in found),
        origins=_counted(edge.origin for edge in found),
        orphans=sum(stands(entry.memory) and identity not in degrees for identity, entry in known.items()),
        clusters=len(sizes),
        largest=max(sizes, default=0),
        mean=round(sum(degrees.values()) / len(known), 2) if known else 0.0,
        most=max(degrees.values(), default=0),
        by=ws.index.meta(BUILT_BY),
        built=ws.index.meta(BUILT_AT),
        behind=is_behind(ws),
    )


def degrees_of(edges: Iterable[Edge]) -> Counter[str]:
    """How many edges each memory has."""
    return Counter(end for edge in edges for end in (edge.source, edge.target))


def state(ws: Workspace) -> str:
    """What the graph is made of, in a word: another one as soon as a note, or what is known of its meaning, is."""
    passages, words = ws.index.passages, ws.settings.encoder == "none"
    meant = "words" if words else f"{passages.store_id()}/{passages.count_pending()}"
    return f"{RULES} {ws.index.edges.version()} {meant}"


def is_built(ws: Workspace) -> bool:
    """Whether the graph was ever made as a whole."""
    return bool(ws.index.meta(BUILT_FOR))


def is_behind(ws: Workspace) -> bool:
    """Whether something has changed since then."""
    return ws.index.meta(BUILT_FOR) != state(ws)


def _next(ws: Workspace, ahead: list[str], strength: dict[str, float]) -> dict[str, tuple[float, Edge]]:
    """What is one step further, each by the way that is the strongest up to there."""
    found: dict[str, tuple[float, Edge]] = {}
    for edge in ws.index.edges.of(ahead):
        for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
            strong = strength.get(here, 0.0) * edge.score
            if here in ahead and there not in strength and strong > found.get(there, (0.0, edge))[0]:
                found[there] = (strong, edge)
    return found


def _entries(ws: Workspace, ids: list[str]) -> dict[str, Entry]:
    """Those that may be shown, as they are on disk now."""
    marks = ", ".join("?" * len(ids))
    condition = f"id IN ({marks}) AND status <> 'quarantined' ORDER BY path DESC"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, ids))
    return {row.memory.id: Entry(row.memory, row.path) for row in rows if row.memory}


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


PROPERTIES = ("supersedes", "superseded_by", "related", "contradicts")


def links_of(memory: Memory, name: str) -> tuple[str, ...]:
    """The links that a property holds, one or several."""
    value: str | tuple[str, ...] = getattr(memory, name)
    return value if isinstance(value, tuple) else (value,) if value else ()


def followed(ws: Workspace, links: Iterable[str]) -> Iterator[Entry]:
    """What links lead to, as far as that is there and can be read."""
    for link in filter(None, links):
        with suppress(NotFound, Ambiguous, InputError, NoteError):
            yield find.get(ws, link)


def leading_here(ws: Workspace, entry: Entry) -> list[Entry]:
    """The memories that link to this one by any property, those that may be found, by their id."""
    naming = "(instr(memory, ?) OR instr(memory, ?)) AND status <> 'quarantined' AND id <> ? ORDER BY id, path"
    names = (entry.memory.id8, link_target(entry.link), entry.id)
    rows = fresh_rows(ws, lambda: ws.index.rows(naming, names))
    found = [Entry(row.memory, row.path) for row in rows if row.memory]
    return [each for each in found if any(leads_to(each, entry, name) for name in PROPERTIES)]


def leads_to(entry: Entry, other: Entry, name: str) -> bool:
    """Whether one memory links to another by this property."""
    return any(other.is_named_by(link) for link in links_of(entry.memory, name))


def in_properties(memory: Memory) -> list[tuple[str, str]]:
    """The links of a note's properties, each with the name of its property."""
    return [(name, link) for name in PROPERTIES for link in links_of(memory, name)]


def everywhere(memory: Memory) -> list[tuple[str, str]]:
    """The same, and the links of its statement, under the name `body`."""
    from memem.search.graph import rules  # a session that begins follows properties alone

    return [*in_properties(memory), *(("body", link) for link, _, _ in rules.in_sentences(memory.body))]


def dangling(
    memories: Mapping[str, Memory],
    vault: Path,
    among: Callable[[Memory], Iterable[tuple[str, str]]] = in_properties,
) -> Iterator[tuple[str, str, str]]:
    """The path of a note, the property and the link, for each that leads to no note of the vault."""
    ends = {memory.id8 for memory in memories.values()}
    ids = {memory.id for memory in memories.values()}
    others: Collection[str] | None = None
    for path, memory in memories.items():
        for name, link in among(memory):
            wanted = link_target(link)
            if wanted.rpartition("-")[2] in ends or wanted in ids or any(id.startswith(wanted) for id in ids if wanted):
                continue
            others = _stems(vault) if others is None else others
            if wanted not in others:
                yield path, name, link


def circles(memories: Mapping[str, Memory]) -> list[tuple[str, ...]]:
    """The paths of notes that superseded each other in a circle, each circle by itself."""
    after = {path: set[str]() for path in memories}
    paths = {memory.id8: path for path, memory in memories.items()}
    for path, memory in memories.items():
        later, earlier = (
            paths.get(link_target(link).rpartition("-")[2]) for link in (memory.superseded_by, memory.supersedes)
        )
        if later:
            after[path].add(later)
        if earlier:
            after[earlier].add(path)
    reached = {path: _reached(path, after) for path in after if after[path]}
    within = {path: {each for each in found if path in reached.get(each, ())} for path, found in reached.items()}
    return sorted({tuple(sorted(circle)) for path, circle in within.items() if path in circle})


def _reached(start: str, after: Mapping[str, Collection[str]]) -> set[str]:
    found: set[str] = set()
    ahead = list(after[start])
    while ahead:
        path = ahead.pop()
        if path not in found:
            found.add(path)
            ahead += after[path]
    return found


def link_names(vault: Path) -> Iterator[str]:
    """The paths of all files that a person sees in the vault."""
    for folder, folders, files in os.walk(vault):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = Path(folder).relative_to(vault)
        yield from ((inside / name).as_posix() for name in files)


def _stems(vault: Path) -> set[str]:
    return {path.rpartition("/")[2].removesuffix(".md") for path in link_names(vault)}
