"""Mine every session, in one process at a time: record the progress, announce the end, resume when interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.core import background, files, locks
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
    background.start_memem(background.MINE_HISTORY, ws.environ_for_children(), ws.home.mine_log, keep_log=True)


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
        self.progress = HistoryProgress(RUNNING, 0, 0, 0, 0.0, 0, iso(ws.clock())).of_this_process()
        self._update()

    @contextmanager
    def recorded_errors(self) -> Iterator[None]:
        """Record the error that ends the run."""
        try:
            yield
        except BaseException as problem:
            if isinstance(problem, KeyboardInterrupt):
                reason = "It was interrupted."
            elif isinstance(problem, MememError):
                reason = clean_line(str(problem))
            else:
                reason = f"It failed with an unexpected {type(problem).__name__}."
            self._end(STOPPED, reason)
            raise

    def mine(self, history: History, progress: schedule.Progress) -> list[Mined]:
        ledger = self._ws.state.ledger
        first_call = ledger.last_call()
        names = frozenset(path.stem for path in history.paths)
        self._update(sessions=history.plan.sessions)

        def advance(done: int, total: int) -> None:
            progress(done, total)
            spent = [each for session, each in ledger.spent_since(first_call).items() if session in names]
            dollars = round(sum(each.dollars for each in spent), 4)
            self._update(sessions_done=done, calls=sum(each.calls for each in spent), dollars=dollars)

        done = schedule.mine_all(self._ws, history.paths, None, advance, counted=history.sessions)
        self._finish(history, names, done)
        return done

    def _finish(self, history: History, names: frozenset[str], done: list[Mined]) -> None:
        failed = {mined.session for mined in done if mined.outcome == "failed"}
        sessions = len(history.sessions | failed)  # a session can also fail before its turns are counted
        self._update(memories=sum(mined.count(*SAVED) for mined in done), sessions=sessions, failed=len(failed))
        last = done[-1] if done else None
        is_cut_short = bool(names - {mined.session for mined in done if mined.outcome != "waiting"})
        if last and last.outcome == "spent":
            self._end(BUDGET, last.detail)
        elif last and last.outcome == "failed" and is_cut_short:
            self._end(STOPPED, clean_line(last.detail))
        else:
            self._update(sessions_done=sessions - len(failed))
            self._end(DONE, "")

    def _end(self, state: str, detail: str) -> None:
        self._update(state=state, detail=detail, ended=iso(self._ws.clock()))

    def _update(self, **changes: Any) -> None:
        self.progress = replace(self.progress, **changes)
        with suppress(OSError):  # mining matters more than its record
            history_progress.write(self._ws.home.history_file, self.progress)


def describe(progress: HistoryProgress) -> str:
    """One line for `memem status`."""
    if progress.state == RUNNING:
        return _progress_text(progress) if progress.sessions else "counting sessions"
    if progress.state == DONE:
        again = "; `memem mine --history` tries again" if progress.failed else ""
        return f"done: {_result_text(progress)}{again}"
    reason = "paused at today's limit" if progress.state == BUDGET else "stopped"
    detail = f" {progress.detail}" if progress.detail and progress.state == STOPPED else ""
    return f"{reason} after {_progress_text(progress)}; `memem mine --history` resumes it.{detail}"


def _announcement(progress: HistoryProgress) -> str:
    if progress.state == DONE:
        again = " /memem-mine-history tries again." if progress.failed else ""
        return f"memem mined your history: {_result_text(progress)}.{again}"
    if progress.state == BUDGET:
        paused = f"memem paused mining your history at today's limit: {_progress_text(progress)}."
        return f"{paused} Run /memem-mine-history tomorrow to continue."
    reached = f": {_progress_text(progress)}" if progress.sessions else ""
    detail = f" {progress.detail.rstrip('.')}." if progress.detail else ""
    return f"memem stopped mining your history{reached}.{detail} See /memem-doctor; /memem-mine-history resumes it."


def _progress_text(progress: HistoryProgress) -> str:
    return f"{_mined_text(progress)}, ${progress.dollars:.2f}"


def _mined_text(progress: HistoryProgress) -> str:
    return f"{progress.sessions_done} of {_sessions_text(progress)}"


def _sessions_text(progress: HistoryProgress) -> str:
    return "1 session" if progress.sessions == 1 else f"{progress.sessions} sessions"


def _result_text(progress: HistoryProgress) -> str:
    sessions = _mined_text(progress) if progress.failed else _sessions_text(progress)
    memories = "1 memory" if progress.memories == 1 else f"{progress.memories} memories"
    failed = f"; {progress.failed} failed" if progress.failed else ""
    return f"{sessions}, {memories}, ${progress.dollars:.2f}{failed}"
