"""Build the graph: edges stated in notes, and edges found by comparing notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memem.core import memory as core
from memem.core.dates import iso
from memem.core.errors import Busy, HomeError, IndexUnusable, ModelError
from memem.core.memory import GENERAL, ID8, MEANING, SAME_TOPIC, STATED, Edge, Entry, Memory, link_target
from memem.search import meaning
from memem.search.graph import read, rules
from memem.search.graph.edges import BUILT_AT, BUILT_BY, BUILT_FOR
from memem.search.graph.rules import Pair, StatedLink, list_stated_links
from memem.search.query import Scope, is_mostly_ascii
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace

MIN_COSINE = 0.35  # `python -m bench graph` has the curve
MAX_DEGREE = 6  # edges found by comparing, for each note; more only where a cluster would fall apart
MAX_INTERACTIVE_NOTES = 2_000  # rebuilt in less than a second, so a reader can wait for it
MAX_BACKGROUND_NOTES = 20_000  # a larger vault is rebuilt only on request
_UNUSABLE = (ModelError, IndexUnusable, HomeError, Busy)


@dataclass(frozen=True, slots=True)
class GraphSummary:
    memories: int
    edges: int
    kinds: dict[str, int]
    origins: dict[str, int]
    by: str  # how notes were compared


def rebuild(ws: Workspace) -> GraphSummary:
    """Rebuild all edges in one transaction: readers see the old graph until then."""
    require_vault(ws)
    problem = _prepare_vectors(ws)
    version = read.compute_version(ws)
    entries = read.list_memories(ws)
    resolve = make_link_resolver(entries)
    memories = [entry.memory for entry in entries.values()]
    stated = merge_edges(
        _edge_from_link(memory, resolve(link.link), link) for memory in memories for link in list_stated_links(memory)
    )
    stated_pairs = {_get_pair(edge) for edge in stated}
    current = {id: entry.memory for id, entry in entries.items() if read.is_current(entry.memory)}
    similar, measured = ([], set()) if problem else _find_similar(ws, current)
    compared_edges = [*similar, *_find_shared(list(current.values()), measured)]
    edges = [*stated, *(edge for edge in compared_edges if _get_pair(edge) not in stated_pairs)]
    by = f"words and links only, not meaning: {problem.rstrip('.')}" if problem else "meaning"
    if not problem and len(measured) < len(current):
        by += f"; {len(current) - len(measured):,} of {len(current):,} without a vector, linked by words"
    ws.index.edges.replace(edges, {BUILT_FOR: version, BUILT_AT: iso(ws.clock()), BUILT_BY: by})
    kinds, origins = Counter(edge.kind for edge in edges), Counter(edge.origin for edge in edges)
    return GraphSummary(len(entries), len(edges), dict(sorted(kinds.items())), dict(sorted(origins.items())), by)


def refresh_graph(ws: Workspace) -> None:
    require_vault(ws)
    limit = MAX_INTERACTIVE_NOTES if ws.index.meta(BUILT_FOR) else MAX_BACKGROUND_NOTES
    if read.is_behind(ws) and ws.index.count() <= limit:
        rebuild(ws)


def refresh_in_background(ws: Workspace) -> None:
    """Rebuild an outdated graph; an existing one stays while vectors are missing."""
    if not read.is_behind(ws) or ws.index.count() > MAX_BACKGROUND_NOTES:
        return
    is_ready = ws.settings.encoder == "none" or not ws.index.meta(BUILT_FOR)
    with suppress(*_UNUSABLE):
        is_ready = is_ready or meaning.has_enough_vectors(meaning.update_pending(ws), ws.index.passages.count())
    if is_ready:
        rebuild(ws)


def make_link_resolver(entries: Mapping[str, Entry]) -> Callable[[str], str]:
    """A function from a link to the id of its memory, by file name or id; empty when there is none."""
    names = {PurePosixPath(entry.path).stem: identity for identity, entry in entries.items()}
    short_ids = {identity[:ID8]: identity for identity in entries}

    def resolve(link: str) -> str:
        target = link_target(link)
        return names.get(target) or (target if target in entries else short_ids.get(target[-ID8:], ""))

    return resolve


def update_stated_edges(ws: Workspace, entry: Entry) -> None:
    links = list(list_stated_links(entry.memory))
    before = [edge for edge in ws.index.edges.of([entry.id]) if edge.origin in STATED]
    if not links and not before:
        return
    edges = [_edge_from_link(entry.memory, _resolve_link(ws, link.link), link) for link in links]
    for other in {end for edge in before for end in (edge.source, edge.target)} - {entry.id}:
        for row in ws.index.rows("id = ? ORDER BY path", (other,), limit=1):
            if row.memory:
                back_links = [link for link in list_stated_links(row.memory) if entry.is_named_by(link.link)]
                edges += [_edge_from_link(row.memory, entry.id, link) for link in back_links]
    ws.index.edges.replace_stated(entry.id, merge_edges(edges))


def merge_edges(edges: Iterable[Edge | None]) -> list[Edge]:
    """Each edge once with its highest score; "same topic" gives way to a more specific kind."""
    merged: dict[tuple[str, str, str], Edge] = {}
    for edge in filter(None, edges):
        key = (edge.source, edge.target, edge.kind)
        if key not in merged or edge.score > merged[key].score:
            merged[key] = edge
    specific = {_get_pair(edge) for edge in merged.values() if edge.kind != SAME_TOPIC}
    return [edge for edge in merged.values() if edge.kind != SAME_TOPIC or _get_pair(edge) not in specific]


def _get_pair(edge: Edge) -> tuple[str, str]:
    return min(edge.source, edge.target), max(edge.source, edge.target)


def _edge_from_link(memory: Memory, other: str, link: StatedLink) -> Edge | None:
    """None for a link to no memory or to itself."""
    if not other or other == memory.id:
        return None
    source, target = (other, memory.id) if link.back else (memory.id, other)
    return core.edge(source, target, link.kind, link.score, link.origin)


def _resolve_link(ws: Workspace, link: str) -> str:
    target = link_target(link)
    rows = ws.index.by_id(target[-ID8:]) if len(target) >= ID8 else []
    if len({row.memory.id for row in rows if row.memory}) != 1:
        rows = ws.index.by_name(target) or rows
    ids = {row.memory.id for row in rows if row.memory}
    return ids.pop() if len(ids) == 1 else ""


def _prepare_vectors(ws: Workspace) -> str:
    """Compute a few missing vectors; return why notes cannot be compared by meaning, or nothing."""
    if ws.settings.encoder == "none":
        return "MEMEM_ENCODER is none"
    try:
        missing = meaning.update_pending(ws)
        if 0 < missing <= meaning.MAX_INLINE_PASSAGES:
            meaning.encode_some(ws, missing)
    except _UNUSABLE as problem:
        return str(problem)
    return ""


def _find_similar(ws: Workspace, current: Mapping[str, Memory]) -> tuple[list[Edge], set[str]]:
    from memem.search.graph import similar

    is_multilingual = ws.encoder().multilingual
    rows: dict[str, int] = {}
    for row, identity in ws.index.edges.ids_by_row().items():
        if identity in current and (is_multilingual or is_mostly_ascii(current[identity].body)):
            rows.setdefault(identity, row)
    ids = {rows[identity]: identity for identity in sorted(rows)}  # independent of when each note was written
    passages = [(key, row) for key, row in ws.index.passages.in_scope(Scope(archive=True)) if row in ids]
    with ws.vectors().reading() as view:
        order, vectors = similar.average_vectors(view, passages, list(ids))
    memories = [current[ids[row]] for row in order]
    projects = [memory.project for memory in memories]
    pairs = similar.link_similar_notes(vectors, projects, GENERAL, MIN_COSINE, MAX_DEGREE)
    edges = [core.relate_similar(memories[one], memories[other], score, MEANING) for one, other, score in pairs]
    return edges, {memory.id for memory in memories}


def _find_shared(memories: Sequence[Memory], measured: Collection[str]) -> list[Edge]:
    """Edges by shared rare keys and paths, for pairs of which at least one has no vector."""
    origins: dict[Pair, str] = {}
    for one, other, score, origin in rules.find_shared_edges(memories):
        if memories[one].id not in measured or memories[other].id not in measured:
            origins[one, other, score] = origin
    forest = rules.build_forest(origins, rules.Clusters(len(memories)))
    links = rules.fill_degrees(forest, origins, [0] * len(memories), MAX_DEGREE)
    return [core.relate_similar(memories[link[0]], memories[link[1]], link[2], origins[link]) for link in links]
