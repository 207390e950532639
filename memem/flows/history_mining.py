"""Mine every session there is: others see how far it is, its end is announced, and after a break it goes on."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from memem.core.clock import iso
from memem.core.errors import InputError, MememError
from memem.flows import mining, notices, planning
from memem.flows.asking import KEPT, Mined
from memem.flows.planning import Plan
from memem.gate.verdict import clean_line
from memem.jobs import history_progress
from memem.jobs.history_progress import BUDGET, DONE, RUNNING, STOPPED, HistoryProgress
from memem.workspace import Workspace


@dataclass(frozen=True, slots=True)
class History:
    """The session files of the history, those with something to mine first, and what mining them takes."""

    paths: tuple[Path, ...]
    plan: Plan


def look(ws: Workspace, progress: mining.Progress) -> History:
    """What there is to mine. What was mined before, also by a run that was stopped, is not part of it."""
    paths = mining.behind(ws, None)
    plan, sessions = planning.survey(ws, paths, None, progress)
    return History(tuple(sorted(paths, key=lambda path: path.stem not in sessions)), plan)


def start_in_background(ws: Workspace) -> None:
    """Have the history mined by a process of its own. Raises InputError when one is at it."""
    running = last_run(ws)
    if running and running.state == RUNNING:
        raise InputError(f"The history is already being mined: {in_words(running)}.")
    mining.begin_history(ws)


def last_run(ws: Workspace) -> HistoryProgress | None:
    """How far the run is that is under way, or how the last one ended."""
    return history_progress.read(ws.home.history_file)


def mine(ws: Workspace, history: History, progress: mining.Progress, *, is_watched: bool) -> list[Mined]:
    """Mine the history. Unless somebody watches, its end is announced."""
    run = _Run(ws, history)

    def advance(done: int, total: int) -> None:
        progress(done, total)
        run.advance(done)

    with run.recorded():
        done = mining.mine_all(ws, history.paths, None, advance)
        ended = run.finish(done)
    if not is_watched:
        notices.announce(ws, _announcement(ended))
    return done


class _Run:
    """Keeps the record of a run up to date."""

    def __init__(self, ws: Workspace, history: History) -> None:
        self._ws = ws
        self._sessions = {path.stem for path in history.paths}
        self._first_call = ws.state.ledger.last_call()
        began = HistoryProgress(RUNNING, 0, history.plan.sessions, 0, 0.0, 0, iso(ws.clock()))
        self._progress = began.of_this_process()

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Within, the record says that the run is under way; whatever ends it is in the record."""
        self._write()
        try:
            yield
        except BaseException as problem:
            why = clean_line(str(problem)) if isinstance(problem, MememError) else "It was interrupted."
            self._end(STOPPED, why)
            raise

    def advance(self, done: int) -> None:
        """Sessions without anything to mine come last, and do not count."""
        spent = self._ws.state.ledger.spent_since(self._first_call)
        ours = [each for session, each in spent.items() if session in self._sessions]
        self._progress = replace(
            self._progress,
            sessions_done=min(done, self._progress.sessions),
            calls=sum(each.calls for each in ours),
            dollars=round(sum(each.dollars for each in ours), 4),
        )
        self._write()

    def finish(self, done: list[Mined]) -> HistoryProgress:
        self._progress = replace(self._progress, memories=sum(mined.count(*KEPT) for mined in done))
        last = done[-1] if done else None
        if last and last.outcome == "spent":
            return self._end(BUDGET, last.detail)
        reached = {mined.session for mined in done if mined.outcome != "waiting"}
        if last and last.outcome == "failed" and self._sessions - reached:
            return self._end(STOPPED, last.detail)
        return self._end(DONE, "")

    def _end(self, state: str, detail: str) -> HistoryProgress:
        self._progress = replace(self._progress, state=state, detail=detail, ended=iso(self._ws.clock()))
        self._write()
        return self._progress

    def _write(self) -> None:
        with suppress(OSError):  # mining matters more than its record
            history_progress.write(self._ws.home.history_file, self._progress)


def in_words(progress: HistoryProgress) -> str:
    """One line for `memem status`."""
    if progress.state == RUNNING:
        return _far(progress)
    if progress.state == DONE:
        return f"done: {_total(progress)}"
    reason = "paused at today's limit" if progress.state == BUDGET else "stopped"
    detail = f" {progress.detail}" if progress.detail and progress.state == STOPPED else ""
    return f"{reason} after {_far(progress)}; `memem mine --history` goes on.{detail}"


def _announcement(progress: HistoryProgress) -> str:
    if progress.state == DONE:
        return f"memem mined your history: {_total(progress)}."
    if progress.state == BUDGET:
        far = _far(progress)
        return f"memem paused mining your history at today's limit: {far}. /memem-mine-history goes on tomorrow."
    return f"memem stopped mining your history: {_far(progress)}. See /memem-doctor; /memem-mine-history goes on."


def _far(progress: HistoryProgress) -> str:
    return f"{progress.sessions_done} of {progress.sessions} sessions, ${progress.dollars:.2f}"


def _total(progress: HistoryProgress) -> str:
    memories = "1 memory" if progress.memories == 1 else f"{progress.memories} memories"
    sessions = "1 session" if progress.sessions == 1 else f"{progress.sessions} sessions"
    return f"{sessions}, {memories}, ${progress.dollars:.2f}"
