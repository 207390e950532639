"""Mine every session: record the progress, announce the end, resume after an interruption.

One process at a time mines the history; it has `run/history.lock`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files, locks
from memem.core.dates import iso
from memem.core.errors import Busy, InputError, MememError
from memem.core.home import using_home
from memem.inject import notices
from memem.mine import plan as mine_plan
from memem.mine import schedule
from memem.mine.ask import SAVED, Mined
from memem.mine.plan import Plan
from memem.safety.gate import clean_line
from memem.state import history_progress
from memem.state.history_progress import BUDGET, DONE, RUNNING, STOPPED, HistoryProgress

if TYPE_CHECKING:
    from memem.workspace import Workspace


@dataclass(frozen=True, slots=True)
class History:
    """The session files to mine, those with something new first, and the plan for them."""

    paths: tuple[Path, ...]
    plan: Plan
    sessions: frozenset[str] = frozenset()


def survey_history(ws: Workspace, progress: schedule.Progress) -> History:
    """Survey the sessions that are not mined to their end."""
    paths = schedule.unmined_sessions(ws, None)
    plan, sessions = mine_plan.survey(ws, paths, None, progress)
    return History(tuple(sorted(paths, key=lambda path: path.stem not in sessions)), plan, sessions)


def start_in_background(ws: Workspace) -> None:
    """Start a background process to mine the history. Raises InputError when one is running."""
    refuse_second_run(ws)
    schedule.begin_history(ws)


def refuse_second_run(ws: Workspace) -> None:
    """Raise InputError when the history is being mined."""
    run = last_run(ws)
    if run and run.state == RUNNING:
        raise _already_running(run)


def last_run(ws: Workspace) -> HistoryProgress | None:
    """Return the progress of the current run, or the result of the last one."""
    return history_progress.read(ws.home.history_file)


def mine(ws: Workspace, history: History, progress: schedule.Progress) -> list[Mined]:
    """Mine the surveyed history for a user who watches. Raises InputError when another process mines it."""
    with _only_run(ws) as run, run.recorded_errors():
        return run.mine(history, progress)


def mine_in_background(ws: Workspace, progress: schedule.Progress = lambda *_: None) -> list[Mined]:
    """Survey and mine the history, and announce the end. Raises InputError when another process mines it."""
    with _only_run(ws) as run:
        try:
            with run.recorded_errors():
                return run.mine(survey_history(ws, progress), progress)
        finally:
            notices.announce(ws, _announcement(run.progress))


@contextmanager
def _only_run(ws: Workspace) -> Iterator[_HistoryRun]:
    """Start a run, recorded as running. Raises InputError when there is one already."""
    with ExitStack() as stack:
        try:
            with using_home(ws.home):
                files.make_private_folder(ws.home.history_lock.parent)
            stack.enter_context(locks.holding(ws.home.history_lock, 0))
        except Busy:
            raise _already_running(last_run(ws)) from None
        yield _HistoryRun(ws)


def _already_running(run: HistoryProgress | None) -> InputError:
    is_counted = run is not None and run.state == RUNNING and run.sessions
    progress = f": {_mined_text(run)}" if run and is_counted else ""
    return InputError(f"History mining is already running{progress}.")


class _HistoryRun:
    """Keeps the record of a run up to date."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._paths: frozenset[str] = frozenset()
        self._first_call = 0
        self.progress = HistoryProgress(RUNNING, 0, 0, 0, 0.0, 0, iso(ws.clock())).of_this_process()
        self._write()

    @contextmanager
    def recorded_errors(self) -> Iterator[None]:
        """Record the error that ends the run."""
        try:
            yield
        except BaseException as problem:
            self._end(STOPPED, _reason(problem))
            raise

    def mine(self, history: History, progress: schedule.Progress) -> list[Mined]:
        self._first_call = self._ws.state.ledger.last_call()
        self._paths = frozenset(path.stem for path in history.paths)
        self.progress = replace(self.progress, sessions=history.plan.sessions)
        self._write()

        def advance(done: int, total: int) -> None:
            progress(done, total)
            self._advance(done)

        done = schedule.mine_all(self._ws, history.paths, None, advance, counted=history.sessions)
        self._finish(history, done)
        return done

    def _advance(self, done: int) -> None:
        spent = self._ws.state.ledger.spent_since(self._first_call)
        ours = [each for session, each in spent.items() if session in self._paths]
        self.progress = replace(
            self.progress,
            sessions_done=done,
            calls=sum(each.calls for each in ours),
            dollars=round(sum(each.dollars for each in ours), 4),
        )
        self._write()

    def _finish(self, history: History, done: list[Mined]) -> None:
        failed = {mined.session for mined in done if mined.outcome == "failed"}
        self.progress = replace(
            self.progress,
            memories=sum(mined.count(*SAVED) for mined in done),
            sessions=len(history.sessions | failed),  # a session can also fail before its turns are counted
            failed=len(failed),
        )
        last = done[-1] if done else None
        if last and last.outcome == "spent":
            self._end(BUDGET, last.detail)
        elif last and last.outcome == "failed" and self._is_cut_short(done):
            self._end(STOPPED, clean_line(last.detail))
        else:
            self.progress = replace(self.progress, sessions_done=self.progress.sessions - self.progress.failed)
            self._end(DONE, "")

    def _is_cut_short(self, done: list[Mined]) -> bool:
        reached = {mined.session for mined in done if mined.outcome != "waiting"}
        return bool(self._paths - reached)

    def _end(self, state: str, detail: str) -> None:
        self.progress = replace(self.progress, state=state, detail=detail, ended=iso(self._ws.clock()))
        self._write()

    def _write(self) -> None:
        with suppress(OSError):  # mining matters more than its record
            history_progress.write(self._ws.home.history_file, self.progress)


def _reason(problem: BaseException) -> str:
    if isinstance(problem, KeyboardInterrupt):
        return "It was interrupted."
    if isinstance(problem, MememError):
        return clean_line(str(problem))
    return f"It failed with an unexpected {type(problem).__name__}."


def describe(progress: HistoryProgress) -> str:
    """One line for `memem status`."""
    if progress.state == RUNNING:
        return _progress_text(progress) if progress.sessions else "counting sessions"
    if progress.state == DONE and progress.failed:
        again = f"`memem mine --history` tries {_it(progress.failed)} again"
        return f"done: {_mined_text(progress)}, {_gain_text(progress)}; {progress.failed} failed; {again}"
    if progress.state == DONE:
        return f"done: {_count(progress.sessions, 'session')}, {_gain_text(progress)}"
    reason = "paused at today's limit" if progress.state == BUDGET else "stopped"
    detail = f" {progress.detail}" if progress.detail and progress.state == STOPPED else ""
    return f"{reason} after {_progress_text(progress)}; `memem mine --history` resumes it.{detail}"


def _announcement(progress: HistoryProgress) -> str:
    if progress.state == DONE and progress.failed:
        result = f"{_mined_text(progress)} of your history: {_gain_text(progress)}; {progress.failed} failed"
        return f"memem mined {result}. /memem-mine-history tries {_it(progress.failed)} again."
    if progress.state == DONE:
        return f"memem mined your history: {_count(progress.sessions, 'session')}, {_gain_text(progress)}."
    if progress.state == BUDGET:
        paused = f"memem paused mining your history at today's limit: {_progress_text(progress)}."
        return f"{paused} Run /memem-mine-history tomorrow to continue."
    reached = f": {_progress_text(progress)}" if progress.sessions else ""
    detail = f" {progress.detail.rstrip('.')}." if progress.detail else ""
    return f"memem stopped mining your history{reached}.{detail} See /memem-doctor; /memem-mine-history resumes it."


def _progress_text(progress: HistoryProgress) -> str:
    return f"{_mined_text(progress)}, ${progress.dollars:.2f}"


def _mined_text(progress: HistoryProgress) -> str:
    return f"{progress.sessions_done} of {_count(progress.sessions, 'session')}"


def _gain_text(progress: HistoryProgress) -> str:
    memories = "1 memory" if progress.memories == 1 else f"{progress.memories} memories"
    return f"{memories}, ${progress.dollars:.2f}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _it(number: int) -> str:
    return "it" if number == 1 else "them"
