"""A person says which of two memories holds, or that both do. What is ended stays, and says until when it held."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memem.core.clock import iso
from memem.core.errors import InputError
from memem.core.memory import Entry, Memory
from memem.flows import conflicts, editing, overview, retrieve
from memem.flows.reindex import look
from memem.workspace import Workspace

KEEP, BOTH = WAYS = ("keep", "both")


@dataclass(frozen=True, slots=True)
class Resolved:
    """What became of the conflicts of a memory: `way` is keep or both; `others` are those it was in conflict with."""

    way: str
    entry: Entry
    others: tuple[Entry, ...]


def resolve(ws: Workspace, identity: str, way: str, *, over: str | None = None) -> Resolved:
    """End the conflicts of a memory, or the one with `over`: it is kept and the others end, or both hold."""
    if way not in WAYS:
        raise InputError(f"There is no way {way!r} to resolve a conflict. Use {KEEP} or {BOTH}.")
    look(ws)
    entry = retrieve.get(ws, identity)
    others = _against(ws, entry, retrieve.get(ws, over).id if over else None)
    if not others:
        raise InputError(f"{entry.memory.id8} is in no such conflict. `memem conflicts` lists all.")
    with ws.events.batch("resolve"):
        for other in others:
            _end(ws, entry, other) if way == KEEP else _reconcile(ws, entry, other)
    conflicts.write_page(ws)
    overview.follow(ws, only_if_there=True)
    return Resolved(way, retrieve.get(ws, entry.id), tuple(others))


def _against(ws: Workspace, entry: Entry, only: str | None) -> list[Entry]:
    found = []
    for conflict in conflicts.conflicts(ws):
        sides = {each.id: each for each in (conflict.one, conflict.other)}
        if sides.pop(entry.id, None):
            found += [side for side in sides.values() if only in (None, side.id)]
    return found


def _end(ws: Workspace, kept: Entry, ended: Entry) -> None:
    """The kept one first: at every moment what holds now can be found."""
    now = retrieve.get(ws, kept.id).memory
    _amend(ws, now, supersedes=now.supersedes or ended.link, contradicts=_without(now.contradicts, ended))
    _amend(ws, ended.memory, superseded_by=kept.link, status="deprecated", valid_to=iso(ws.clock()))


def _reconcile(ws: Workspace, one: Entry, other: Entry) -> None:
    """Both hold: they are related."""
    for entry, beside in ((retrieve.get(ws, one.id), other), (other, one)):
        memory = entry.memory
        left = _without(memory.contradicts, beside)
        if left != memory.contradicts:
            _amend(ws, memory, contradicts=left, related=tuple(dict.fromkeys((*memory.related, beside.link))))


def _without(links: Sequence[str], entry: Entry) -> tuple[str, ...]:
    return tuple(link for link in links if not entry.is_named_by(link))


def _amend(ws: Workspace, memory: Memory, **changes: Any) -> None:
    """By a person's word, so their own notes too; a machine's stays one, as nobody has changed what it says."""
    why = f"resolved: {memory.id8}"
    if editing.revise(ws, memory.id, why=why, **changes) is None:
        editing.edit(ws, memory.id, why=why, **changes)
