"""List memories that contradict each other, and resolve them by a person's decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from memem.core.dates import begin_of, clamp_end, get_said_time, is_in_force, iso
from memem.core.errors import InputError, StateUnusable
from memem.core.memory import Entry, Memory, fingerprint
from memem.core.project import normalise
from memem.notes import decide, succession, write
from memem.search import find
from memem.search.graph import read
from memem.search.refresh import fresh_rows, refresh_if_due
from memem.state.suspicions import COMPATIBLE, CONTRADICT, WAITING, Suspicion
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


MOST_DIFFERENCES = 5
FOUND_BY = {CONTRADICT: "confirmed by the model", WAITING: "found by comparison", "": "linked in the notes"}
KEEP, BOTH = WAYS = ("keep", "both")
_SOURCES = {"mined": "mined by memem", "import": "imported by memem", "user": "saved by Claude"}

_Pair = tuple[Entry, Entry, Suspicion | None]  # the entry with the link, the other, and the model's verdict


@dataclass(frozen=True, slots=True)
class Conflict:
    one: Entry  # the later one
    other: Entry
    differences: tuple[str, ...]  # the earlier value first
    found: str  # how it was found
    why: str = ""  # the model's reason


def conflicts(ws: Workspace, *, project: str | None = None) -> list[Conflict]:
    """All conflicts, the latest first."""
    zone = ws.clock().tzinfo
    found = [_describe(*pair, zone) for pair in _find_pairs(ws, project)]
    return sorted(found, key=lambda each: (_time(each.one, zone), each.one.id, each.other.id), reverse=True)


def count(ws: Workspace) -> int:
    return len(_find_pairs(ws, None))


def _find_pairs(ws: Workspace, project: str | None) -> list[_Pair]:
    require_vault(ws)
    only, now = None if project is None else normalise(project), ws.clock()
    judged: dict[tuple[str, str], Suspicion] = {}
    if ws.home.state_file.exists():
        with suppress(StateUnusable):
            judged = {(each.one, each.other): each for each in ws.state.suspicions.pairs()}
    found: dict[tuple[str, str], _Pair] = {}
    condition = "status = 'active' AND json_array_length(memory, '$.contradicts') > 0 ORDER BY changed DESC, id"
    rows = fresh_rows(ws, lambda: ws.index.rows(condition))
    for entry in (Entry(row.memory, row.path) for row in rows if row.memory):
        for other in read.resolve_links(ws, entry.memory.contradicts):
            pair = pair_of(entry.memory, other.memory)
            verdict = judged.get((pair.one, pair.other))
            if verdict and verdict.statements != pair.statements:
                verdict = None
            may_conflict = entry.id != other.id and only in (None, entry.project, other.project)
            in_force = may_conflict and is_in_force(entry.memory, now) and is_in_force(other.memory, now)
            if in_force and not (verdict and verdict.verdict == COMPATIBLE):
                found.setdefault((pair.one, pair.other), (entry, other, verdict))
    return list(found.values())


def suspect(ws: Workspace, memory: Memory, others: Iterable[Memory]) -> None:
    """Queue pairs for the model to judge."""
    with suppress(StateUnusable):
        ws.state.suspicions.add([pair_of(memory, other) for other in others])


def pair_of(one: Memory, other: Memory) -> Suspicion:
    """The record of a pair, in either order."""
    first, second = sorted((one, other), key=lambda memory: memory.id)
    return Suspicion(first.id, second.id, f"{fingerprint(first.body)}:{fingerprint(second.body)}")


def _describe(one: Entry, other: Entry, verdict: Suspicion | None, zone: tzinfo | None) -> Conflict:
    # Of two memories of the same time, the one with the link is the later.
    late, early = (one, other) if _time(one, zone) >= _time(other, zone) else (other, one)
    compared = decide.compared(early.memory, late.memory)
    differences = tuple(
        f"{each.kind}: {' / '.join(filter(None, (each.old, each.new)))}"
        for each in compared.differences[:MOST_DIFFERENCES]
    )
    judgement, why = (verdict.verdict, verdict.why) if verdict else ("", "")
    return Conflict(late, early, differences, FOUND_BY[judgement], why)


def describe_origin(memory: Memory) -> str:
    return "written by you" if memory.author == "human" else _SOURCES.get(memory.source_type, memory.author)


def _time(entry: Entry, zone: tzinfo | None) -> float:
    return get_said_time(entry.memory, zone) or begin_of(entry.memory.updated, zone) or 0.0


@dataclass(frozen=True, slots=True)
class Resolved:
    way: str  # keep or both
    entry: Entry
    others: tuple[Entry, ...]


def resolve(ws: Workspace, identity: str, way: str, *, over: str | None = None) -> Resolved:
    """Resolve the conflicts of a memory, or the one with `over`: supersede the others, or relate both."""
    if way not in WAYS:
        raise InputError(f"{way!r} is not a way to resolve a conflict. Use {KEEP} or {BOTH}.")
    refresh_if_due(ws)
    entry = find.get(ws, identity)
    only = find.get(ws, over).id if over else None
    others = []
    for conflict in conflicts(ws):
        sides = {each.id: each for each in (conflict.one, conflict.other)}
        if sides.pop(entry.id, None):
            others += [side for side in sides.values() if only in (None, side.id)]
    if not others:
        raise InputError(f"{entry.memory.id8} is not part of that conflict. `memem conflicts` lists all conflicts.")
    with ws.events.batch("resolve"):
        for other in others:
            _supersede(ws, entry, other) if way == KEEP else _relate(ws, entry, other)
    ws.changed |= {"conflicts", "notes"}
    return Resolved(way, find.get(ws, entry.id), tuple(others))


def _supersede(ws: Workspace, winner: Entry, loser: Entry) -> None:
    memory = find.get(ws, winner.id).memory
    # The winner is written first, so that an interruption leaves it in force.
    _amend(ws, memory, supersedes=memory.supersedes or loser.link, contradicts=_without(memory.contradicts, loser))
    end = clamp_end(loser.memory, iso(ws.clock()), ws.clock().tzinfo)
    succession.record_repetition(ws, memory, ws.clock().timestamp())  # a person says now that it holds
    _amend(ws, loser.memory, superseded_by=winner.link, status="deprecated", valid_to=end)


def _relate(ws: Workspace, one: Entry, other: Entry) -> None:
    for entry, opponent in ((find.get(ws, one.id), other), (other, one)):
        memory = entry.memory
        left = _without(memory.contradicts, opponent)
        if left != memory.contradicts:
            _amend(ws, memory, contradicts=left, related=tuple(dict.fromkeys((*memory.related, opponent.link))))


def _without(links: Sequence[str], entry: Entry) -> tuple[str, ...]:
    return tuple(link for link in links if not entry.is_named_by(link))


def _amend(ws: Workspace, memory: Memory, **changes: Any) -> None:
    """Change a note on a person's decision: also one of theirs; a machine's note stays a machine's."""
    why = f"resolved: {memory.id8}"
    if write.revise(ws, memory.id, why=why, **changes) is None:
        write.edit(ws, memory.id, why=why, **changes)
