"""A memory in its time: what it replaced, what replaced it, what it is linked with, what changed around it."""

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
    """A memory among others. Chains begin next to it; `earlier` and `later` are of its project, the nearest first."""

    entry: Entry
    predecessors: tuple[Entry, ...] = ()
    successors: tuple[Entry, ...] = ()
    related: tuple[Entry, ...] = ()
    contradicts: tuple[Entry, ...] = ()
    earlier: tuple[Entry, ...] = ()
    later: tuple[Entry, ...] = ()


def timeline(ws: Workspace, identity: str, *, project: str | None = None, beyond: bool = True) -> Timeline:
    """The memory with this id in its time. With `project`, it and all that is shown beside it are of that one.

    Unless `beyond`, memories it is linked with are left out when they belong to other projects.
    """
    entry = find.get(ws, identity)
    only = None if project is None else normalise(project)
    if only not in (None, entry.project):
        raise NotFound(f"{entry.memory.id8} is a memory of {entry.project}, not of {only}.")

    def kept(found: Iterable[Entry]) -> tuple[Entry, ...]:
        own = (entry.project, GENERAL)
        return tuple(each for each in found if only in (None, each.project) and (beyond or each.project in own))

    predecessors = kept(_chain(ws, entry, "supersedes", "superseded_by"))
    successors = kept(_chain(ws, entry, "superseded_by", "supersedes"))
    here = read.find_backlinks(ws, entry)
    related, contradicts = (kept(_linked(ws, entry, here, name, name)) for name in ("related", "contradicts"))
    told = {each.id for each in (entry, *predecessors, *successors, *related, *contradicts)}
    earlier, later = _beside(ws, entry, "<", "DESC", told), _beside(ws, entry, ">", "ASC", told)
    return Timeline(entry, predecessors, successors, related, contradicts, earlier, later)


def _chain(ws: Workspace, entry: Entry, name: str, back: str) -> Iterator[Entry]:
    """From link to link, by the one's property or the other's, until they lead nowhere, or back; the nearest first."""
    seen, ahead = {entry.id}, [entry]
    while ahead:
        at = ahead.pop(0)
        for found in _linked(ws, at, read.find_backlinks(ws, at), name, back):
            if found.id not in seen and len(seen) <= LONGEST_CHAIN:
                seen.add(found.id)
                ahead.append(found)
                yield found


def _linked(ws: Workspace, entry: Entry, here: Iterable[Entry], name: str, back: str) -> list[Entry]:
    """What a memory links to by a property, then those of `here`, which lead to it, that do by the other one."""
    own = read.resolve_links(ws, read.get_links(entry.memory, name))
    others = (each for each in here if read.is_linked_by(each, entry, back))
    return list({each.id: each for each in (*own, *others) if each.id != entry.id}.values())


def _beside(ws: Workspace, entry: Entry, side: str, order: str, told: Collection[str]) -> tuple[Entry, ...]:
    """The few of its project that changed last before it, or first after it."""
    itself = "(SELECT changed, id FROM notes WHERE path = ?)"
    condition = f"project = ? AND status <> 'quarantined' AND (changed, id) {side} {itself}"
    condition += f" ORDER BY changed {order}, id {order}"
    values = (entry.project, entry.path)
    rows = fresh_rows(ws, lambda: ws.index.rows(condition, values, NEIGHBOURS + len(told)))
    found = (Entry(row.memory, row.path) for row in rows if row.memory)
    return tuple(each for each in found if each.id not in told)[:NEIGHBOURS]
