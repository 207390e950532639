"""Postpone mining after a failure to extract: one session, sometimes all; put turns aside that keep failing."""

from dataclasses import replace
from datetime import datetime, timedelta

from memem.core.clock import iso
from memem.core.errors import BudgetSpent, CliMissing, ExtractError, NotLoggedIn, Overloaded, RateLimited
from memem.core.mining import Chunk
from memem.flows import mining_notices
from memem.jobs.sessions import Session
from memem.jobs.tables import LONGEST_PAUSE
from memem.workspace import Workspace

LONGEST_WAIT = timedelta(hours=6)
LONGEST_WAIT_FOR_LOGIN = timedelta(minutes=10)
"""A person may log in at any moment, and asking before that costs nothing."""
BREAKER_FAILURES = 3
"""So many failures in a row, of whatever sessions, and everybody waits."""
_OF_THE_SERVICE = (CliMissing, NotLoggedIn, RateLimited, Overloaded)
"""Failures that say nothing about the turns: everybody waits, and no dead letter is made of them."""


def is_of_the_service(problem: ExtractError) -> bool:
    """Whether nobody has read the turns: the CLI is missing or has no account, or the service takes no calls."""
    return isinstance(problem, _OF_THE_SERVICE)


def is_hopeless(ws: Workspace, known: Session, problem: ExtractError | BudgetSpent) -> bool:
    """Whether the turns have failed so often that they are to be put aside."""
    counts = isinstance(problem, ExtractError) and not isinstance(problem, _OF_THE_SERVICE)
    return counts and known.failures + 1 >= ws.settings.max_failures


def bury(ws: Workspace, chunk: Chunk, problem: ExtractError | BudgetSpent) -> None:
    """Keep the turns as a dead letter."""
    ws.state.ledger.failed()
    ws.state.journal.bury(chunk.session, chunk.as_json(), str(problem), iso(ws.clock()))


def postpone(ws: Workspace, problem: ExtractError | BudgetSpent, *sessions: Session) -> None:
    """Record when the sessions of a failed call, and mining as a whole, may try again."""
    now = iso(ws.clock())
    if isinstance(problem, BudgetSpent):
        mining_notices.report_budget(ws, problem)
        for known in sessions:
            ws.state.sessions.put(known.told("spent", str(problem), now))
        return
    one_more = not isinstance(problem, _OF_THE_SERVICE)
    until = warn(ws, problem, max(known.failures for known in sessions) + one_more)
    for known in sessions:
        waiting = replace(known, failures=known.failures + one_more, not_before=until.timestamp())
        ws.state.sessions.put(waiting.told("failed", str(problem), now))


def warn(ws: Workspace, problem: ExtractError, failures: int = 1) -> datetime:
    """Note a failure of the model for everybody; when whoever had it may try again, after so many of its own."""
    now = ws.clock()
    in_a_row = ws.state.ledger.failed()
    mining_notices.report_model_failure(ws, problem, is_repeated=in_a_row >= BREAKER_FAILURES)
    of_the_service = isinstance(problem, _OF_THE_SERVICE)
    until = _until(ws, now, in_a_row if of_the_service else failures, problem)
    if until > now and (of_the_service or in_a_row >= BREAKER_FAILURES):
        ws.state.ledger.trip(until.timestamp(), str(problem))
    return until


def _until(ws: Workspace, now: datetime, times: int, problem: ExtractError) -> datetime:
    base = ws.settings.retry_base_seconds
    if not base:
        return now
    longest = LONGEST_WAIT_FOR_LOGIN if isinstance(problem, CliMissing | NotLoggedIn) else LONGEST_WAIT
    until = now + min(timedelta(seconds=base * 2.0 ** min(times - 1, 16)), longest)
    retry_at = problem.retry_at if isinstance(problem, RateLimited) else None
    return min(max(until, retry_at), now + timedelta(seconds=LONGEST_PAUSE)) if retry_at else until
