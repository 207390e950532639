"""What the notes say of each other, as edges between memories: their links, followed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from memem.core.edge import SAME_TOPIC, STATED, Edge, edge
from memem.core.memory import ID8, Entry, Memory, link_target
from memem.index.notes import Row
from memem.index.stated import Said, said
from memem.workspace import Workspace


def of_all(entries: Mapping[str, Entry]) -> list[Edge]:
    """The edges that memories, by their ids, state between them."""
    led_to = follower(entries)
    memories = [entry.memory for entry in entries.values()]
    return settled(_edge(memory, led_to(each.link), each) for memory in memories for each in said(memory))


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
    own = list(said(entry.memory))
    before = [each for each in ws.index.edges.of([entry.id]) if each.origin in STATED]
    if not own and not before:
        return
    found = [_edge(entry.memory, _led_to(ws, each.link), each) for each in own]
    for other in {end for each in before for end in (each.source, each.target)} - {entry.id}:
        for row in ws.index.rows("id = ? ORDER BY path", (other,), limit=1):
            found += _leading_to(entry, row)
    ws.index.edges.restate(entry.id, settled(found))


def settled(found: Iterable[Edge | None]) -> list[Edge]:
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


def _edge(memory: Memory, other: str, link: Said) -> Edge | None:
    """None for a link that leads nowhere, or to the note itself."""
    if not other or other == memory.id:
        return None
    source, target = (other, memory.id) if link.back else (memory.id, other)
    return edge(source, target, link.kind, link.score, link.origin)


def _leading_to(entry: Entry, row: Row) -> Iterator[Edge | None]:
    if row.memory:
        yield from (_edge(row.memory, entry.id, each) for each in said(row.memory) if entry.is_named_by(each.link))


def _led_to(ws: Workspace, link: str) -> str:
    """The id of the one memory that a link leads to."""
    target = link_target(link)
    rows = ws.index.by_id(target[-ID8:]) if len(target) >= ID8 else []
    if len({row.memory.id for row in rows if row.memory}) != 1:
        rows = ws.index.by_name(target) or rows
    ids = {row.memory.id for row in rows if row.memory}
    return ids.pop() if len(ids) == 1 else ""
