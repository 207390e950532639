"""Read, index and search the turns of sessions that mining may read: not memem's own calls, nor opted-out projects."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from memem.core import files, safe_open, sqlite
from memem.core.conversation import ReadSession, Turn
from memem.core.dates import iso, moment
from memem.core.errors import IndexDamaged, InputError, MememError
from memem.core.project import normalise
from memem.safety.gate import clean_line, clean_text
from memem.safety.naming import clean_project_name, display_path
from memem.search.query import SearchMatches, Term
from memem.search.transcripts.consent import allowed_from, opted_in
from memem.search.transcripts.turns import IndexedTurn, TurnIndex, TurnMatch, beginning, excerpt
from memem.transcript import session
from memem.transcript.session import TranscriptStep, find_sessions
from memem.transcript.turns import TranscriptLine

if TYPE_CHECKING:
    from memem.workspace import Workspace

EXCERPT_CHARS, CONTEXT_CHARS = 600, 200
MAX_HITS, MAX_QUERY_CHARS = 100, 8_000
MAX_TURN_CHARS, TURN_END_CHARS = 12_000, 3_000  # of a longer turn, mostly pasted text, the middle is left out
BATCH_TURNS = 500  # stored in one transaction, so that other writers wait no longer than that
SWEEP_SECONDS = 20.0  # about 20 MB a second are read; the rest is left to the next sweep
FIRST_SEARCH_SECONDS = 5.0  # how long a search waits for a missing index to be filled

HOW_TO_ASK = "`memem mine --session FILE` mines the session anyway."
Result = TypeVar("Result")
_READ_ERRORS = (MememError, OSError, ValueError)
_ELLIPSIS = "\n[…]\n"


class OwnCall(Exception):
    """The transcript is that of a model call memem made."""


def read_conversation(file: BinaryIO, start: int, session_id: str) -> Iterator[TranscriptStep]:
    """Read a session from an offset; a line without a time gets that of the line before. Raises OwnCall."""
    has_turns, time = start > 0, ""
    for step in session.steps(file, start, session_id):
        line = step.line
        time = line.time or time
        if line.own and not has_turns:
            raise OwnCall
        turn = None if line.own else line.turn  # later in a session it is a quotation of our call
        has_turns = has_turns or turn is not None
        yield TranscriptStep(replace(line, turn=turn, time=time), step.end)


class Projects:
    """The projects of sessions' folders. Those of a missing folder that memem never saw are read only `on_request`."""

    def __init__(self, ws: Workspace, *, on_request: bool) -> None:
        self._ws, self._on_request = ws, on_request
        self._names: dict[str, str | None] = {}
        self.roots: dict[str, Path] = {}  # of the projects of folders
        self.refusals: dict[str, str] = {}  # folders that may not be mined, and why
        ws.folders.complete()

    def name(self, cwd: str) -> str | None:
        """The project of a folder; None when it may not be mined. Raises SettingsError when its settings are broken."""
        if cwd not in self._names:
            folder = Path(cwd) if cwd else self._ws.user_home
            name, why = "", self._ws.folders.explain_refusal(folder)
            try:
                project = None if why else self._ws.project_of(folder)
                self.roots[cwd] = project.root if project else folder
                name, is_known = (project.name, project.known and folder.is_absolute()) if project else ("", True)
            except (OSError, ValueError):  # not a possible folder name
                name, is_known = clean_project_name(folder.name), False
            if not is_known and not self._on_request:
                why = f"{display_path(folder)} is gone, and may have opted out of mining. {HOW_TO_ASK}"
            if why:
                self.refusals[cwd] = why
            self._names[cwd] = None if why else name
        return self._names[cwd]


def shorten_turn(text: str) -> str:
    if len(text) <= MAX_TURN_CHARS:
        return text
    return text[: MAX_TURN_CHARS - TURN_END_CHARS - len(_ELLIPSIS)] + _ELLIPSIS + text[-TURN_END_CHARS:]


def is_before(time: str, since: datetime | None) -> bool:
    """Whether a turn is older than a moment; one without a time is assumed to be."""
    turn_time = moment(time)
    return since is not None and (turn_time is None or turn_time < since)


@dataclass(frozen=True, slots=True)
class TurnContext:
    role: str
    time: str
    text: str
    withheld: str = ""  # why its text is not shown: it reads like an instruction to the model


@dataclass(frozen=True, slots=True)
class TurnHit:
    """The part of a turn that matches, and its context; `score` is relative to the best hit."""

    session: str
    time: str
    role: str
    project: str
    text: str
    score: float
    transcript: str = ""  # the path of the session's file, empty once that is gone
    before: TurnContext | None = None
    after: TurnContext | None = None
    withheld: str = ""


def search(ws: Workspace, query: str, *, limit: int = 10, project: str | None = None) -> list[TurnHit]:
    """Find the turns that match best; they are never injected or mined. Raises InputError when none are indexed."""
    if not ws.settings.index_transcripts:
        raise InputError("Sessions are not indexed. `memem config index_transcripts true` changes that.")
    since = opted_in(ws)
    if since is None:
        raise InputError(
            "Sessions are not indexed because mining is off. `memem mine on` switches it on for new turns."
        )
    if not query.strip():
        raise InputError("The query is empty. Give at least one word to search for.")
    if not 1 <= limit <= MAX_HITS:
        raise InputError(f"The limit must be a number from 1 to {MAX_HITS}.")
    name = None if project is None else normalise(project)

    def search_index(index: TurnIndex) -> list[TurnHit]:
        if not index.count():
            _catch_up(ws, index, since, FIRST_SEARCH_SECONDS)
        answer, matches = index.search(query[:MAX_QUERY_CHARS], limit, name)
        rarity = SearchMatches((), answer.frequencies, answer.notes)
        weights = {term: rarity.weight(term) for term in answer.terms}
        return [_make_hit(match, weights, matches[0].bm25) for match in matches]

    return _use_index(ws, search_index)


def index_session(ws: Workspace, path: Path, *, everything: bool = False, again: bool = False) -> int:
    """Index new turns and count them; `everything` adds turns before the opt-in, `again` those not readable before."""
    since = _get_start(ws)
    if since is None:
        return 0
    return _use_index(ws, lambda index: _Indexing(ws, index, None if everything else since).run(path, again=again))


def index_quietly(ws: Workspace, path: Path, *, everything: bool, again: bool = False) -> None:
    try:
        index_session(ws, path, everything=everything, again=again)
    except _READ_ERRORS as problem:
        _log(ws, path.stem, problem)


def index_pending(ws: Workspace, seconds: float = SWEEP_SECONDS) -> int:
    try:
        since = _get_start(ws)
        return _use_index(ws, lambda index: _catch_up(ws, index, since, seconds)) if since else 0
    except _READ_ERRORS as problem:
        _log(ws, "sessions", problem)
        return 0


class _Indexing:
    def __init__(self, ws: Workspace, index: TurnIndex, since: datetime | None) -> None:
        self._ws = ws
        self._index = index
        self._since = since
        self._projects = Projects(ws, on_request=since is None)
        self._purged = ws.tombstones.load().purged_turns

    def run(self, path: Path, *, again: bool = False) -> int:
        with safe_open.open_plain(path) as file:
            status = os.fstat(file.fileno())
            progress = self._index.get_session(path.stem) or ReadSession(path.stem, str(path))
            again = (again or self._since is None) and not progress.whole
            if _is_read(progress, status) and not again:
                return 0
            start = 0 if again else session.start_of(file, progress.cursor)
            progress = replace(progress, path=str(path), whole=progress.whole or not start)
            return self._read(file, start, replace(progress, size=-1), status)

    def _read(self, file: BinaryIO, start: int, progress: ReadSession, status: os.stat_result) -> int:
        end, added, batch = start, 0, dict[str, IndexedTurn]()
        allowed = allowed_from(self._ws, file, progress.session) if self._since else 0
        try:
            for step in read_conversation(file, start, progress.session):
                if step.line.turn is None:
                    end = step.end if end else 0  # until the first turn this may still be a call of ours
                    continue
                end = step.end
                turn = self._prepare(step.line.turn, step.line, end, is_allowed=end > allowed)
                if turn is None:
                    progress = replace(progress, whole=False)
                else:
                    batch.setdefault(turn.uuid, turn)
                if len(batch) >= BATCH_TURNS:
                    added, batch = added + self._index.add(progress, batch.values()), {}
        except OwnCall:
            end = 0
        done = replace(progress, size=status.st_size, mtime=status.st_mtime_ns).placed(session.cursor_at(file, end))
        return added + self._index.add(done, batch.values())

    def _prepare(self, turn: Turn, line: TranscriptLine, position: int, *, is_allowed: bool) -> IndexedTurn | None:
        uuid, time = _to_utf8(turn.uuid), line.time
        name = None if uuid in self._purged else self._projects.name(turn.cwd)
        is_old = not is_allowed or is_before(time, self._since)
        is_left_out = is_old or (line.is_sdk and not self._ws.settings.mine_sdk)
        if name is None or (is_left_out and not self._ws.state.sessions.is_mined(uuid)):
            return None
        spoken_at = moment(time)
        seconds = spoken_at.timestamp() if spoken_at else 0.0
        text = shorten_turn(clean_text(turn.text))
        return IndexedTurn(uuid, turn.role, _to_utf8(time), name, text, seconds, position)


def _get_start(ws: Workspace) -> datetime | None:
    """Since when turns may be indexed; None when none may. Read each time, as mining may be switched off meanwhile."""
    return opted_in(ws) if ws.settings.index_transcripts and not ws.is_own_call else None


def _use_index(ws: Workspace, work: Callable[[TurnIndex], Result]) -> Result:
    """Work with the index; a damaged one is set aside and rebuilt, since it is derived."""
    with suppress(IndexDamaged), closing(TurnIndex(ws.home.turns_file)) as index:
        return work(index)
    sqlite.set_aside(ws.home.turns_file)
    with closing(TurnIndex(ws.home.turns_file)) as index:
        return work(index)


def _catch_up(ws: Workspace, index: TurnIndex, since: datetime, seconds: float) -> int:
    deadline, added = ws.ticks() + seconds, 0
    indexing = _Indexing(ws, index, since)
    for path in _list_pending(ws, index, since):
        if ws.ticks() >= deadline:
            break
        try:
            added += indexing.run(path)
        except IndexDamaged:
            raise
        except _READ_ERRORS as problem:
            _log(ws, path.stem, problem)
    return added


def _list_pending(ws: Workspace, index: TurnIndex, since: datetime) -> list[Path]:
    sessions, pending = index.list_sessions(), list[tuple[int, Path]]()
    for path in find_sessions(ws.session_folders):
        try:
            status = path.stat()
        except OSError:
            continue  # deleted meanwhile
        progress = sessions.get(path.stem)
        if progress and _is_read(progress, status):
            continue
        if status.st_mtime >= since.timestamp() or ws.state.sessions.get(_to_utf8(path.stem)):
            pending.append((status.st_mtime_ns, path))
    return [path for _, path in sorted(pending, key=lambda item: item[0], reverse=True)]


def _is_read(progress: ReadSession, status: os.stat_result) -> bool:
    return (progress.size, progress.mtime) == (status.st_size, status.st_mtime_ns)


def _log(ws: Workspace, name: str, problem: Exception) -> None:
    files.append_log(ws.home.mine_log, f"{iso(ws.clock())} {name} not indexed: {clean_line(str(problem))}")


def _make_hit(match: TurnMatch, weights: Mapping[Term, float], best: float) -> TurnHit:
    turn, reason = match.turn, explain_withheld(match.turn.text)
    text = "" if reason else excerpt(turn.text, weights, EXCERPT_CHARS)
    transcript = match.path if Path(match.path).is_file() else ""
    before, after = (_make_context(other) if other else None for other in (match.before, match.after))
    score = round(match.bm25 / best, 3)
    return TurnHit(match.session, turn.time, turn.role, turn.project, text, score, transcript, before, after, reason)


def _make_context(turn: IndexedTurn) -> TurnContext:
    reason = explain_withheld(turn.text)
    return TurnContext(turn.role, turn.time, "" if reason else beginning(turn.text, CONTEXT_CHARS), reason)


def explain_withheld(text: str) -> str:
    """Say why a turn may not be shown to a model; empty when it may."""
    from memem.safety.injection.judge import MEMORY, explain

    return explain(text, ignored=(MEMORY,))  # people do ask for things to be remembered


def _to_utf8(text: str) -> str:
    """Replace lone surrogates, which SQLite refuses."""
    return text.encode("utf-8", "replace").decode()
