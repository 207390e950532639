"""Sessions with something new, and deferred sessions. A mark stays until the holder of the session's lock takes it."""

import sqlite3
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path

from memem.core import files, sqlite
from memem.state.tables import MAX_PAUSE_SECONDS, STATE, Table


@dataclass(frozen=True, slots=True)
class Mark:
    """A session to be mined."""

    session: str
    path: str
    flush: bool = False  # also mine a tail that would otherwise wait for more
    expected: str = ""  # the fingerprint of an answer that may not have been written to the file yet


class Queue(Table):
    """The marks."""

    TABLES = (
        """CREATE TABLE queue (session TEXT PRIMARY KEY, path TEXT NOT NULL, flush INTEGER NOT NULL,
           expected TEXT NOT NULL, marked REAL NOT NULL)""",
    )

    def mark(self, mark: Mark, now: float) -> None:
        """Add a mark; `flush` and `expected` of an earlier one still count."""
        self._execute(
            """INSERT INTO queue VALUES (?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET
               path = excluded.path, flush = max(flush, excluded.flush), marked = excluded.marked,
               expected = CASE excluded.expected WHEN '' THEN expected ELSE excluded.expected END""",
            (mark.session, mark.path, mark.flush, mark.expected, now),
        )

    def take(self, session: str) -> Mark | None:
        """Remove a mark before the session is read; turns written later mark it again."""
        statement = "DELETE FROM queue WHERE session = ? RETURNING session, path, flush, expected"
        row = self._fetch_one(statement, (session,))
        return _mark(*row) if row else None

    def marks(self) -> list[Mark]:
        """Every mark, oldest first."""
        query = "SELECT session, path, flush, expected FROM queue ORDER BY marked, session"
        return [_mark(*row) for row in self._fetch_all(query)]

    def due(self, now: float, marked_since: float = 0.0) -> list[Mark]:
        """Marks of sessions that do not wait after a failure, oldest first."""
        query = """SELECT session, path, flush, expected FROM queue WHERE marked >= ? AND session NOT IN
            (SELECT session FROM sessions WHERE not_before > ? AND not_before <= ?) ORDER BY marked, session"""
        rows = self._fetch_all(query, (marked_since, now, now + MAX_PAUSE_SECONDS))
        return [_mark(*row) for row in rows]


def _mark(session: str, path: str, flush: int, expected: str) -> Mark:
    return Mark(session, path, bool(flush), expected)


def count_marks(state_file: Path) -> int:
    """Count marks without opening the whole state. Raises StateUnusable."""
    if not state_file.exists():
        return 0
    with sqlite.translated(state_file, STATE), closing(sqlite3.connect(state_file)) as connection:
        return int(connection.execute("SELECT count(*) FROM queue").fetchone()[0])


@dataclass(frozen=True, slots=True)
class SmallSession:
    """A session whose unmined tail is too small for a call of its own."""

    session: str
    path: str
    project: str
    characters: int
    size: int  # of the file when it was read
    mtime: int
    since: float  # when it was first deferred
    failures: int = 0  # failed calls about it


_COLUMNS = "session, small_sessions.path, project, characters, small_sessions.size, small_sessions.mtime, since"


class DeferredSessions(Table):
    """Small sessions until they are packed, and sessions with skipped SDK turns until those may be mined."""

    TABLES = (
        """CREATE TABLE small_sessions (session TEXT PRIMARY KEY, path TEXT NOT NULL, project TEXT NOT NULL,
           characters INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL, since REAL NOT NULL)
           WITHOUT ROWID""",
        "CREATE TABLE sdk_sessions (session TEXT PRIMARY KEY) WITHOUT ROWID",
    )

    def add_small(self, small: SmallSession) -> None:
        """Defer a session. One that is deferred already keeps its `since`."""
        self._execute(
            """INSERT INTO small_sessions VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET
               path = excluded.path, project = excluded.project, characters = excluded.characters,
               size = excluded.size, mtime = excluded.mtime""",
            astuple(small)[:-1],
        )

    def small(self) -> list[SmallSession]:
        """Every small session, oldest first."""
        return self._read_small("1", ())

    def small_due(self, now: float) -> list[SmallSession]:
        """Small sessions that do not wait after a failure."""
        return self._read_small("NOT (ifnull(not_before, 0) > ? AND not_before <= ?)", (now, now + MAX_PAUSE_SECONDS))

    def remove_small(self, session: str) -> None:
        self._execute("DELETE FROM small_sessions WHERE session = ?", (session,))

    def add_sdk(self, session: str) -> None:
        self._execute("INSERT OR IGNORE INTO sdk_sessions VALUES (?)", (session,))

    def has_sdk(self, session: str) -> bool:
        """Whether turns of a session were skipped because no person was present."""
        query = "SELECT 1 FROM sdk_sessions WHERE session = ?"
        return self._fetch_one(query, (session,)) is not None

    def remove_sdk(self, session: str) -> None:
        self._execute("DELETE FROM sdk_sessions WHERE session = ?", (session,))

    def prune(self) -> None:
        """Drop sessions whose transcripts are gone."""
        small = "SELECT session, path FROM small_sessions"
        sdk = "SELECT session, path FROM sdk_sessions LEFT JOIN sessions USING (session)"
        with self._transaction():
            rows = self._fetch_all(small)
            self._execute_many("DELETE FROM small_sessions WHERE session = ?", _without_file(rows))
            rows = self._fetch_all(sdk)
            self._execute_many("DELETE FROM sdk_sessions WHERE session = ?", _without_file(rows))

    def _read_small(self, where: str, values: tuple[float, ...]) -> list[SmallSession]:
        query = f"""SELECT {_COLUMNS}, ifnull(failures, 0) FROM small_sessions LEFT JOIN sessions USING (session)
            WHERE {where} ORDER BY since, session"""  # noqa: S608 - fixed conditions
        return [SmallSession(*row) for row in self._fetch_all(query, values)]


def _without_file(rows: list[tuple[str, str]]) -> list[tuple[str]]:
    return [(session,) for session, path in rows if not path or files.identity(Path(path)) is None]
