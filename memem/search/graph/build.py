"""Build the graph: the edges that notes state, and those that comparing them finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memem.core.dates import iso
from memem.core.errors import Busy, HomeError, IndexUnusable, ModelError
from memem.core.memory import (
    GENERAL,
    ID8,
    MEANING,
    SAME_TOPIC,
    STATED,
    Edge,
    Entry,
    Memory,
    compared,
    edge,
    link_target,
)
from memem.search import meaning
from memem.search.graph import read
from memem.search.graph.edges import BUILT_AT, BUILT_BY, BUILT_FOR
from memem.search.graph.rules import Clusters, Pair, StatedLink, filled, forest, shared_edges, stated_links
from memem.search.notes import NoteRow
from memem.search.query import Scope, is_mostly_ascii
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


def stated_edges(entries: Mapping[str, Entry]) -> list[Edge]:
    """The edges that memories, by their ids, state between them."""
    led_to = follower(entries)
    memories = [entry.memory for entry in entries.values()]
    return settle_edges(_edge(memory, led_to(each.link), each) for memory in memories for each in stated_links(memory))


def follower(entries: Mapping[str, Entry]) -> Callable[[str], str]:
    """What gives the id that a link leads to, by the file's name or the id in it; nothing, when it is none of these."""
    names = {PurePosixPath(entry.path).stem: identity for identity, entry in entries.items()}
    ends = {identity[:ID8]: identity for identity in entries}

    def led_to(link: str) -> str:
        target = link_target(link)
        return names.get(target) or (target if target in entries else ends.get(target[-ID8:], ""))

    return led_to


def restate(ws: Workspace, entry: Entry) -> None:
    """Bring the stated edges of one memory up to date, after its note was written: its own links, and those to it."""
    own = list(stated_links(entry.memory))
    before = [each for each in ws.index.edges.of([entry.id]) if each.origin in STATED]
    if not own and not before:
        return
    found = [_edge(entry.memory, _led_to(ws, each.link), each) for each in own]
    for other in {end for each in before for end in (each.source, each.target)} - {entry.id}:
        for row in ws.index.rows("id = ? ORDER BY path", (other,), limit=1):
            found += _leading_to(entry, row)
    ws.index.edges.restate(entry.id, settle_edges(found))


def settle_edges(found: Iterable[Edge | None]) -> list[Edge]:
    """Each edge once, as strong as it is stated. What is known to be more is not also said to be of one topic."""
    edges: dict[tuple[str, str, str], Edge] = {}
    for each in found:
        if each and each.score > _score(edges.get((each.source, each.target, each.kind))):
            edges[each.source, each.target, each.kind] = each
    more = {pair_of(each) for each in edges.values() if each.kind != SAME_TOPIC}
    return [each for each in edges.values() if each.kind != SAME_TOPIC or pair_of(each) not in more]


def pair_of(edge: Edge) -> tuple[str, str]:
    """The two memories of an edge, whichever way it leads."""
    return min(edge.source, edge.target), max(edge.source, edge.target)


def _score(known: Edge | None) -> float:
    return known.score if known else 0.0


def _edge(memory: Memory, other: str, link: StatedLink) -> Edge | None:
    """None for a link that leads nowhere, or to the note itself."""
    if not other or other == memory.id:
        return None
    source, target = (other, memory.id) if link.back else (memory.id, other)
    return edge(source, target, link.kind, link.score, link.origin)


def _leading_to(entry: Entry, row: NoteRow) -> Iterator[Edge | None]:
    if row.memory:
        yield from (
            _edge(row.memory, entry.id, each) for each in stated_links(row.memory) if entry.is_named_by(each.link)
        )


def _led_to(ws: Workspace, link: str) -> str:
    """The id of the one memory that a link leads to."""
    target = link_target(link)
    rows = ws.index.by_id(target[-ID8:]) if len(target) >= ID8 else []
    if len({row.memory.id for row in rows if row.memory}) != 1:
        rows = ws.index.by_name(target) or rows
    ids = {row.memory.id for row in rows if row.memory}
    return ids.pop() if len(ids) == 1 else ""


LEAST = 0.35
"""How near two notes are, as a cosine, to be linked for it: `python -m bench graph` has the curve."""
DEGREE = 6
"""So many links of a note are found by comparing; more only where a cluster would fall apart."""
MOST_AT_ONCE, MOST_UNASKED = 2_000, 20_000
"""With so many memories the graph is made anew by whoever looks at it, and when a session begins: that takes less than
a second, and some seconds in the background. In a larger vault only who asks for it has it made."""

_UNUSABLE = (ModelError, IndexUnusable, HomeError, Busy)


@dataclass(frozen=True, slots=True)
class Woven:
    """What a rebuild has made: edges by kind and by origin; `by` says what notes were compared by."""

    memories: int
    edges: int
    kinds: dict[str, int]
    origins: dict[str, int]
    by: str


def rebuild(ws: Workspace) -> Woven:
    """All edges anew, in one step: whoever looks meanwhile sees those that were there."""
    require_vault(ws)
    problem = _see_to_vectors(ws)
    made_of = read.state(ws)
    entries = read.memories(ws)
    stated = stated_edges(entries)
    known = {pair_of(edge) for edge in stated}
    standing = {id: entry.memory for id, entry in entries.items() if read.stands(entry.memory)}
    near, measured = ([], set()) if problem else _near(ws, standing)
    found = [*near, *_sharing(list(standing.values()), measured)]
    edges = [*stated, *(edge for edge in found if pair_of(edge) not in known)]
    by = _told(problem, len(standing) - len(measured), len(standing))
    ws.index.edges.replace(edges, {BUILT_FOR: made_of, BUILT_AT: iso(ws.clock()), BUILT_BY: by})
    kinds, origins = Counter(edge.kind for edge in edges), Counter(edge.origin for edge in edges)
    return Woven(len(entries), len(edges), dict(sorted(kinds.items())), dict(sorted(origins.items())), by)


def look_at_graph(ws: Workspace) -> None:
    """Have the graph as the notes are now, where that is a matter of a moment; in a large vault as it was last made."""
    require_vault(ws)
    if read.is_behind(ws) and ws.index.count() <= (MOST_AT_ONCE if read.is_built(ws) else MOST_UNASKED):
        rebuild(ws)


def follow_notes(ws: Workspace) -> None:
    """The same in the background. A graph that there is stays while vectors are being computed, or cannot be."""
    if read.is_behind(ws) and ws.index.count() <= MOST_UNASKED and (not read.is_built(ws) or _is_encoded(ws)):
        rebuild(ws)


def _is_encoded(ws: Workspace) -> bool:
    """Whether so much is encoded as there can be."""
    if ws.settings.encoder == "none":
        return True
    with suppress(*_UNUSABLE):
        return meaning.has_enough_vectors(meaning.update_pending(ws), ws.index.passages.count())
    return False


def _see_to_vectors(ws: Workspace) -> str:
    """Why notes cannot be compared by meaning; empty when they can. A few vectors that are missing are computed."""
    if ws.settings.encoder == "none":
        return "MEMEM_ENCODER is none"
    try:
        missing = meaning.update_pending(ws)
        if 0 < missing <= meaning.MAX_INLINE_PASSAGES:
            meaning.encode_some(ws, missing)
    except _UNUSABLE as problem:
        return str(problem)
    return ""


def _near(ws: Workspace, standing: Mapping[str, Memory]) -> tuple[list[Edge], set[str]]:
    """The edges between memories that mean about the same, and all of which it is known what they mean."""
    from memem.search.graph import similar

    every = ws.encoder().multilingual
    rows: dict[str, int] = {}
    for row, identity in ws.index.edges.ids().items():
        if identity in standing and (every or is_mostly_ascii(standing[identity].body)):
            rows.setdefault(identity, row)
    ids = {rows[identity]: identity for identity in sorted(rows)}  # in their order, whenever each note was written
    passages = [(key, row) for key, row in ws.index.passages.in_scope(Scope(archive=True)) if row in ids]
    with ws.vectors().reading() as view:
        order, vectors = similar.of_notes(view, passages, list(ids))
    memories = [standing[ids[row]] for row in order]
    pairs = similar.links(vectors, [memory.project for memory in memories], GENERAL, LEAST, DEGREE)
    edges = [compared(memories[one], memories[other], score, MEANING) for one, other, score in pairs]
    return edges, {memory.id for memory in memories}


def _sharing(memories: Sequence[Memory], measured: Collection[str]) -> list[Edge]:
    """The edges between memories of which one at least has no vector: by rare keys and paths that both hold."""
    origins: dict[tuple[int, int], str] = {}
    pairs: list[Pair] = []
    for one, other, score, origin in shared_edges(memories):
        if memories[one].id not in measured or memories[other].id not in measured:
            origins[one, other] = origin
            pairs.append((one, other, score))
    trunk = forest(pairs, Clusters(len(memories)))
    kept = filled(trunk, pairs, [0] * len(memories), DEGREE)
    return [compared(memories[one], memories[other], score, origins[one, other]) for one, other, score in kept]


def _told(problem: str, unmeasured: int, total: int) -> str:
    if problem:
        return f"words alone (links, and rare keys and paths that two share): {problem.rstrip('.')}"
    if unmeasured:
        return f"meaning; {unmeasured:,} of {total:,} have no vector that says what they mean, and are linked by words"
    return "meaning"
