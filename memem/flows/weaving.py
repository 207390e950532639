"""Make the whole graph anew: what the notes state, and what comparing them finds."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from memem.core.clock import iso
from memem.core.edge import MEANING, Edge, compared
from memem.core.errors import Busy, HomeError, IndexUnusable, ModelError
from memem.core.memory import GENERAL, Memory
from memem.core.query import Scope, is_mostly_ascii
from memem.flows import graph, meaning, stating
from memem.flows.opening import require_vault
from memem.index.graph import BUILT_AT, BUILT_BY, BUILT_FOR
from memem.index.sharing import share
from memem.index.thinning import Clusters, Pair, filled, forest
from memem.workspace import Workspace

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
    made_of = graph.state(ws)
    entries = graph.memories(ws)
    stated = stating.of_all(entries)
    known = {stating.pair_of(edge) for edge in stated}
    standing = {id: entry.memory for id, entry in entries.items() if graph.stands(entry.memory)}
    near, measured = ([], set()) if problem else _near(ws, standing)
    found = [*near, *_sharing(list(standing.values()), measured)]
    edges = [*stated, *(edge for edge in found if stating.pair_of(edge) not in known)]
    by = _told(problem, len(standing) - len(measured), len(standing))
    ws.index.edges.replace(edges, {BUILT_FOR: made_of, BUILT_AT: iso(ws.clock()), BUILT_BY: by})
    kinds, origins = Counter(edge.kind for edge in edges), Counter(edge.origin for edge in edges)
    return Woven(len(entries), len(edges), dict(sorted(kinds.items())), dict(sorted(origins.items())), by)


def look(ws: Workspace) -> None:
    """Have the graph as the notes are now, where that is a matter of a moment; in a large vault as it was last made."""
    require_vault(ws)
    if graph.is_behind(ws) and ws.index.count() <= (MOST_AT_ONCE if graph.is_built(ws) else MOST_UNASKED):
        rebuild(ws)


def follow(ws: Workspace) -> None:
    """The same in the background. A graph that there is stays while vectors are being computed, or cannot be."""
    if graph.is_behind(ws) and ws.index.count() <= MOST_UNASKED and (not graph.is_built(ws) or _is_encoded(ws)):
        rebuild(ws)


def _is_encoded(ws: Workspace) -> bool:
    """Whether so much is encoded as there can be."""
    if ws.settings.encoder == "none":
        return True
    with suppress(*_UNUSABLE):
        return meaning.suffice(meaning.look_up(ws), ws.index.passages.count())
    return False


def _see_to_vectors(ws: Workspace) -> str:
    """Why notes cannot be compared by meaning; empty when they can. A few vectors that are missing are computed."""
    if ws.settings.encoder == "none":
        return "MEMEM_ENCODER is none"
    try:
        missing = meaning.look_up(ws)
        if 0 < missing <= meaning.AT_ONCE:
            meaning.encode_some(ws, missing)
    except _UNUSABLE as problem:
        return str(problem)
    return ""


def _near(ws: Workspace, standing: Mapping[str, Memory]) -> tuple[list[Edge], set[str]]:
    """The edges between memories that mean about the same, and all of which it is known what they mean."""
    from memem.index import similar

    every = ws.encoder().multilingual
    rows: dict[str, int] = {}
    for row, identity in ws.index.edges.ids().items():
        if identity in standing and (every or is_mostly_ascii(standing[identity].body)):
            rows.setdefault(identity, row)
    ids = {rows[identity]: identity for identity in sorted(rows)}  # in their order, whenever each note was written
    passages = [(key, row) for key, row in ws.index.passages.within(Scope(archive=True)) if row in ids]
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
    for one, other, score, origin in share(memories):
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
