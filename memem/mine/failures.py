"""Handle failures to extract: postpone the session or all mining, put hopeless turns aside, inform the user."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memem.core import errors
from memem.core.conversation import Chunk
from memem.core.dates import iso
from memem.inject import notices
from memem.safety.gate import clean_line
from memem.state.calls import Limits
from memem.state.sessions import SessionRecord
from memem.state.tables import MAX_PAUSE_SECONDS

if TYPE_CHECKING:
    from memem.workspace import Workspace

LOGIN, ENDPOINT, BUDGET, CAPTURE = "login", "endpoint", "budget", "capture"
MAX_WAIT = timedelta(hours=6)
MAX_LOGIN_WAIT = timedelta(minutes=10)  # a refused call is free
BREAKER_FAILURES = 3  # after this many failures in a row, of any sessions, all mining pauses
# Failures that say nothing about the turns: all mining pauses, and no dead letter is made of them.
_SET_UP_FAILURES = (errors.CliMissing, errors.ModelMissing, errors.NotLoggedIn)  # a person can mend them at any moment
_SERVICE_FAILURES = (*_SET_UP_FAILURES, errors.RateLimited, errors.Overloaded)
_FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
_MODEL_FAILURES = {
    errors.NotLoggedIn: "memem cannot learn from this session: claude is not logged in. Run /login; nothing is lost.",
    errors.CliMissing: "memem cannot learn: claude cannot be started. See /memem-doctor; nothing is lost.",
}
_ENDPOINT_FAILURES = {
    errors.NotLoggedIn: (
        "memem cannot learn: the server at MEMEM_MODEL_URL needs a valid MEMEM_MODEL_KEY. Nothing is lost."
    ),
    errors.ModelMissing: (
        "memem cannot learn: the server at MEMEM_MODEL_URL has no usable model. See /memem-doctor; nothing is lost."
    ),
}


def limits(ws: Workspace) -> Limits:
    """The day's limits. A server does not say what an answer costs, so that only calls are limited."""
    return Limits(ws.settings.daily_calls, math.inf if ws.settings.model_url else ws.settings.daily_usd)


def report_trouble(ws: Workspace, problem: errors.MememError) -> None:
    """Report that vault, disk or state keep memem from learning. A problem of one session is not reported."""
    is_full = _is_full_disk(problem)
    if is_full or isinstance(problem, errors.VaultUnwritable):
        if notices.check_now(ws).keys() & {"disk", "vault"}:
            return
        reason = "the disk is full" if is_full else f"it cannot write to {ws.settings.vault}"
        text = f"{reason}. Nothing is lost. See /memem-doctor."
    elif isinstance(problem, errors.VaultMissing):
        text = f"the vault {ws.settings.vault} is missing. Restore it; nothing is lost."
    elif isinstance(problem, errors.StateTooNew):
        text = "its state database was written by a newer version of memem. Upgrade memem; see /memem-doctor."
    elif isinstance(problem, errors.StateUnusable):
        text = "its state database is damaged. /memem-mine creates a new one; your notes are not touched."
    elif isinstance(problem, errors.HomeError | errors.IndexUnusable):
        text = f"{_uncapitalise(clean_line(str(problem)))} See /memem-doctor."
    else:
        return
    notices.raise_problem(ws, CAPTURE, f"memem cannot learn: {text}")


@contextmanager
def reporting_trouble(ws: Workspace) -> Iterator[None]:
    try:
        yield
    except errors.MememError as problem:
        report_trouble(ws, problem)
        raise


def clear_after_answer(ws: Workspace) -> None:
    for key in (LOGIN, ENDPOINT, BUDGET):
        notices.clear_problem(ws, key)


def clear_budget_of_yesterday(ws: Workspace) -> None:
    if BUDGET in notices.problems(ws) and not ws.state.ledger.limit_reached(ws.today(), limits(ws)):
        notices.clear_problem(ws, BUDGET)


def _is_full_disk(problem: BaseException) -> bool:
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _FULL_DISK:
            return True
        cause = cause.__cause__ or cause.__context__
    return "disk is full" in str(problem) or os.strerror(errno.ENOSPC) in str(problem)


def _uncapitalise(text: str) -> str:
    return text[:1].lower() + text[1:]


def is_service_failure(problem: errors.ExtractError) -> bool:
    return isinstance(problem, _SERVICE_FAILURES)


def is_hopeless(ws: Workspace, session: SessionRecord, problem: errors.ExtractError | errors.BudgetSpent) -> bool:
    """Whether the turns have failed so often that they become a dead letter."""
    counts = isinstance(problem, errors.ExtractError) and not is_service_failure(problem)
    return counts and session.failures + 1 >= ws.settings.max_failures


def dead_letter(ws: Workspace, chunk: Chunk, problem: errors.ExtractError | errors.BudgetSpent) -> None:
    now = iso(ws.clock())
    with ws.state.transaction():
        ws.state.ledger.count_failure()
        ws.state.journal.add_dead_letter(chunk.session, chunk.as_json(), str(problem), now)
        ws.state.sessions.move_cursor(chunk, "buried", str(problem), now)
    kept = "It is kept; /memem-status explains how to retry."
    notices.announce(ws, f"memem gave up on part of a session after repeated failures. {kept}")


def postpone(ws: Workspace, problem: errors.ExtractError | errors.BudgetSpent, *sessions: SessionRecord) -> None:
    """Record when the sessions of a failed call may try again."""
    now = iso(ws.clock())
    if isinstance(problem, errors.BudgetSpent):
        reason = f"{_uncapitalise(str(problem))} Learning continues tomorrow; /memem-status shows the cost."
        notices.raise_problem(ws, BUDGET, f"memem has paused learning: {reason}")
        for session in sessions:
            ws.state.sessions.put(session.with_outcome("spent", str(problem), now))
        return
    one_more = not is_service_failure(problem)
    until = back_off(ws, problem, max(session.failures for session in sessions) + one_more)
    for session in sessions:
        waiting = replace(session, failures=session.failures + one_more, not_before=until.timestamp())
        ws.state.sessions.put(waiting.with_outcome("failed", str(problem), now))


def back_off(ws: Workspace, problem: errors.ExtractError, failures: int = 1) -> datetime:
    """Record a failure of the model; return when its session may try again, after `failures` of its own."""
    now = ws.clock()
    in_a_row = ws.state.ledger.count_failure()
    key, texts = (ENDPOINT, _ENDPOINT_FAILURES) if ws.settings.model_url else (LOGIN, _MODEL_FAILURES)
    if text := texts.get(type(problem)):
        notices.raise_problem(ws, key, text)
    elif in_a_row >= BREAKER_FAILURES:
        name = "the model at MEMEM_MODEL_URL" if ws.settings.model_url else "claude"
        reason = f"{name} failed several times in a row. memem will try again; see /memem-doctor."
        notices.raise_problem(ws, CAPTURE, f"memem has not been able to learn recently: {reason}")
    is_service = is_service_failure(problem)
    until = _retry_time(ws, now, in_a_row if is_service else failures, problem)
    if until > now and (is_service or in_a_row >= BREAKER_FAILURES):
        ws.state.ledger.start_pause(until.timestamp(), str(problem))
    return until


def _retry_time(ws: Workspace, now: datetime, failures: int, problem: errors.ExtractError) -> datetime:
    base = ws.settings.retry_base_seconds
    if not base:
        return now
    longest = MAX_LOGIN_WAIT if isinstance(problem, _SET_UP_FAILURES) else MAX_WAIT
    until = now + min(timedelta(seconds=base * 2.0 ** min(failures - 1, 16)), longest)
    retry_at = problem.retry_at if isinstance(problem, errors.RateLimited) else None
    return min(max(until, retry_at), now + timedelta(seconds=MAX_PAUSE_SECONDS)) if retry_at else until
