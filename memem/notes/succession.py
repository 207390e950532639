"""Chains of memories that replaced each other: compare when they were said, and place an older one in its chain."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memem.compare.relation import CHANGED, SAME
from memem.core import dates
from memem.core.errors import Ambiguous, InputError, NoteChanged, NoteError, NotFound, RewriteRefused, StateUnusable
from memem.core.memory import Entry, Memory
from memem.notes import decide, write
from memem.notes.write import Written
from memem.search import find
from memem.search.graph import read

if TYPE_CHECKING:
    from memem.workspace import Workspace

LONGEST_CHAIN = 20
MOST_TRIES = 3


@dataclass(frozen=True, slots=True)
class ChainPlace:
    """The place of an older memory in a chain: after `predecessor`, until `end`, when `successor` was said."""

    successor: Entry
    end: str
    predecessor: Entry | None = None
    twin: Entry | None = None  # states the same for the same time


def get_last_said(ws: Workspace, memory: Memory) -> float | None:
    """Return when a memory was last said or added to, in seconds; None if that is unknown."""
    stated, again = dates.get_said_time(memory, ws.clock().tzinfo), None
    if ws.home.state_file.exists():
        with suppress(StateUnusable):
            again = ws.state.statements.get_last_said(memory.id)
    return max((each for each in (stated, again) if each is not None), default=None)


def is_said_later(ws: Workspace, memory: Memory, said: float | None) -> bool:
    """Whether a memory was said after the time `said`, as far as both are known; notes have whole seconds."""
    last = get_last_said(ws, memory) if said is not None else None
    return last is not None and said is not None and int(last) > int(said)


def record_repetition(ws: Workspace, memory: Memory, said: float | None) -> None:
    """Record that a memory was repeated, if that was later."""
    stated = dates.get_said_time(memory, ws.clock().tzinfo)
    if said is not None and (stated is None or said > stated) and ws.home.state_file.exists():
        with suppress(StateUnusable):
            ws.state.statements.record(memory.id, said)


def find_current(ws: Workspace, entry: Entry, excluded_id: str) -> Entry | None:
    """Return the last successor of a superseded memory; None if one is missing, or has the id `excluded_id`."""
    seen = {entry.id, excluded_id}
    while entry.memory.superseded_by:
        with suppress(NotFound, Ambiguous, InputError, NoteError):
            entry = find.get(ws, entry.memory.superseded_by)
            if entry.id not in seen and len(seen) <= LONGEST_CHAIN:
                seen.add(entry.id)
                continue
        return None
    return entry


def find_place(ws: Workspace, memory: Memory, newer: Entry) -> ChainPlace:
    """Find the place of a memory before a newer one that has replaced it, among those it had replaced before."""
    zone = ws.clock().tzinfo
    said = dates.get_said_time(memory, zone) or 0.0
    successor, begins = newer, get_last_said(ws, newer.memory) or said
    earlier: list[tuple[float, Entry]] = []
    for entry in read.list_predecessors(ws, newer):
        stated = dates.get_said_time(entry.memory, zone)
        relation = decide.compared(entry.memory, memory).relation
        if entry.id == memory.id or stated is None or relation not in (SAME, CHANGED):
            continue
        ends = dates.end_of(entry.memory.valid_to, zone)
        if relation == SAME and (stated >= said or ends is None or said < ends):
            return ChainPlace(newer, "", twin=entry)
        if stated <= said:
            earlier.append((stated, entry))
        elif stated < begins:
            successor, begins = entry, stated
    followed = [each for each in earlier if successor.is_named_by(each[1].memory.superseded_by)]
    predecessor = max(followed, key=lambda each: (each[0], each[1].id), default=(0.0, None))[1]
    return ChainPlace(successor, dates.format_seconds(max(begins, said), zone), predecessor)


def end_validity(ws: Workspace, old: Entry, successor: Entry, ended: str, why: str) -> None:
    """State in a machine's note which one has replaced it, and since when."""
    valid_to = dates.clamp_end(old.memory, ended, ws.clock().tzinfo)
    revise(ws, old.id, {"superseded_by": successor.link, "status": "deprecated", "valid_to": valid_to}, why)


def revise(ws: Workspace, identity: str, changes: dict[str, Any], why: str) -> Written | None:
    """Revise a note; None when it is a person's, cannot be rewritten, or is being written to."""
    for _ in range(MOST_TRIES):
        try:
            return write.revise(ws, identity, why=why, **changes)
        except NoteChanged:
            continue
        except RewriteRefused:
            break
    return None
