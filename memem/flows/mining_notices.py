"""Notices about mining: problems that keep memem from learning, and turns it gave up on.

The key of a problem stands for its cause. Mining clears a problem when it sees that the cause is gone: an answer of the
model ends `login` and `budget`, an applied chunk ends `capture`. `notices.check_now` reports and clears a read-only
vault and a full disk, so miners and hooks use the same words.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from memem.core.errors import (
    BudgetSpent,
    CliMissing,
    ExtractError,
    HomeError,
    IndexUnusable,
    MememError,
    NotLoggedIn,
    StateTooNew,
    StateUnusable,
    VaultMissing,
    VaultUnwritable,
)
from memem.flows import notices
from memem.gate.verdict import clean_line
from memem.jobs.budget import Limits
from memem.workspace import Workspace

LOGIN, BUDGET, CAPTURE = "login", "budget", "capture"
_FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
_FULL_DATABASE = "disk is full"  # as SQLite says it


def report_model_failure(ws: Workspace, problem: ExtractError, *, is_repeated: bool) -> None:
    """Report that the model gave no answer."""
    if isinstance(problem, NotLoggedIn):
        text = "memem cannot learn from this session: claude is not logged in. Run /login; nothing is lost."
        notices.raise_problem(ws, LOGIN, text)
    elif isinstance(problem, CliMissing):
        text = "memem cannot learn from this session: claude does not start. See /memem-doctor; nothing is lost."
        notices.raise_problem(ws, LOGIN, text)
    elif is_repeated:
        text = "memem could not learn lately: claude failed several times in a row. It tries again; see /memem-doctor."
        notices.raise_problem(ws, CAPTURE, text)


def announce_dead_letter(ws: Workspace) -> None:
    """Announce that turns were put aside. It is news, not a problem: mining other turns does not undo it."""
    text = "memem gave up on part of a session after repeated failures. It is kept; /memem-status says how to retry."
    notices.announce(ws, text)


def report_budget(ws: Workspace, problem: BudgetSpent) -> None:
    """Report that today's limit is reached."""
    continues = "It continues tomorrow; /memem-status shows the cost."
    notices.raise_problem(ws, BUDGET, f"memem has paused learning: {_lowered(str(problem))} {continues}")


def report_trouble(ws: Workspace, problem: MememError) -> None:
    """Report that vault, disk or state keep memem from learning. A problem of one session is not reported."""
    if _is_full_disk(problem) or isinstance(problem, VaultUnwritable):
        if not notices.check_now(ws).keys() & {"disk", "vault"}:
            what = "the disk is full" if _is_full_disk(problem) else f"{ws.settings.vault} cannot be written"
            notices.raise_problem(ws, CAPTURE, f"memem cannot learn: {what}. Nothing is lost. See /memem-doctor.")
    elif isinstance(problem, VaultMissing):
        text = f"memem cannot learn: the vault {ws.settings.vault} is not there. Bring it back; nothing is lost."
        notices.raise_problem(ws, CAPTURE, text)
    elif isinstance(problem, StateTooNew):
        text = "memem cannot learn: its state was written by a newer memem. Update this one; see /memem-doctor."
        notices.raise_problem(ws, CAPTURE, text)
    elif isinstance(problem, StateUnusable):
        text = "memem cannot learn: its state is damaged. /memem-mine starts a new one; your notes are not touched."
        notices.raise_problem(ws, CAPTURE, text)
    elif isinstance(problem, HomeError | IndexUnusable):
        notices.raise_problem(
            ws, CAPTURE, f"memem cannot learn: {_lowered(clean_line(str(problem)))} See /memem-doctor."
        )


@contextmanager
def reporting_trouble(ws: Workspace) -> Iterator[None]:
    """Report the error that ends background work."""
    try:
        yield
    except MememError as problem:
        report_trouble(ws, problem)
        raise


def clear_after_answer(ws: Workspace) -> None:
    """Clear the problems that an answer of the model ends."""
    for key in (LOGIN, BUDGET):
        notices.clear_problem(ws, key)


def clear_after_apply(ws: Workspace) -> None:
    """Clear the problem that an applied chunk ends."""
    notices.clear_problem(ws, CAPTURE)


def clear_budget_of_yesterday(ws: Workspace) -> None:
    """Clear the budget problem when there is budget left, even before the next call."""
    limits = Limits(ws.settings.daily_calls, ws.settings.daily_usd)
    if BUDGET in notices.problems(ws) and not ws.state.ledger.used_up(ws.today(), limits):
        notices.clear_problem(ws, BUDGET)


def _is_full_disk(problem: BaseException) -> bool:
    """Check the chain of causes; where it is lost, the message."""
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _FULL_DISK:
            return True
        cause = cause.__cause__ or cause.__context__
    return _FULL_DATABASE in str(problem) or os.strerror(errno.ENOSPC) in str(problem)


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
