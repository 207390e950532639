"""Read the graph of memories: neighbours, timelines, statistics, and links that lead to, from and nowhere."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.core.errors import Ambiguous, InputError, NoteError, NotFound
from memem.core.memory import GENERAL, Edge, Entry, Memory, link_target
from memem.core.project import normalise
from memem.search import find
from memem.search.graph.edges import BUILT_AT, BUILT_BY, BUILT_FOR
from memem.search.graph.rules import Clusters, find_body_links
from memem.search.refresh import fresh_rows

if TYPE_CHECKING:
    from memem.workspace import Workspace

MAX_DEPTH, MAX_NEIGHBORS = 3, 100
LONGEST_CHAIN, NEIGHBOURS = 20, 3  # of a timeline
RULES_VERSION = 1  # raised when the same notes and vectors give another graph
LINK_PROPERTIES = ("supersedes", "superseded_by", "related", "contradicts")


@dataclass(frozen=True, slots=True)
class Neighbor(Entry):
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


@dataclass(frozen=True, slots=True)
class Timeline:
    """A memory among others, each group ordered by distance; `earlier` and `later` are of its project."""

    entry: Entry
    predecessors: tuple[Entry, ...] = ()
    successors: tuple[Entry, ...] = ()
    related: tuple[Entry, ...] = ()
    contradicts: tuple[Entry, ...] = ()
    earlier: tuple[Entry, ...] = ()
    later: tuple[Entry, ...] = ()


def list_edges(ws: Workspace) -> list[Edge]:
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
        further: dict[str, tuple[int, float, Edge]] = {}  # each with the strength of the best way to it
        for edge in ws.index.edges.of(frontier):
            for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
                strength = strengths.get(here, 0.0) * edge.score
                if here in frontier and there not in strengths and strength > further.get(there, (0, 0.0))[1]:
                    further[there] = (steps, strength, edge)
        reached |= further
        strengths |= {other: strength for other, (_, strength, _) in further.items()}
        frontier = list(further)
    closest = sorted(reached, key=lambda other: (reached[other][0], -reached[other][1], other))
    ids = closest[: 2 * limit]
    condition = f"id IN ({', '.join('?' * len(ids))}) AND status <> 'quarantined' ORDER BY path DESC"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, ids))
    shown = {row.memory.id: (row.memory, row.path) for row in rows if row.memory}
    closest_entries = [Neighbor(*shown[id], *reached[id][::2]) for id in ids if id in shown]
    return Neighborhood(entry, tuple(closest_entries[:limit]), is_behind(ws))


def timeline(ws: Workspace, identity: str, *, project: str | None = None, beyond: bool = True) -> Timeline:
    """Build the timeline of a memory; `project` restricts all of it, `beyond` includes links to other projects."""
    entry = find.get(ws, identity)
    only = None if project is None else normalise(project)
    if only not in (None, entry.project):
        raise NotFound(f"{entry.memory.id8} belongs to {entry.project}, not to {only}.")
    allowed = (entry.project, GENERAL)

    def visible(entries: Iterable[Entry]) -> tuple[Entry, ...]:
        return tuple(
            other for other in entries if only in (None, other.project) and (beyond or other.project in allowed)
        )

    predecessors = visible(_chain(ws, entry, "supersedes", "superseded_by"))
    successors = visible(_chain(ws, entry, "superseded_by", "supersedes"))
    related, contradicts = (visible(_linked(ws, entry, name, name)) for name in ("related", "contradicts"))
    listed = {other.id for other in (entry, *predecessors, *successors, *related, *contradicts)}
    earlier, later = _neighbours(ws, entry, "<", "DESC", listed), _neighbours(ws, entry, ">", "ASC", listed)
    return Timeline(entry, predecessors, successors, related, contradicts, earlier, later)


def list_predecessors(ws: Workspace, entry: Entry) -> list[Entry]:
    """The notes that a note replaced, those that they replaced, and so on; the closest first."""
    return list(_chain(ws, entry, "supersedes", "superseded_by"))


def _chain(ws: Workspace, entry: Entry, name: str, back: str) -> Iterator[Entry]:
    """Follow a property, or its inverse in other notes, from note to note, the closest first."""
    seen, ahead = {entry.id}, [entry]
    while ahead:
        for linked in _linked(ws, ahead.pop(0), name, back):
            if linked.id not in seen and len(seen) <= LONGEST_CHAIN:
                seen.add(linked.id)
                ahead.append(linked)
                yield linked


def _linked(ws: Workspace, entry: Entry, name: str, back: str) -> list[Entry]:
    """The notes that a property names, then the notes whose property `back` names this one."""
    own = resolve_links(ws, get_links(entry.memory, name))
    condition = "(instr(memory, ?) OR instr(memory, ?)) AND status <> 'quarantined' AND id <> ? ORDER BY id, path"
    values = (entry.memory.id8, link_target(entry.link), entry.id)
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, values))
    others = [Entry(row.memory, row.path) for row in rows if row.memory]
    backlinks = (other for other in others if any(map(entry.is_named_by, get_links(other.memory, back))))
    return list({other.id: other for other in (*own, *backlinks) if other.id != entry.id}.values())


def _neighbours(ws: Workspace, entry: Entry, side: str, order: str, listed: Collection[str]) -> tuple[Entry, ...]:
    where = f"""project = ? AND status <> 'quarantined' AND (changed, id) {side} (SELECT changed, id FROM notes
        WHERE path = ?) ORDER BY changed {order}, id {order}"""  # noqa: S608 - fixed
    values = (entry.project, entry.path)
    rows = fresh_rows(ws, lambda: ws.index.rows(where, values, NEIGHBOURS + len(listed)))
    entries = (Entry(row.memory, row.path) for row in rows if row.memory)
    return tuple(other for other in entries if other.id not in listed)[:NEIGHBOURS]


def compute_stats(ws: Workspace) -> GraphStats:
    memories, edges = list_memories(ws), list_edges(ws)
    degrees = count_degrees(edges)
    places = {identity: place for place, identity in enumerate(memories)}
    clusters = Clusters(len(memories))
    for edge in edges:
        clusters.join(places[edge.source], places[edge.target])
    sizes = [size for size in Counter(map(clusters.of, range(len(memories)))).values() if size > 1]
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
    passages = ws.index.passages
    vectors = "words" if ws.settings.encoder == "none" else f"{passages.store_id()}/{passages.count_pending()}"
    return f"{RULES_VERSION} {ws.index.edges.version()} {vectors}"


def is_behind(ws: Workspace) -> bool:
    return ws.index.meta(BUILT_FOR) != compute_version(ws)


def get_links(memory: Memory, name: str) -> tuple[str, ...]:
    value: str | tuple[str, ...] = getattr(memory, name)
    return value if isinstance(value, tuple) else (value,) if value else ()


def resolve_links(ws: Workspace, links: Iterable[str]) -> Iterator[Entry]:
    for link in filter(None, links):
        with suppress(NotFound, Ambiguous, InputError, NoteError):
            yield find.get(ws, link)


def without_foreign_links(ws: Workspace, entry: Entry, project: str) -> Entry:
    """Shorten links to notes of other projects to their ids: the name of a note says what is in it."""
    allowed = (entry.project, project, GENERAL)

    def shown(link: str) -> str:
        found = next(resolve_links(ws, [link]), None)
        return link if found is None or found.project in allowed else found.memory.id8

    links: dict[str, Any] = {}
    for name in LINK_PROPERTIES:
        value = getattr(entry.memory, name)
        links[name] = tuple(map(shown, value)) if isinstance(value, tuple) else value and shown(value)
    return replace(entry, memory=replace(entry.memory, **links))


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
    for folder, folders, files in os.walk(vault):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = Path(folder).relative_to(vault)
        yield from ((inside / name).as_posix() for name in files)
