"""Find what was said in sessions: full text over their turns, kept as far as mining may read them.

It is for those who ask: nothing of it is ever put before Claude unasked, or mined.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from memem.core import files, safe_open, sqlite
from memem.core.conversation import ReadSession, Turn
from memem.core.dates import iso, moment
from memem.core.errors import IndexDamaged, InputError, MememError
from memem.core.project import normalise
from memem.safety.gate import clean_line, clean_text
from memem.search.query import SearchMatches
from memem.search.transcripts.readable import OwnCall, Projects, conversation, cut, is_before
from memem.search.transcripts.turns import Match, Spoken, TurnIndex, beginning, excerpt
from memem.state.consent import opted_in
from memem.transcript import session
from memem.transcript.session import find_sessions
from memem.transcript.turns import TranscriptLine

if TYPE_CHECKING:
    from memem.workspace import Workspace


EXCERPT, SHORT = 600, 200
"""Characters of a turn that is found, and of what was said before and after it."""
MOST_FOUND = 100
MAX_QUERY_CHARS = 8_000
BATCH = 500
"""Turns that are kept at once: others who write wait no longer than that takes."""
SWEEP_SECONDS = 20.0
"""How long a sweep reads sessions that are behind. It reads some 20 MB a second; the rest is the next one's."""
FIRST_SECONDS = 5.0
"""How long somebody who asks waits for an index that was deleted, or never made."""

Result = TypeVar("Result")
_TROUBLE = (MememError, OSError, ValueError)
"""What a session, its project's settings or the disk may do to whoever reads it."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What was said just before or after a turn that was found: its beginning."""

    role: str
    time: str
    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """A turn that was found: the part of it that answers, and what was said around it.

    `score` is relative to the best one's. `transcript` is the path of the session's file, empty once that is gone.
    """

    session: str
    time: str
    role: str
    project: str
    text: str
    score: float
    transcript: str = ""
    before: Beside | None = None
    after: Beside | None = None


def search(ws: Workspace, query: str, *, limit: int = 10, project: str | None = None) -> list[Said]:
    """The turns that answer a query best. Raises InputError when sessions are not indexed."""
    if not ws.settings.index_transcripts:
        raise InputError(
            "What was said in sessions is not indexed. `memem config index_transcripts true` changes that."
        )
    since = opted_in(ws)
    if since is None:
        raise InputError(
            "What was said in sessions is not indexed, since mining is off. `memem mining on` switches it on:"
            " what is said from then on can be found."
        )
    if not query.strip():
        raise InputError("There is nothing to search for: the query is empty.")
    if not 1 <= limit <= MOST_FOUND:
        raise InputError(f"The limit is a number from 1 to {MOST_FOUND}.")
    name = None if project is None else normalise(project)

    def asked(index: TurnIndex) -> list[Said]:
        if not index.count():
            _catch_up(ws, index, since, FIRST_SECONDS)
        answer, matches = index.search(query[:MAX_QUERY_CHARS], limit, name)
        rarity = SearchMatches((), answer.frequencies, answer.notes)
        weights = {term: rarity.weight(term) for term in answer.terms}
        best = max((match.bm25 for match in matches), default=0.0)
        return [_said(match, excerpt(match.turn.text, weights, EXCERPT), best) for match in matches]

    return _using(ws, asked)


def index_session(ws: Workspace, path: Path, *, everything: bool = False, again: bool = False) -> int:
    """Take in what is new in a session, as far as mining may read it; how many turns that were.

    `everything`: also what was said before the opt-in, because a person has the whole session mined. `again`: also what
    was left out before, since it may be read by now.
    """
    since = _allowed_since(ws)
    if since is None:
        return 0
    return _using(ws, lambda index: _Indexing(ws, index, None if everything else since).run(path, again=again))


def follow(ws: Workspace, path: Path, *, everything: bool, again: bool = False) -> None:
    """The same for a miner, who has nothing to fear from what goes wrong here: it is in the log."""
    try:
        index_session(ws, path, everything=everything, again=again)
    except _TROUBLE as problem:
        _note(ws, path.stem, problem)


def index_behind(ws: Workspace, seconds: float = SWEEP_SECONDS) -> int:
    """For a sweep: take in the sessions that have something new, the last written first, until the time is up.

    Returns how many turns that were. What goes wrong is in the log.
    """
    try:
        since = _allowed_since(ws)
        return _using(ws, lambda index: _catch_up(ws, index, since, seconds)) if since else 0
    except _TROUBLE as problem:
        _note(ws, "sessions", problem)
        return 0


class _Indexing:
    """Reads sessions into the index. What was said before `since` is passed over, unless it is mined."""

    def __init__(self, ws: Workspace, index: TurnIndex, since: datetime | None) -> None:
        self._ws = ws
        self._index = index
        self._since = since
        self._projects = Projects(ws)
        self._purged = ws.tombstones.load().purged_turns

    def run(self, path: Path, *, again: bool = False) -> int:
        """How many turns of a session are new to the index."""
        with safe_open.open_plain(path) as file:
            status = os.fstat(file.fileno())
            known = self._index.reading(path.stem) or ReadSession(path.stem, str(path))
            again = (again or self._since is None) and not known.whole
            if _is_read(known, status) and not again:
                return 0
            start = 0 if again else session.start_of(file, known.cursor)
            known = replace(known, path=str(path), whole=known.whole or not start)
            return self._read(file, start, replace(known, size=-1), status)

    def _read(self, file: BinaryIO, start: int, known: ReadSession, status: os.stat_result) -> int:
        """Turns are kept as they come, and count as read with the last of them."""
        end, added, held = start, 0, dict[str, Spoken]()
        try:
            for step in conversation(file, start, known.session):
                if step.line.turn is None:
                    end = step.end if end else 0  # whether a call of ours begins here is yet to be seen
                    continue
                end = step.end
                turn = self._kept(step.line.turn, step.line, end)
                if turn is None:
                    known = replace(known, whole=False)
                else:
                    held.setdefault(turn.uuid, turn)
                if len(held) >= BATCH:
                    added, held = added + self._index.add(known, held.values()), {}
        except OwnCall:
            end = 0
        read = replace(known, size=status.st_size, mtime=status.st_mtime_ns).placed(session.cursor_at(file, end))
        return added + self._index.add(read, held.values())

    def _kept(self, turn: Turn, line: TranscriptLine, position: int) -> Spoken | None:
        """The turn as it may be shown; None when it may not be read."""
        uuid, time = _encodable(turn.uuid), line.time
        name = None if uuid in self._purged else self._projects.name(turn.cwd)
        is_left_out = is_before(time, self._since) or (line.is_sdk and not self._ws.settings.mine_sdk)
        if name is None or (is_left_out and not self._ws.state.sessions.is_mined(uuid)):
            return None
        said = moment(time)
        text = cut(clean_text(turn.text))
        return Spoken(uuid, turn.role, _encodable(time), name, text, said.timestamp() if said else 0.0, position)


def _allowed_since(ws: Workspace) -> datetime | None:
    """Since when turns may be indexed; None when none may. Asked anew: mining may be switched off during a run."""
    return opted_in(ws) if ws.settings.index_transcripts and not ws.is_a_call_of_ours else None


def _using(ws: Workspace, work: Callable[[TurnIndex], Result]) -> Result:
    """Work with the index. It is derived: a damaged one is set aside, and what it held is read again."""
    path = ws.home.turns_file
    try:
        with closing(TurnIndex(path)) as index:
            return work(index)
    except IndexDamaged:
        sqlite.set_aside(path)
        with closing(TurnIndex(path)) as index:
            return work(index)


def _catch_up(ws: Workspace, index: TurnIndex, since: datetime, seconds: float) -> int:
    """Read what is behind until the time is up. What is wrong with a session keeps no other from its turn."""
    until, added = ws.ticks() + seconds, 0
    indexing = _Indexing(ws, index, since)
    for path in _behind(ws, index, since):
        if ws.ticks() >= until:
            break
        try:
            added += indexing.run(path)
        except IndexDamaged:
            raise
        except _TROUBLE as problem:
            _note(ws, path.stem, problem)
    return added


def _behind(ws: Workspace, index: TurnIndex, since: datetime) -> list[Path]:
    """Session files that were written to after the opt-in, or mined, and that are not read as they are now."""
    readings, found = index.readings(), list[tuple[int, Path]]()
    for path in find_sessions(ws.session_folders):
        try:
            status = path.stat()
        except OSError:
            continue  # gone meanwhile
        known = readings.get(path.stem)
        if known and _is_read(known, status):
            continue
        if status.st_mtime >= since.timestamp() or ws.state.sessions.get(_encodable(path.stem)):
            found.append((status.st_mtime_ns, path))
    return [path for _, path in sorted(found, key=itemgetter(0), reverse=True)]


def _is_read(known: ReadSession, status: os.stat_result) -> bool:
    return (known.size, known.mtime) == (status.st_size, status.st_mtime_ns)


def _note(ws: Workspace, what: str, problem: Exception) -> None:
    files.append_log(ws.home.mine_log, f"{iso(ws.clock())} {what} not indexed: {clean_line(str(problem))}")


def _said(match: Match, text: str, best: float) -> Said:
    turn = match.turn
    transcript = match.path if Path(match.path).is_file() else ""
    before, after = (_beside(each) if each else None for each in (match.before, match.after))
    score = round(match.bm25 / best, 3)
    return Said(match.session, turn.time, turn.role, turn.project, text, score, transcript, before, after)


def _beside(turn: Spoken) -> Beside:
    return Beside(turn.role, turn.time, beginning(turn.text, SHORT))


def _encodable(text: str) -> str:
    """A transcript, and a file's name, may hold halves of characters, which a database does not take."""
    return text.encode("utf-8", "replace").decode()
