"""Mine due sessions: marked ones first, then packs of small ones that are worth a call together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.dates import iso
from memem.core.errors import BudgetSpent, ExtractError, InputError, MememError
from memem.inject import notices, statusline
from memem.mine import ask, order, session
from memem.mine.ask import BATCH, OUTCOME_WORDS, OUTDATED, SAVED, DeadLettered, Mined
from memem.mine.locks import miner_slot, session_locks
from memem.mine.session import HOLD_SMALL, MIN_CHARACTERS, MINE_SMALL, SessionTail, mine_session
from memem.safety.gate import clean_line
from memem.search.transcripts import sessions
from memem.search.transcripts.consent import opted_in
from memem.state.sessions import Mark, SmallSession

if TYPE_CHECKING:
    from memem.workspace import Workspace

ENOUGH_SESSIONS = 10  # this many small sessions of a project are worth a call, however short they are
MAX_HELD_SECONDS = 7 * 86_400.0  # Claude Code deletes transcripts after 30 days
MAX_PACKED = 20  # sessions in one call: they share the memories that the model is shown


def log_error(ws: Workspace, problem: Exception) -> None:
    with suppress(OSError):
        files.append_log(ws.home.mine_log, f"{iso(ws.clock())} {type(problem).__name__}: {clean_line(str(problem))}")


def log_result(ws: Workspace, mined: Mined) -> None:
    statusline.update(ws)  # a call that failed has its cost too
    if mined.outcome in ("nothing", "waiting", "refused") and not mined.buried:
        return
    saved = f"{mined.count(*SAVED)} saved, {mined.count('refused')} refused" if mined.chunks else ""
    parts = filter(None, [mined.counted_turns if mined.turns else "", saved, clean_line(mined.detail)])
    outcome = OUTCOME_WORDS.get(mined.outcome, mined.outcome)
    files.append_log(ws.home.mine_log, f"{iso(ws.clock())} {mined.session} {outcome}: {', '.join(parts)}")


def group_small(small: Iterable[SmallSession]) -> list[list[SmallSession]]:
    """Group sessions by project, for one call each, oldest first; one that has failed goes alone, to spare others."""
    projects: dict[str, list[SmallSession]] = {}
    alone: list[list[SmallSession]] = []
    for tail in sorted(small, key=lambda tail: tail.mtime):
        if tail.failures:
            alone.append([tail])
        else:
            projects.setdefault(tail.project, []).append(tail)
    packs = [
        sessions[start : start + MAX_PACKED]
        for sessions in projects.values()
        for start in range(0, len(sessions), MAX_PACKED)
    ]
    return packs + alone


def ready_packs(small: Iterable[SmallSession], now: float) -> list[list[SmallSession]]:
    """Return the packs that are worth a call now."""
    ready = []
    for pack in group_small(small):
        is_enough = sum(tail.characters for tail in pack) >= MIN_CHARACTERS or len(pack) >= ENOUGH_SESSIONS
        is_late = min(tail.since for tail in pack) <= now - MAX_HELD_SECONDS
        if is_enough or is_late or any(tail.failures for tail in pack):
            ready.append(pack)
    return ready


def mine_pack(ws: Workspace, marks: Sequence[Mark], since: datetime | None) -> list[Mined]:
    """Mine the small tails of these locked sessions, one call per project; an error of one does not stop others."""
    done: list[Mined] = []
    projects: dict[str, list[SessionTail]] = {}
    for mark in marks:
        try:
            taken = session.take_tail(ws, mark, since)
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


def _mine_parts(ws: Workspace, tails: Sequence[SessionTail]) -> list[Mined]:
    parts = sorted(tails, key=_get_begin_time)
    try:
        records = ask.ask_about(ws, [(part.mark, part.chunk) for part in parts])
    except DeadLettered as problem:
        _read_to_end(ws, parts[0])
        return [replace(parts[0].mined, outcome="buried", detail=str(problem), buried=parts[0].mined.buried + 1)]
    except (ExtractError, BudgetSpent) as problem:
        return [part.mined.with_failure(problem) for part in parts]
    except MememError as problem:
        return [_defer_tail(ws, part.mark, problem) for part in parts]
    done = []
    for part, record in zip(parts, records, strict=True):
        try:
            with ws.events.batch(BATCH):
                mined = ask.apply(ws, part.mined, record)
                _read_to_end(ws, part)
                done.append(session.finish_up(ws, mined))
        except MememError as problem:
            done.append(_defer_tail(ws, part.mark, problem))
    return done


def _get_begin_time(part: SessionTail) -> float:
    time = order.get_turn_time(part.chunk.turns[0])
    return part.mtime / 1e9 if time is None else time


def _read_to_end(ws: Workspace, part: SessionTail) -> None:
    """Record that the session is mined to the end its file had when it was read."""
    record, chunk = ask.load_session(ws, part.mark), part.chunk
    read = replace(record, size=part.size, mtime=part.mtime, whole=part.whole)
    with ws.state.transaction():
        ws.state.sessions.put(read.placed(chunk.cursor))
        ws.state.deferred.remove_small(chunk.session)


def _defer_tail(ws: Workspace, mark: Mark, problem: MememError) -> Mined:
    ws.state.queue.mark(mark, ws.clock().timestamp())
    return ask.record_error(ws, mark, problem)


def attempt(ws: Workspace, mark: Mark, since: datetime | None, small: str) -> Mined:
    """Mine a session; an error is recorded with it, so that other sessions are still mined."""
    try:
        return mine_or_mark(ws, mark, since, small)
    except MememError as problem:
        return ask.record_error(ws, mark, problem)


def attempt_pack(ws: Workspace, pack: Sequence[SmallSession], since: datetime | None) -> list[Mined]:
    marks = [claim_mark(ws, Mark(tail.session, tail.path, flush=True)) for tail in pack]
    with _marked_on_failure(ws, *marks):
        done = mine_pack(ws, marks, since)
    for mark in marks:
        sessions.index_quietly(ws, Path(mark.path), everything=since is None)
    return done


def mine_or_mark(
    ws: Workspace, mark: Mark, since: datetime | None, small: str = MINE_SMALL, *, sdk: bool = False
) -> Mined:
    """Mine a session and index its text for search. After an error the session is marked again."""
    again = ws.settings.mine_sdk and ws.state.deferred.has_sdk(mark.session)
    with _marked_on_failure(ws, mark):
        mined = mine_session(ws, mark, since, small=small, sdk=sdk)
    if mined.outcome != "missing":
        sessions.index_quietly(ws, Path(mark.path), everything=since is None, again=again)
    return mined


@contextmanager
def _marked_on_failure(ws: Workspace, *marks: Mark) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for mark in marks:
            ws.state.queue.mark(mark, ws.clock().timestamp())
        raise


def claim_mark(ws: Workspace, mark: Mark) -> Mark:
    """Take a session's mark out of the queue before the session is read; keep its expected answer."""
    marked = ws.state.queue.take(mark.session)
    return replace(mark, expected=marked.expected) if marked else mark


def make_mark(path: Path, *, flush: bool, expected: str = "") -> Mark:
    """Make the mark of a session file, whose name identifies the session."""
    if not is_text(path):
        raise InputError(f"{str(path)!r} is not valid Unicode; rename the file.")
    return Mark(path.stem, str(path), flush, expected)


def is_text(path: Path) -> bool:
    """Whether a path is valid Unicode: SQLite and JSON refuse the surrogates that Python makes of other bytes."""
    return not any("\ud800" <= letter <= "\udfff" for letter in str(path))


def drain(ws: Workspace, since: datetime, done: list[Mined], marked_since: float = 0.0) -> list[Mined]:
    """Mine due sessions, except those that failed in `done`, until none is left or the run must stop."""
    while True:
        with miner_slot(ws.home.mining_locks, ws.settings.max_miners) as has_slot:
            is_busy = has_slot
            while is_busy:
                is_busy = _mine(ws, since, done, _marked(ws, done, marked_since)) or _mine_packs(ws, since, done)
        # Look again after releasing the slot: a process that found none may have marked a session meanwhile.
        if not has_slot or not _is_something_left(ws, since, done, marked_since):
            return done


def _mine(ws: Workspace, since: datetime, done: list[Mined], due: Iterable[Mark]) -> bool:
    """Mine marked sessions that no other miner has locked; return whether there were any."""
    before = len(done)
    for mark in due:
        if _must_stop(ws, since, done):
            return False
        with session_locks(ws.home.mining_locks, mark.session) as is_ours:
            taken = ws.state.queue.take(mark.session) if is_ours else None
            if taken:
                done.append(attempt(ws, taken, since, HOLD_SMALL))
                _report(ws, done[-1])
    return len(done) > before


def _mine_packs(ws: Workspace, since: datetime, done: list[Mined]) -> bool:
    """Mine ready packs of small sessions that no other miner has locked; return whether there were any."""
    before, now = len(done), ws.clock().timestamp()
    tried = {mined.session for mined in done if mined.outcome != "waiting"}
    for pack in ready_packs((s for s in ws.state.deferred.small(due=now) if s.session not in tried), now):
        if _must_stop(ws, since, done):
            return False
        with session_locks(ws.home.mining_locks, *(tail.session for tail in pack)) as is_ours:
            for mined in attempt_pack(ws, pack, since) if is_ours else ():
                done.append(mined)
                _report(ws, mined)
    return len(done) > before


def _must_stop(ws: Workspace, since: datetime, done: list[Mined]) -> bool:
    return is_spent(done) or is_stopped(ws) or opted_in(ws) != since


def _report(ws: Workspace, mined: Mined) -> None:
    log_result(ws, mined)
    learned = [applied for applied in mined.applied if applied.outcome in SAVED and applied.outcome != OUTDATED]
    if titles := [clean_line(applied.title) for applied in learned]:
        notices.announce_learned(ws, titles, session=mined.session, project=mined.project)


def _is_something_left(ws: Workspace, since: datetime, done: list[Mined], marked_since: float) -> bool:
    """Whether a session is due that no other miner, which would look again itself, has locked."""
    for mark in [] if _must_stop(ws, since, done) else _marked(ws, done, marked_since):
        with session_locks(ws.home.mining_locks, mark.session) as is_ours:
            if is_ours:
                return True
    return False


def _marked(ws: Workspace, done: list[Mined], marked_since: float) -> list[Mark]:
    failed = {mined.session for mined in done if mined.outcome == "failed"}
    marks = ws.state.queue.due(ws.clock().timestamp(), marked_since)
    return [mark for mark in marks if mark.session not in failed]


def is_spent(done: list[Mined]) -> bool:
    return bool(done) and done[-1].outcome == "spent"


def is_stopped(ws: Workspace) -> bool:
    return ws.state.ledger.pause(ws.clock().timestamp()) is not None
