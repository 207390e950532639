"""The full-text index of session turns. A turn of forked or resumed sessions is stored once, with a place in each."""

import re
import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from operator import itemgetter
from pathlib import Path

from memem.core import sqlite
from memem.core.conversation import ReadSession
from memem.core.errors import IndexDamaged, IndexTooNew
from memem.core.sqlite import Migrations, split_values, transaction
from memem.search.fulltext import FullText, RowFilter, TextMatches, fold
from memem.search.query import Term

MAX_TURNS = 100_000  # about 3,000 sessions in 125 MB; a search takes less than 0.1 s
SHARE_AFTER_PRUNING = 0.95  # leaves room, so that not every new turn prunes again

SESSIONS = sqlite.Purpose(
    "index of sessions", IndexDamaged, IndexTooNew, "Delete it; memem rebuilds it from the sessions that still exist."
)
guarded = sqlite.guarding(SESSIONS)
_TEXT = FullText(("said",), (1.0,))


def _create_tables(connection: sqlite3.Connection) -> None:
    connection.execute(
        """CREATE TABLE sessions (session TEXT PRIMARY KEY, path TEXT NOT NULL, inode INTEGER NOT NULL,
           offset INTEGER NOT NULL, digest TEXT NOT NULL, whole INTEGER NOT NULL, size INTEGER NOT NULL,
           mtime INTEGER NOT NULL) WITHOUT ROWID"""
    )
    connection.execute(
        """CREATE TABLE turns (row INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, role TEXT NOT NULL,
           time TEXT NOT NULL, project TEXT NOT NULL, text TEXT NOT NULL)"""
    )
    connection.execute(
        """CREATE TABLE places (number INTEGER PRIMARY KEY, session TEXT NOT NULL, row INTEGER NOT NULL,
           moment REAL NOT NULL, position INTEGER NOT NULL, UNIQUE (session, row))"""
    )
    connection.execute("CREATE INDEX places_by_row ON places (row)")
    connection.execute("CREATE INDEX places_in_order ON places (session, moment, position)")
    _TEXT.create(connection)


def _reindex_other_languages(connection: sqlite3.Connection) -> None:
    """Version 2 folds words of other languages further; plain ASCII stays as it was."""
    query = "SELECT row, text FROM turns WHERE length(CAST(text AS BLOB)) > length(text)"
    for row, text in connection.execute(query).fetchall():
        _TEXT.remove(connection, row)
        _TEXT.insert(connection, row, [text])


MIGRATIONS: Migrations = (_create_tables, _reindex_other_languages)


@dataclass(frozen=True, slots=True)
class IndexedTurn:
    """A stored turn; a session orders its turns by `moment` (seconds), then by `position`."""

    uuid: str
    role: str
    time: str
    project: str
    text: str
    moment: float
    position: int


@dataclass(frozen=True, slots=True)
class TurnMatch:
    session: str
    path: str
    turn: IndexedTurn
    bm25: float
    before: IndexedTurn | None
    after: IndexedTurn | None


class TurnIndex:
    """`turns.db`: derived from sessions, but it outlives them, as Claude Code deletes its files after 30 days."""

    def __init__(self, path: Path, most: int = MAX_TURNS) -> None:
        self.path = path
        self._most = most
        # Not durable: what a power failure loses is read again, since the cursor is lost with it.
        self._connection = sqlite.connect(path, MIGRATIONS, SESSIONS, durable=False)

    def close(self) -> None:
        self._connection.close()

    @guarded
    def count(self) -> int:
        return _TEXT.count(self._connection)

    @guarded
    def get_session(self, session: str) -> ReadSession | None:
        query = f"SELECT {_SESSION_COLUMNS} FROM sessions WHERE session = ?"  # noqa: S608 - fixed
        row = self._connection.execute(query, (session,)).fetchone()
        return ReadSession(*row) if row else None

    @guarded
    def list_sessions(self) -> dict[str, ReadSession]:
        rows = self._connection.execute(f"SELECT {_SESSION_COLUMNS} FROM sessions")  # noqa: S608 - fixed
        return {row[0]: ReadSession(*row) for row in rows}

    @guarded
    def add(self, reading: ReadSession, turns: Iterable[IndexedTurn] = ()) -> int:
        """Record a session's progress and turns; return how many are new. Prunes the oldest sessions when full."""
        new = 0
        with transaction(self._connection):
            statement = "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            self._connection.execute(statement, astuple(reading))
            for turn in turns:
                row = self._find_row(turn.uuid)
                if row is None:
                    values = (turn.uuid, turn.role, turn.time, turn.project, turn.text)
                    row = int(self._connection.execute(_INSERT_TURN, values).lastrowid or 0)
                    _TEXT.insert(self._connection, row, (turn.text,))
                    new += 1
                self._connection.execute(_INSERT_PLACE, (reading.session, row, turn.moment, turn.position))
            if new:
                self._prune()
        return new

    @guarded
    def search(self, query: str, limit: int, project: str | None = None) -> tuple[TextMatches, list[TurnMatch]]:
        narrowed = RowFilter()
        if project is not None:
            narrowed = RowFilter("JOIN turns ON turns.row = words.rowid", " AND turns.project = ?", (project,))
        with transaction(self._connection, writes=False):
            answer = _TEXT.search(self._connection, query, limit, narrowed)
            matches = [self._match(row, score, project) for row, score in answer.scores.items()]
        matches.sort(key=lambda match: (-match.bm25, -match.turn.moment))
        return answer, matches[:limit]

    @guarded
    def list_containing(self, texts: Iterable[str]) -> dict[str, str]:
        """Return the turns that contain one of some texts, by uuid; the case of ASCII letters does not count."""
        query, found = "SELECT uuid, text FROM turns WHERE instr(lower(text), lower(?))", dict[str, str]()
        for text in texts:
            found.update(self._connection.execute(query, (text,)))
        return found

    @guarded
    def list_said_in(self, session: str) -> dict[str, str]:
        query = "SELECT uuid, text FROM turns JOIN places USING (row) WHERE session = ?"
        return dict(self._connection.execute(query, (session,)))

    @guarded
    def list_files(self, uuids: Iterable[str]) -> set[str]:
        """Return the paths of all sessions that have one of these turns."""
        query = "SELECT path FROM turns JOIN places USING (row) JOIN sessions USING (session) WHERE uuid = ?"
        return {path for uuid in uuids for (path,) in self._connection.execute(query, (uuid,))}

    @guarded
    def remove(self, uuids: Iterable[str]) -> int:
        """Delete turns and return how many there were; their sessions still count as read."""
        with transaction(self._connection):
            rows = [row for uuid in uuids if (row := self._find_row(uuid)) is not None]
            for row in rows:
                _TEXT.remove(self._connection, row)
                self._connection.execute("DELETE FROM places WHERE row = ?", (row,))
                self._connection.execute("DELETE FROM turns WHERE row = ?", (row,))
        return len(rows)

    def _find_row(self, uuid: str) -> int | None:
        row = self._connection.execute("SELECT row FROM turns WHERE uuid = ?", (uuid,)).fetchone()
        return int(row[0]) if row else None

    def _match(self, row: int, score: float, project: str | None) -> TurnMatch:
        """Return a turn with its neighbours; in a search of one project, only with those of that project."""
        query = f"""SELECT session, path, {_TURN_COLUMNS}
            FROM places JOIN turns USING (row) JOIN sessions USING (session) WHERE row = ? ORDER BY number LIMIT 1"""  # noqa: S608 - fixed texts
        session, path, *columns = self._connection.execute(query, (row,)).fetchone()
        turn = IndexedTurn(*columns)
        adjacent: list[IndexedTurn | None] = []
        for than, order in (("<", "DESC"), (">", "ASC")):
            query = f"""SELECT {_TURN_COLUMNS} FROM places JOIN turns USING (row)
                WHERE session = ? AND (moment, position) {than} (?, ?)
                ORDER BY moment {order}, position {order} LIMIT 1"""  # noqa: S608 - fixed texts
            other = self._connection.execute(query, (session, turn.moment, turn.position)).fetchone()
            neighbour = IndexedTurn(*other) if other else None
            adjacent.append(neighbour if neighbour and project in (None, neighbour.project) else None)
        return TurnMatch(session, path, turn, score, *adjacent)

    def _prune(self) -> None:
        """Delete the sessions that ended first; their cursors stay, so they are not read again."""
        left = self.count()
        if left <= self._most:
            return
        ended = "SELECT session FROM places GROUP BY session ORDER BY max(moment), session"
        *older, _ = [session for (session,) in self._connection.execute(ended)]
        other = "SELECT 1 FROM places AS other WHERE other.row = places.row AND other.session <> places.session"
        alone = f"SELECT row FROM places WHERE session = ? AND NOT EXISTS ({other})"  # noqa: S608 - fixed texts
        for session in older:
            if left <= self._most * SHARE_AFTER_PRUNING:
                return
            rows = [row for (row,) in self._connection.execute(alone, (session,))]
            self._connection.execute("DELETE FROM places WHERE session = ?", (session,))
            for marks, some in split_values(rows):
                self._connection.execute(f"DELETE FROM words WHERE rowid IN ({marks})", some)  # noqa: S608 - marks only
                self._connection.execute(f"DELETE FROM turns WHERE row IN ({marks})", some)  # noqa: S608 - marks only
            left -= len(rows)


_SESSION_COLUMNS = ", ".join(field.name for field in fields(ReadSession))
_TURN_COLUMNS = ", ".join(field.name for field in fields(IndexedTurn))
_INSERT_TURN = "INSERT INTO turns (uuid, role, time, project, text) VALUES (?, ?, ?, ?, ?)"
_INSERT_PLACE = """INSERT INTO places (session, row, moment, position) VALUES (?, ?, ?, ?)
    ON CONFLICT (session, row) DO UPDATE SET moment = excluded.moment, position = excluded.position"""


LEAD_CHARS = 120  # shown before the first matching word
ELLIPSIS = "…"


def excerpt(text: str, weights: Mapping[Term, float], length: int) -> str:
    """The part of a text, at most about `length` long, that has most of the query's words, cut at spaces."""
    text = text.strip()
    if len(text) <= length:
        return text
    folded = fold(text)
    if len(folded) != len(text):  # positions have to stay
        folded = "".join(fold(character)[:1] or " " for character in text)
    places: list[tuple[int, Term]] = []
    for term in weights:  # and words that begin alike: `restart`, `restarted`, `restarting`
        word = term.text
        stem = word[: max(4, len(word) - 3)] if word.isalpha() and word.isascii() else word
        pattern = (r"(?<![a-z0-9])" if stem[0].isascii() else "") + re.escape(stem)
        places += [(match.start(), term) for match in re.finditer(pattern, folded)]
    places.sort(key=itemgetter(0))

    def weigh(start: int) -> float:
        first, end = (bisect_left(places, at, key=itemgetter(0)) for at in (start, start + length - LEAD_CHARS))
        return sum(weights[term] for term in {term for _, term in places[first:end]})

    densest = max((place for place, _ in places), key=weigh, default=0)
    start = max(0, min(densest - LEAD_CHARS, len(text) - length))
    part = text[start : start + length]
    if start > 0:
        part = ELLIPSIS + (re.sub(r"\A\S{0,40}\s+", "", part) or part)
    if start + length < len(text):
        part = (re.sub(r"\s+\S{0,40}\Z", "", part) or part) + ELLIPSIS
    return part


def beginning(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - len(ELLIPSIS)].rstrip() + ELLIPSIS
