"""Estimate what mining costs; mine every session, in one process at a time, and resume when interrupted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memem.core import background, files, locks, safe_open
from memem.core.conversation import Chunk, list_turn_ids
from memem.core.dates import iso
from memem.core.errors import Busy, InputError, MememError, SettingsError
from memem.core.home import using_home
from memem.inject import notices
from memem.mine import ask, drain, order, schedule, session
from memem.mine.ask import SAVED, Mined
from memem.mine.chunks import ChunkReader
from memem.mine.schedule import Progress
from memem.safety.gate import clean_line
from memem.search.transcripts.sessions import OwnCall
from memem.state import history_progress
from memem.state.history_progress import BUDGET, DONE, RUNNING, STOPPED, HistoryProgress
from memem.state.sessions import SmallSession

if TYPE_CHECKING:
    from memem.workspace import Workspace

CHARACTERS_PER_TOKEN = 4
PROMPT_TOKENS, ANSWER_TOKENS = 2_500, 500  # of a call without its turns: instructions, schema, memories; the answer
PRICED_MODEL = "haiku"
READ_DOLLARS, WRITTEN_DOLLARS = 1e-6, 5e-6  # per token of that model; other prices are unknown


@dataclass(frozen=True, slots=True)
class Plan:
    """The amount to mine and its estimated cost; `dollars` is None for a model of unknown price."""

    sessions: int = 0
    turns: int = 0
    characters: int = 0
    calls: int = 0
    dollars: float | None = 0.0


class _Part(NamedTuple):
    """Turns for one call or, when `small`, to be packed with other sessions."""

    session: str
    turns: int
    characters: int
    small: SmallSession | None = None
    begins: float | None = None  # the time of its first turn, in seconds


@dataclass(frozen=True, slots=True)
class History:
    """The session files to mine, those with something new first and the oldest of them, and the plan for them."""

    paths: tuple[Path, ...]
    plan: Plan
    sessions: frozenset[str] = frozenset()


def survey_history(ws: Workspace, progress: Progress) -> History:
    paths = schedule.unmined_sessions(ws, None)
    parts = _unmined(ws, paths, None, progress)
    sessions = frozenset(part.session for part in parts)
    times = {part.session: part.begins for part in reversed(parts)}  # the first part of each counts
    paths = order.sort_sessions(paths, times)
    return History(tuple(sorted(paths, key=lambda path: path.stem not in sessions)), _plan(ws, parts), sessions)


def plan(
    ws: Workspace, paths: Iterable[Path], since: datetime | None, progress: Progress, *, is_one: bool = False
) -> Plan:
    """Plan the unmined turns of these sessions. `is_one`: a person asks for it, so SDK and few turns count too."""
    return _plan(ws, _unmined(ws, list(paths), since, progress, is_one=is_one))


def plan_retry(ws: Workspace) -> Plan:
    chunks = [Chunk.from_json(record.chunk) for record in ws.state.journal.dead_letters()]
    return _plan(ws, [_Part(each.session, len(each.turns), sum(len(t.text) for t in each.turns)) for each in chunks])


def _plan(ws: Workspace, parts: Sequence[_Part]) -> Plan:
    characters = sum(part.characters for part in parts)
    packs = drain.group_small(part.small for part in parts if part.small)
    calls = sum(not part.small for part in parts) + len(packs) if ask.asks_model(ws) else 0
    dollars = None if calls else 0.0
    if calls and not ws.settings.model_url and ws.settings.model == PRICED_MODEL:
        tokens = characters / CHARACTERS_PER_TOKEN + calls * PROMPT_TOKENS
        dollars = round(tokens * READ_DOLLARS + calls * ANSWER_TOKENS * WRITTEN_DOLLARS, 2)
    return Plan(len({part.session for part in parts}), sum(part.turns for part in parts), characters, calls, dollars)


def _unmined(
    ws: Workspace, paths: Sequence[Path], since: datetime | None, progress: Progress, *, is_one: bool = False
) -> list[_Part]:
    """Return the unmined parts of these sessions; a turn in several sessions counts once."""
    parts: list[_Part] = []
    seen: set[str] = set()
    for number, path in enumerate(paths):
        progress(number, len(paths))
        with suppress(OSError, OwnCall, SettingsError):  # mining it reports the problem
            parts += list(_unmined_parts(ws, path, since, seen, is_one=is_one))
    progress(len(paths), len(paths))
    return parts


def _unmined_parts(
    ws: Workspace, path: Path, since: datetime | None, seen: set[str], *, is_one: bool
) -> Iterator[_Part]:
    def is_taken(uuid: str) -> bool:
        return uuid in seen or ws.state.sessions.is_taken(uuid, path.stem)

    with safe_open.open_plain(path) as file:
        reader = ChunkReader(ws, is_taken, since, sdk=is_one or ws.settings.mine_sdk)
        for pending in reader.read_chunks(file, 0, path):
            seen.update(list_turn_ids(pending.turns))
            size, small = pending.characters, None
            if session.is_small(pending) and not is_one:
                failures = record.failures if (record := ws.state.sessions.get(path.stem)) else 0
                small = SmallSession(path.stem, str(path), pending.project, size, 0, 0, 0.0, failures)
            if pending.turns:
                begins = order.get_turn_time(pending.turns[0])
                yield _Part(path.stem, len(pending.turns), size, small, begins)


def start_in_background(ws: Workspace) -> None:
    """Start a background process to mine the history. Raises InputError when one is running."""
    refuse_second_run(ws)
    background.start_memem(background.MINE_HISTORY, ws.environ_for_children(), ws.home.mine_log, keep_log=True)


def refuse_second_run(ws: Workspace) -> None:
    run = last_run(ws)
    if run and run.state == RUNNING:
        raise _already_running(run)


def last_run(ws: Workspace) -> HistoryProgress | None:
    """Return the progress of the current run, or the result of the last one."""
    return history_progress.read(ws.home.history_file)


def mine(ws: Workspace, history: History, progress: Progress) -> list[Mined]:
    """Mine the surveyed history for a user who watches. Raises InputError when another process mines it."""
    with _only_run(ws) as run:
        return run.mine(history, progress)


def mine_in_background(ws: Workspace, progress: Progress = lambda *_: None) -> list[Mined]:
    """Survey and mine the history, and announce the end. Raises InputError when another process mines it."""
    with _only_run(ws, announce=True) as run:
        return run.mine(survey_history(ws, progress), progress)


@contextmanager
def _only_run(ws: Workspace, *, announce: bool = False) -> Iterator[_HistoryRun]:
    """Start a run, and record the error that ends it. Raises InputError when there is one already."""
    with ExitStack() as stack:
        try:
            with using_home(ws.home):
                files.make_private_folder(ws.home.history_lock.parent)
            stack.enter_context(locks.holding(ws.home.history_lock, 0))
        except Busy:
            raise _already_running(last_run(ws)) from None
        run = _HistoryRun(ws)
        try:
            yield run
        except BaseException as problem:
            reason = f"It failed with an unexpected {type(problem).__name__}."
            if isinstance(problem, KeyboardInterrupt):
                reason = "It was interrupted."
            elif isinstance(problem, MememError):
                reason = clean_line(str(problem))
            run.end(STOPPED, reason)
            raise
        finally:
            if announce:
                notices.announce(ws, _announcement(run.progress))


def _already_running(run: HistoryProgress | None) -> InputError:
    progress = f": {_mined_text(run)}" if run and run.state == RUNNING and run.sessions else ""
    return InputError(f"History mining is already running{progress}.")


class _HistoryRun:
    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self.progress = HistoryProgress(RUNNING, 0, 0, 0, 0.0, 0, iso(ws.clock())).of_this_process()
        self._update()

    def mine(self, history: History, progress: Progress) -> list[Mined]:
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
        failed = {mined.session for mined in done if mined.outcome == "failed"}
        sessions = len(history.sessions | failed)  # a session can also fail before its turns are counted
        self._update(memories=sum(mined.count(*SAVED) for mined in done), sessions=sessions, failed=len(failed))
        last = done[-1] if done else None
        is_cut_short = bool(names - {mined.session for mined in done if mined.outcome != "waiting"})
        if last and last.outcome == "spent":
            self.end(BUDGET, last.detail)
        elif last and last.outcome == "failed" and is_cut_short:
            self.end(STOPPED, clean_line(last.detail))
        else:
            self._update(sessions_done=sessions - len(failed))
            self.end(DONE, "")
        return done

    def end(self, state: str, detail: str) -> None:
        self._update(state=state, detail=detail, ended=iso(self._ws.clock()))

    def _update(self, **changes: Any) -> None:
        self.progress = replace(self.progress, **changes)
        with suppress(OSError):  # mining matters more than its record
            history_progress.write(self._ws.home.history_file, self.progress)


def describe(progress: HistoryProgress) -> str:
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


def _mined_text(progress: HistoryProgress, *, is_all: bool = False) -> str:
    sessions = "1 session" if progress.sessions == 1 else f"{progress.sessions} sessions"
    return sessions if is_all else f"{progress.sessions_done} of {sessions}"


def _result_text(progress: HistoryProgress) -> str:
    sessions = _mined_text(progress, is_all=not progress.failed)
    memories = "1 memory" if progress.memories == 1 else f"{progress.memories} memories"
    failed = f"; {progress.failed} failed" if progress.failed else ""
    return f"{sessions}, {memories}, ${progress.dollars:.2f}{failed}"
