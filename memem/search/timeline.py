"""A memory in its time: what it replaced, what replaced it, its links, and what changed around it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memem.core.errors import NotFound
from memem.core.memory import GENERAL, Entry
from memem.core.project import normalise
from memem.search import find
from memem.search.graph import read
from memem.search.refresh import fresh_rows

if TYPE_CHECKING:
    from memem.workspace import Workspace


LONGEST_CHAIN = 20
NEIGHBOURS = 3


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


def timeline(ws: Workspace, identity: str, *, project: str | None = None, beyond: bool = True) -> Timeline:
    """Build the timeline of a memory; `project` restricts all of it, `beyond` includes links to other projects."""
    entry = find.get(ws, identity)
    only = None if project is None else normalise(project)
    if only not in (None, entry.project):
        raise NotFound(f"{entry.memory.id8} is a memory of {entry.project}, not of {only}.")
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
    """The notes that a memory links to by one property, then those that link to it by the other."""
    own = read.resolve_links(ws, read.get_links(entry.memory, name))
    others = (other for other in read.find_backlinks(ws, entry) if read.is_linked_by(other, entry, back))
    return list({other.id: other for other in (*own, *others) if other.id != entry.id}.values())


def _neighbours(ws: Workspace, entry: Entry, side: str, order: str, listed: Collection[str]) -> tuple[Entry, ...]:
    where = f"""project = ? AND status <> 'quarantined' AND (changed, id) {side} (SELECT changed, id FROM notes
        WHERE path = ?) ORDER BY changed {order}, id {order}"""  # noqa: S608 - fixed
    values = (entry.project, entry.path)
    rows = fresh_rows(ws, lambda: ws.index.rows(where, values, NEIGHBOURS + len(listed)))
    entries = (Entry(row.memory, row.path) for row in rows if row.memory)
    return tuple(other for other in entries if other.id not in listed)[:NEIGHBOURS]
