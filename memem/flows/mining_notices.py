"""What the user is told about mining: what was learned, and what keeps memem from learning.

The key of a problem stands for its cause. A cause that mining itself gets past is cleared where that is seen: an answer
of the model ends `login` and `budget`, a chunk that was applied ends `capture`. A read-only vault and a full disk are
found, named and cleared by `notices.check_now`, so that miners and hooks say the same of them.
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
    """The model gave no answer."""
    if isinstance(problem, NotLoggedIn):
        text = "memem cannot learn from this session: claude is not logged in. Run /login; nothing is lost."
        notices.raise_problem(ws, LOGIN, text)
    elif isinstance(problem, CliMissing):
        text = "memem cannot learn from this session: claude does not start. See /memem-doctor; nothing is lost."
        notices.raise_problem(ws, LOGIN, text)
    elif is_repeated:
        text = "memem could not learn lately: claude failed several times in a row. It tries again; see /memem-doctor."
        notices.raise_problem(ws, CAPTURE, text)


def report_dead_letter(ws: Workspace) -> None:
    """Turns failed so often that they were put aside."""
    text = "memem gave up on a part of a session after many failures. It is kept; /memem-status says more."
    notices.raise_problem(ws, CAPTURE, text)


def report_budget(ws: Workspace, problem: BudgetSpent) -> None:
    """There is no call left today."""
    notices.raise_problem(ws, BUDGET, f"memem pauses learning: {_lowered(str(problem))} /memem-status shows the cost.")


def report_trouble(ws: Workspace, problem: MememError) -> None:
    """Vault, disk or state keep memem from learning; what concerns one session only is not reported."""
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
    """Report what ends background work."""
    try:
        yield
    except MememError as problem:
        report_trouble(ws, problem)
        raise


def clear_after_answer(ws: Workspace) -> None:
    """The model has answered."""
    for key in (LOGIN, BUDGET):
        notices.clear_problem(ws, key)


def clear_after_apply(ws: Workspace) -> None:
    """What was learned is in the vault."""
    notices.clear_problem(ws, CAPTURE)


def clear_budget_of_yesterday(ws: Workspace) -> None:
    """A new day has its own budget, also when nobody has asked yet."""
    limits = Limits(ws.settings.daily_calls, ws.settings.daily_usd)
    if BUDGET in notices.problems(ws) and not ws.state.ledger.used_up(ws.today(), limits):
        notices.clear_problem(ws, BUDGET)


def _is_full_disk(problem: BaseException) -> bool:
    """By what the error was raised for, or, where that is gone, by its words."""
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _FULL_DISK:
            return True
        cause = cause.__cause__ or cause.__context__
    return _FULL_DATABASE in str(problem) or os.strerror(errno.ENOSPC) in str(problem)


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
