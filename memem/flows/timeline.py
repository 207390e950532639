"""A memory in its time: what it replaced, what replaced it, what it is linked with, what changed around it."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from memem.core.errors import Ambiguous, InputError, NoteError, NotFound
from memem.core.memory import Entry, Memory
from memem.core.project import normalise
from memem.flows import retrieve
from memem.flows.reindex import fresh_rows
from memem.workspace import Workspace

LONGEST_CHAIN = 20
NEIGHBOURS = 3


@dataclass(frozen=True, slots=True)
class Timeline:
    """A memory among others. Chains begin next to it; `earlier` and `later` are of its project, the nearest first."""

    entry: Entry
    predecessors: tuple[Entry, ...] = ()
    successors: tuple[Entry, ...] = ()
    related: tuple[Entry, ...] = ()
    contradicts: tuple[Entry, ...] = ()
    earlier: tuple[Entry, ...] = ()
    later: tuple[Entry, ...] = ()


def timeline(ws: Workspace, identity: str, *, project: str | None = None) -> Timeline:
    """The memory with this id in its time. With `project`, it and all that is shown beside it are of that one."""
    entry = retrieve.get(ws, identity)
    only = None if project is None else normalise(project)
    if only not in (None, entry.project):
        raise NotFound(f"{entry.memory.id8} is a memory of {entry.project}, not of {only}.")

    def kept(found: Iterable[Entry]) -> tuple[Entry, ...]:
        return tuple(each for each in found if only in (None, each.project))

    predecessors = kept(_chain(ws, entry, lambda memory: memory.supersedes))
    successors = kept(_chain(ws, entry, lambda memory: memory.superseded_by))
    related = kept(_linked(ws, entry, entry.memory.related))
    contradicts = kept(_linked(ws, entry, entry.memory.contradicts))
    told = {each.id for each in (entry, *predecessors, *successors, *related, *contradicts)}
    earlier, later = _beside(ws, entry, "<", "DESC", told), _beside(ws, entry, ">", "ASC", told)
    return Timeline(entry, predecessors, successors, related, contradicts, earlier, later)


def _chain(ws: Workspace, entry: Entry, following: Callable[[Memory], str]) -> Iterator[Entry]:
    """From link to link, until one leads nowhere, or back."""
    seen = {entry.id}
    at = _follow(ws, following(entry.memory))
    while at and at.id not in seen and len(seen) <= LONGEST_CHAIN:
        seen.add(at.id)
        yield at
        at = _follow(ws, following(at.memory))


def _linked(ws: Workspace, entry: Entry, links: Iterable[str]) -> list[Entry]:
    found = (_follow(ws, link) for link in links)
    return list({each.id: each for each in found if each and each.id != entry.id}.values())


def _follow(ws: Workspace, link: str) -> Entry | None:
    """What a link leads to; None when that is nothing, or nothing that can be read."""
    try:
        return retrieve.get(ws, link) if link else None
    except (NotFound, Ambiguous, InputError, NoteError):
        return None


def _beside(ws: Workspace, entry: Entry, side: str, order: str, told: Collection[str]) -> tuple[Entry, ...]:
    """The few of its project that changed last before it, or first after it."""
    itself = "(SELECT changed, id FROM notes WHERE path = ?)"
    condition = f"project = ? AND status <> 'quarantined' AND (changed, id) {side} {itself}"
    condition += f" ORDER BY changed {order}, id {order}"
    values = (entry.project, entry.path)
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, values, NEIGHBOURS + len(told)))
    found = (Entry(row.memory, row.path) for row in rows if row.memory)
    return tuple(each for each in found if each.id not in told)[:NEIGHBOURS]
