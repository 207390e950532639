"""Memories that contradict each other, and a person's decision which of them holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memem.core.dates import is_in_force, iso, moment
from memem.core.errors import InputError, StateUnusable
from memem.core.memory import Entry, Memory, fingerprint
from memem.core.project import normalise
from memem.notes import decide, write
from memem.search import find
from memem.search.graph import read
from memem.search.refresh import fresh_rows, refresh_if_due
from memem.state.suspicions import COMPATIBLE, CONTRADICT, WAITING, Suspicion
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


MOST_DIFFERENCES = 5
FOUND_BY = {CONTRADICT: "confirmed by the model", WAITING: "found by comparison", "": "linked in the notes"}


_Pair = tuple[Entry, Entry, Suspicion | None]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two memories that do not both hold, the later one first.

    `differences` say what differs, the earlier first; `found` says by what it was found, `why` what the model said.
    """

    one: Entry
    other: Entry
    differences: tuple[str, ...]
    found: str
    why: str = ""


def conflicts(ws: Workspace, *, project: str | None = None) -> list[Conflict]:
    """All that there are, the latest first."""
    found = [_conflict(*each) for each in _find_pairs(ws, project)]
    return sorted(found, key=lambda each: (_time(each.one), each.one.id, each.other.id), reverse=True)


def count(ws: Workspace) -> int:
    """How many there are."""
    return len(_find_pairs(ws, None))


def _find_pairs(ws: Workspace, project: str | None) -> list[_Pair]:
    """Each pair once: the one that says so, the other, and what the model said of the two, as they are."""
    require_vault(ws)
    only = None if project is None else normalise(project)
    judged = {(each.one, each.other): each for each in _suspicions(ws)}
    found: dict[tuple[str, str], _Pair] = {}
    for entry in _contradicting(ws):
        for other in read.resolve_links(ws, entry.memory.contradicts):
            pair = pair_of(entry.memory, other.memory)
            known = judged.get((pair.one, pair.other))
            verdict = known if known and known.statements == pair.statements else None
            if _may_conflict(ws, entry, other, only) and not (verdict and verdict.verdict == COMPATIBLE):
                found.setdefault((pair.one, pair.other), (entry, other, verdict))
    return list(found.values())


def suspect(ws: Workspace, memory: Memory, others: Iterable[Memory]) -> None:
    """Note pairs that the model is to be asked about."""
    with suppress(StateUnusable):
        ws.state.suspicions.add([pair_of(memory, other) for other in others])


def pair_of(one: Memory, other: Memory) -> Suspicion:
    """A pair as it is known, whichever of them comes first."""
    first, second = sorted((one, other), key=lambda memory: memory.id)
    return Suspicion(first.id, second.id, f"{fingerprint(first.body)}:{fingerprint(second.body)}")


def _contradicting(ws: Workspace) -> list[Entry]:
    condition = "status = 'active' AND json_array_length(memory, '$.contradicts') > 0 ORDER BY changed DESC, id"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition))
    return [Entry(row.memory, row.path) for row in rows if row.memory]


def _may_conflict(ws: Workspace, one: Entry, other: Entry, project: str | None) -> bool:
    different = one.id != other.id and project in (None, one.project, other.project)
    now = ws.clock()
    return different and is_in_force(one.memory, now) and is_in_force(other.memory, now)


def _conflict(one: Entry, other: Entry, verdict: Suspicion | None) -> Conflict:
    """`one` is the one that says so: of two at the same time the later."""
    late, early = (one, other) if _time(one) >= _time(other) else (other, one)
    compared = decide.compared(early.memory, late.memory)
    differences = tuple(
        f"{each.kind}: {each.old or 'none'} / {each.new or 'none'}" for each in compared.differences[:MOST_DIFFERENCES]
    )
    found = FOUND_BY[verdict.verdict if verdict else ""]
    return Conflict(late, early, differences, found, verdict.why if verdict else "")


def _time(entry: Entry) -> float:
    stated = moment(entry.memory.valid_from or entry.memory.created or entry.memory.updated)
    return stated.timestamp() if stated else 0.0


def _suspicions(ws: Workspace) -> list[Suspicion]:
    if not ws.home.state_file.exists():
        return []
    with suppress(StateUnusable):
        return ws.state.suspicions.pairs()
    return []


KEEP, BOTH = WAYS = ("keep", "both")


@dataclass(frozen=True, slots=True)
class Resolved:
    """Resolved conflicts of a memory: `way` is keep or both; `others` are the memories it was in conflict with."""

    way: str
    entry: Entry
    others: tuple[Entry, ...]


def resolve(ws: Workspace, identity: str, way: str, *, over: str | None = None) -> Resolved:
    """End the conflicts of a memory, or the one with `over`: it is kept and the others end, or both hold."""
    if way not in WAYS:
        raise InputError(f"There is no way {way!r} to resolve a conflict. Use {KEEP} or {BOTH}.")
    refresh_if_due(ws)
    entry = find.get(ws, identity)
    others = _against(ws, entry, find.get(ws, over).id if over else None)
    if not others:
        raise InputError(f"{entry.memory.id8} is in no such conflict. `memem conflicts` lists all.")
    with ws.events.batch("resolve"):
        for other in others:
            _end(ws, entry, other) if way == KEEP else _reconcile(ws, entry, other)
    ws.changed.add()
    return Resolved(way, find.get(ws, entry.id), tuple(others))


def _against(ws: Workspace, entry: Entry, only: str | None) -> list[Entry]:
    found = []
    for conflict in conflicts(ws):
        sides = {each.id: each for each in (conflict.one, conflict.other)}
        if sides.pop(entry.id, None):
            found += [side for side in sides.values() if only in (None, side.id)]
    return found


def _end(ws: Workspace, kept: Entry, ended: Entry) -> None:
    """The kept one first: at every moment what holds now can be found."""
    now = find.get(ws, kept.id).memory
    _amend(ws, now, supersedes=now.supersedes or ended.link, contradicts=_without(now.contradicts, ended))
    _amend(ws, ended.memory, superseded_by=kept.link, status="deprecated", valid_to=iso(ws.clock()))


def _reconcile(ws: Workspace, one: Entry, other: Entry) -> None:
    """Both hold: they are related."""
    for entry, beside in ((find.get(ws, one.id), other), (other, one)):
        memory = entry.memory
        left = _without(memory.contradicts, beside)
        if left != memory.contradicts:
            _amend(ws, memory, contradicts=left, related=tuple(dict.fromkeys((*memory.related, beside.link))))


def _without(links: Sequence[str], entry: Entry) -> tuple[str, ...]:
    return tuple(link for link in links if not entry.is_named_by(link))


def _amend(ws: Workspace, memory: Memory, **changes: Any) -> None:
    """By a person's word, so their own notes too; a machine's stays one, as nobody has changed what it says."""
    why = f"resolved: {memory.id8}"
    if write.revise(ws, memory.id, why=why, **changes) is None:
        write.edit(ws, memory.id, why=why, **changes)
