"""Pack small sessions of one project into one model call; each is still mined by itself.

A session whose tail is too small for a call is held back (`jobs/held_back.py`). Once the tails of a project are worth a
call together, they go to the model in one prompt. Every operation belongs to the session that its quote is from. It is
journaled, applied and finished with that session's cursor, as if it had been asked about alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from memem.core.errors import BudgetSpent, ExtractError, MememError
from memem.flows import asking, mine_delta
from memem.flows.asking import BATCH, Mined, PutAside
from memem.flows.mine_delta import LEAST_CHARACTERS, LastPart
from memem.jobs.held_back import SmallSession
from memem.jobs.queue import Mark
from memem.workspace import Workspace

ENOUGH_SESSIONS = 10
"""This many small sessions of a project are worth a call, however little they hold."""
LONGEST_HELD_SECONDS = 7 * 86_400.0
"""Nothing is held back longer: Claude Code deletes transcripts after 30 days."""
MOST_PACKED = 20
"""Sessions in one call: they share the memories that the model is shown."""


def packs(small: Iterable[SmallSession]) -> list[list[SmallSession]]:
    """Group sessions by project. One that has failed goes alone, to spare the others."""
    projects: dict[str, list[SmallSession]] = {}
    alone: list[list[SmallSession]] = []
    for each in small:
        if each.failures:
            alone.append([each])
        else:
            projects.setdefault(each.project, []).append(each)
    return [pack for sessions in projects.values() for pack in _cut(sessions)] + alone


def ready_packs(small: Iterable[SmallSession], now: float) -> list[list[SmallSession]]:
    """The packs that are worth a call now."""
    return [pack for pack in packs(small) if _is_ready(pack, now)]


def _cut(sessions: list[SmallSession]) -> list[list[SmallSession]]:
    return [sessions[start : start + MOST_PACKED] for start in range(0, len(sessions), MOST_PACKED)]


def _is_ready(pack: Sequence[SmallSession], now: float) -> bool:
    is_enough = sum(each.characters for each in pack) >= LEAST_CHARACTERS or len(pack) >= ENOUGH_SESSIONS
    is_late = min(each.since for each in pack) <= now - LONGEST_HELD_SECONDS
    return is_enough or is_late or any(each.failures for each in pack)


def mine_pack(ws: Workspace, marks: Sequence[Mark], since: datetime | None) -> list[Mined]:
    """Mine the small tails of these sessions, one call for each project. The caller holds their locks.

    An error of one session does not keep others from being mined.
    """
    done: list[Mined] = []
    projects: dict[str, list[LastPart]] = {}
    for mark in marks:
        try:
            taken = mine_delta.take_tail(ws, mark, since)
        except MememError as problem:
            done.append(_defer_tail(ws, mark, problem))
            continue
        if isinstance(taken, Mined):
            done.append(taken)
        else:
            projects.setdefault(taken.chunk.project, []).append(taken)
    for parts in projects.values():
        done += _mine_parts(ws, parts)
    return done


def _mine_parts(ws: Workspace, parts: Sequence[LastPart]) -> list[Mined]:
    try:
        records = asking.ask_about(ws, parts)
    except PutAside as problem:
        _read_to_end(ws, parts[0])
        return [replace(parts[0].mined, outcome="buried", detail=str(problem), buried=parts[0].mined.buried + 1)]
    except (ExtractError, BudgetSpent) as problem:
        return [asking.failed(part.mined, problem) for part in parts]
    except MememError as problem:
        return [_defer_tail(ws, part.mark, problem) for part in parts]
    done = []
    for part, record in zip(parts, records, strict=True):
        try:
            with ws.events.batch(BATCH):
                mined = asking.apply(ws, part.mined, record)
                _read_to_end(ws, part)
                done.append(mine_delta.finish_up(ws, mined))
        except MememError as problem:
            done.append(_defer_tail(ws, part.mark, problem))
    return done


def _read_to_end(ws: Workspace, part: LastPart) -> None:
    """Record that the session is mined to the end its file had when it was read."""
    known, chunk = asking.known_session(ws, part.mark), part.chunk
    read = replace(known, size=part.size, mtime=part.mtime, whole=part.whole)
    with ws.state.at_once():
        ws.state.sessions.put(read.placed(chunk.inode, chunk.offset, chunk.digest))
        ws.state.held_back.remove_small(chunk.session)


def _defer_tail(ws: Workspace, mark: Mark, problem: MememError) -> Mined:
    """Mark the session again; a journaled answer is applied next time."""
    ws.state.queue.mark(mark, ws.clock().timestamp())
    return asking.record_error(ws, mark, problem)
