"""Decide when sessions are mined: on request, after a turn, or by a sweep for those that are behind.

A process with something new marks the session, and mines if there is a free slot. A miner drains all marks, and looks
again after releasing its slot, so the last turn is never missed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import background
from memem.core.conversation import Chunk
from memem.core.errors import BudgetSpent, Busy, ExtractError, NotFound
from memem.core.memory import fingerprint
from memem.mine import ask, drain, failures, order, prompt
from memem.mine.ask import Mined
from memem.mine.locks import miner_slot, session_locks
from memem.mine.session import MINE_SMALL, PACK_SMALL
from memem.search.refresh import refresh_if_due
from memem.search.transcripts import sessions
from memem.search.transcripts.consent import opted_in
from memem.state.journal import JournalRecord
from memem.state.sessions import Mark
from memem.transcript.session import find_sessions
from memem.vault.opening import ensure_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace

QUIET_SECONDS = 600  # a session not written to for this long has probably ended, and is mined to its end
MAX_WAIT_SECONDS, RETRY_SECONDS = 900.0, 0.1  # for a slot and the locks of sessions

Progress = Callable[[int, int], object]


def allowed_since(ws: Workspace) -> datetime | None:
    """Return since when sessions may be mined in the background, None if they may not; decided once per run."""
    with failures.reporting_trouble(ws):
        return None if ws.is_own_call else opted_in(ws)


def start_miner(ws: Workspace, transcript: Path, *, flush: bool = False) -> bool:
    """Start a background process to mine a session; False if that is not allowed."""
    if allowed_since(ws) is None:
        return False
    arguments = ["mine", "--background", "--session", str(transcript.absolute()), *(["--flush"] if flush else [])]
    background.start_memem(arguments, ws.environ_for_children(), ws.home.mine_log, keep_log=True)
    return True


def mine_file(ws: Workspace, transcript: Path) -> Mined:
    """Mine one whole session now, opted in or not: a person asks for it."""
    path = transcript.absolute()
    if not path.is_file():
        raise NotFound(f"There is no session file {path}.")
    mark = drain.make_mark(path, flush=True)
    ws.state.children.end_orphans()
    began = ws.clock().timestamp()
    with _locked(ws, mark.session):
        mined = drain.mine_or_mark(ws, drain.claim_mark(ws, mark), None, sdk=True)
    drain.log_result(ws, mined)
    _drain_others(ws, [mined], began)
    return mined


def mark(ws: Workspace, transcript: Path, *, flush: bool = False, last_message: str = "") -> None:
    """Record that a session has something new. Its `last_message` may not be in the file yet."""
    with failures.reporting_trouble(ws):
        expected = fingerprint(last_message) if last_message else ""
        wanted = drain.make_mark(transcript.absolute(), flush=flush, expected=expected)
        ws.state.queue.mark(wanted, ws.clock().timestamp())


def mine_in_background(
    ws: Workspace, transcript: Path | None = None, *, flush: bool = False, last_message: str = ""
) -> list[Mined]:
    """Mark a session, and mine everything that is marked if there is a free slot."""
    since = allowed_since(ws)
    if since is None:
        return []
    if transcript:
        mark(ws, transcript, flush=flush, last_message=last_message)
    return mine_due(ws, since)


def mine_due(ws: Workspace, since: datetime) -> list[Mined]:
    with failures.reporting_trouble(ws):
        ws.state.children.end_orphans()
        failures.clear_budget_of_yesterday(ws)
        return drain.drain(ws, since, [])


def sweep(ws: Workspace) -> list[Mined]:
    """Mark every session that is behind, after a crash or a missed hook, and mine; index the others too."""
    since = allowed_since(ws)
    if since is None:
        return []
    now = ws.clock().timestamp()
    with failures.reporting_trouble(ws):
        for session in ws.state.journal.sessions():
            record = ws.state.sessions.get(session)
            ws.state.queue.mark(Mark(session, record.path if record else "", flush=True), now)
        small = {each.session: (each.size, each.mtime) for each in ws.state.deferred.small()}
        for path in sorted(unmined_sessions(ws, since), key=order.get_change_time):
            with suppress(OSError):  # gone meanwhile
                status = path.stat()
                is_quiet = now - status.st_mtime > QUIET_SECONDS
                if small.get(path.stem) != (status.st_size, status.st_mtime_ns):  # else it waits for others
                    ws.state.queue.mark(drain.make_mark(path, flush=is_quiet), now)
    done = mine_due(ws, since)
    sessions.index_pending(ws)
    return done


def unmined_sessions(ws: Workspace, since: datetime | None) -> list[Path]:
    """Return session files that changed since they were read to their end; without `since`, also partly read ones."""
    unmined = []
    for path in filter(drain.is_text, find_sessions(ws.session_folders)):
        try:
            status = path.stat()
        except OSError:
            continue  # gone meanwhile
        if since and status.st_mtime < since.timestamp():
            continue
        record = ws.state.sessions.get(path.stem)
        is_read = record and (record.size, record.mtime) == (status.st_size, status.st_mtime_ns)
        is_wanted = ws.settings.mine_sdk and ws.state.deferred.has_sdk(path.stem)
        if not (record and record.own) and (is_wanted or not (record and is_read and (since or record.whole))):
            unmined.append(path)
    return unmined


def mine_all(
    ws: Workspace,
    paths: Iterable[Path],
    since: datetime | None,
    progress: Progress,
    *,
    counted: Collection[str] | None = None,  # the sessions whose number `progress` gets, if not all
) -> list[Mined]:
    """Mine these sessions, the small ones packed together at the end, until the budget is spent or nothing works."""
    paths, done = list(paths), list[Mined]()
    wanted = frozenset(path.stem for path in paths) if counted is None else frozenset(counted)
    began = ws.clock().timestamp()

    def report() -> None:
        unfinished = {mined.session for mined in done if mined.outcome in ("waiting", "failed", "spent")}
        progress(len(wanted & {mined.session for mined in done} - unfinished), len(wanted))

    ws.state.children.end_orphans()
    small = PACK_SMALL if ask.asks_model(ws) else MINE_SMALL
    for path in paths:
        report()
        mark = drain.make_mark(path.absolute(), flush=True)
        with _locked(ws, mark.session):
            done.append(drain.attempt(ws, drain.claim_mark(ws, mark), since, small))
        drain.log_result(ws, done[-1])
        if _is_hopeless(ws, done):
            break
    else:
        _mine_small_of(ws, done, since, report)
    report()
    _drain_others(ws, done, began)
    return done


def _mine_small_of(ws: Workspace, done: list[Mined], since: datetime | None, report: Callable[[], None]) -> None:
    """Mine the small tails of these sessions; in `done` each outcome replaces `waiting`."""
    sessions = {mined.session for mined in done}
    for pack in drain.group_small(each for each in ws.state.deferred.small() if each.session in sessions):
        report()
        with _locked(ws, *(each.session for each in pack)):
            packed = drain.attempt_pack(ws, pack, since)
        for mined in packed:
            drain.log_result(ws, mined)
        finished = {mined.session for mined in packed}
        done[:] = [mined for mined in done if mined.outcome != "waiting" or mined.session not in finished] + packed
        if _is_hopeless(ws, done):
            return


def _is_hopeless(ws: Workspace, done: list[Mined]) -> bool:
    """Whether the budget is spent, or the model fails and not just this session."""
    is_broken = ws.state.ledger.failures() >= failures.BREAKER_FAILURES or drain.is_stopped(ws)
    return drain.is_spent(done) or (bool(done) and done[-1].outcome == "failed" and is_broken)


def retry(ws: Workspace) -> list[Mined]:
    """Ask again about every dead letter; the failure of one says nothing about the next."""
    ensure_vault(ws)
    refresh_if_due(ws)
    began = ws.clock().timestamp()
    ws.state.children.end_orphans()
    done: list[Mined] = []
    for record in ws.state.journal.dead_letters():
        with _locked(ws, record.session):
            done.append(_retry_record(ws, record))
        drain.log_result(ws, done[-1])
        if done[-1].outcome == "spent" or drain.is_stopped(ws):
            break
    _drain_others(ws, done, began)
    return done


def _retry_record(ws: Workspace, record: JournalRecord) -> Mined:
    chunk = Chunk.from_json(record.chunk)
    mined = Mined(chunk.session, chunk.path)
    if record not in ws.state.journal.dead_letters():
        return mined  # another process has just retried it
    try:
        ((chunk, operations),) = ask.extract(ws, chunk)
    except (BudgetSpent, ExtractError) as problem:
        if isinstance(problem, ExtractError):
            failures.back_off(ws, problem)
        return mined.with_failure(problem)
    failures.clear_after_answer(ws)
    with ws.state.transaction():
        ws.state.ledger.reset_failures()
        ws.state.journal.answer_dead_letter(record.number, chunk.as_json(), prompt.operations_as_json(operations))
    for answered in ws.state.journal.unapplied(chunk.session):
        mined = ask.apply(ws, mined, answered)
    return mined


def _drain_others(ws: Workspace, done: list[Mined], began: float) -> None:
    """Mine sessions that other processes have marked since, because we had the slot or the lock."""
    if since := None if ws.is_own_call else opted_in(ws):
        drain.drain(ws, since, list(done), began)


@contextmanager
def _locked(ws: Workspace, *sessions: str) -> Iterator[None]:
    """Wait for a free slot and the locks of the sessions. Raises Busy after a long wait."""
    began, folder = ws.ticks(), ws.home.mining_locks
    while (now := ws.ticks()) < began + MAX_WAIT_SECONDS:
        with ExitStack() as stack:
            has_slot = stack.enter_context(miner_slot(folder, ws.settings.max_miners))
            if has_slot and stack.enter_context(session_locks(folder, *sessions)):
                yield
                return
        if now == began:
            ws.notice("Waiting for other mining processes.")
        ws.pause(RETRY_SECONDS)
    raise Busy("Other mining processes have been busy for 15 minutes. Try again later; nothing was lost.")
