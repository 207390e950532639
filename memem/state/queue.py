"""Sessions with something new, and sessions held back. A mark stays until the holder of the session's lock takes it."""

import sqlite3
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path

from memem.core import files, sqlite
from memem.state.tables import MAX_PAUSE_SECONDS, STATE, Table, guarded


@dataclass(frozen=True, slots=True)
class Mark:
    """A session that wants to be mined. `flush`: also what would otherwise wait for more.

    `expected` is the fingerprint of an answer that should be in the file, and may not have been written yet.
    """

    session: str
    path: str
    flush: bool = False
    expected: str = ""


class Queue(Table):
    """The marks, oldest first."""

    TABLES = (
        """CREATE TABLE queue (session TEXT PRIMARY KEY, path TEXT NOT NULL, flush INTEGER NOT NULL,
           expected TEXT NOT NULL, marked REAL NOT NULL)""",
    )

    @guarded
    def mark(self, mark: Mark, now: float) -> None:
        """Note that a session has something new; what was wanted of it before is still wanted."""
        self._connection.execute(
            """INSERT INTO queue VALUES (?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET
               path = excluded.path, flush = max(flush, excluded.flush), marked = excluded.marked,
               expected = CASE excluded.expected WHEN '' THEN expected ELSE excluded.expected END""",
            (mark.session, mark.path, mark.flush, mark.expected, now),
        )

    @guarded
    def take(self, session: str) -> Mark | None:
        """Clear a mark, before the session is read: what comes after that marks it again."""
        statement = "DELETE FROM queue WHERE session = ? RETURNING session, path, flush, expected"
        found = self._connection.execute(statement, (session,)).fetchone()
        return _mark(*found) if found else None

    @guarded
    def marks(self) -> list[Mark]:
        """Every mark, the oldest first."""
        return self._marks("1", ())

    @guarded
    def due(self, now: float, marked_since: float = 0.0) -> list[Mark]:
        """Those that may be taken up now: not of sessions that wait after a failure."""
        waits = "SELECT session FROM sessions WHERE not_before > ? AND not_before <= ?"
        return self._marks(f"session NOT IN ({waits}) AND marked >= ?", (now, now + MAX_PAUSE_SECONDS, marked_since))

    def _marks(self, where: str, values: tuple[float, ...]) -> list[Mark]:
        query = f"SELECT session, path, flush, expected FROM queue WHERE {where} ORDER BY marked, session"  # noqa: S608
        return [_mark(*row) for row in self._connection.execute(query, values)]


def _mark(session: str, path: str, flush: int, expected: str) -> Mark:
    return Mark(session, path, bool(flush), expected)


def count_marks(state_file: Path) -> int:
    """How many sessions want to be mined, for whoever would not open the whole state for that. Raises StateUnusable."""
    if not state_file.exists():
        return 0
    with sqlite.translated(state_file, STATE), closing(sqlite3.connect(state_file)) as connection:
        return int(connection.execute("SELECT count(*) FROM queue").fetchone()[0])


@dataclass(frozen=True, slots=True)
class SmallSession:
    """A session whose unmined tail is too small for a call of its own.

    `size` and `mtime` are the file's when it was read, `since` is when it was first held back, and `failures` counts
    how often asking about it has failed.
    """

    session: str
    path: str
    project: str
    characters: int
    size: int
    mtime: int
    since: float
    failures: int = 0


_COLUMNS = "session, small_sessions.path, project, characters, small_sessions.size, small_sessions.mtime, since"


class DeferredSessions(Table):
    """Small sessions until they are packed, and sessions with skipped SDK turns until those may be mined."""

    TABLES = (
        """CREATE TABLE small_sessions (session TEXT PRIMARY KEY, path TEXT NOT NULL, project TEXT NOT NULL,
           characters INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL, since REAL NOT NULL)
           WITHOUT ROWID""",
        "CREATE TABLE sdk_sessions (session TEXT PRIMARY KEY) WITHOUT ROWID",
    )

    @guarded
    def add_small(self, small: SmallSession) -> None:
        """Hold a session back. One that is held back already keeps its `since`."""
        self._connection.execute(
            """INSERT INTO small_sessions VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET
               path = excluded.path, project = excluded.project, characters = excluded.characters,
               size = excluded.size, mtime = excluded.mtime""",
            astuple(small)[:-1],
        )

    @guarded
    def small(self) -> list[SmallSession]:
        """Every small session, the oldest first."""
        return self._small("1", ())

    @guarded
    def small_due(self, now: float) -> list[SmallSession]:
        """Small sessions that do not wait after a failure."""
        return self._small("NOT (ifnull(not_before, 0) > ? AND not_before <= ?)", (now, now + MAX_PAUSE_SECONDS))

    @guarded
    def remove_small(self, session: str) -> None:
        self._connection.execute("DELETE FROM small_sessions WHERE session = ?", (session,))

    @guarded
    def add_sdk(self, session: str) -> None:
        self._connection.execute("INSERT OR IGNORE INTO sdk_sessions VALUES (?)", (session,))

    @guarded
    def has_sdk(self, session: str) -> bool:
        """Whether turns of a session were skipped because no person was present."""
        query = "SELECT 1 FROM sdk_sessions WHERE session = ?"
        return self._connection.execute(query, (session,)).fetchone() is not None

    @guarded
    def remove_sdk(self, session: str) -> None:
        self._connection.execute("DELETE FROM sdk_sessions WHERE session = ?", (session,))

    @guarded
    def prune(self) -> None:
        """Drop sessions whose transcripts are gone."""
        with sqlite.transaction(self._connection):
            for table, column in (("small_sessions", "small_sessions.path"), ("sdk_sessions", "sessions.path")):
                query = f"SELECT session, {column} FROM {table} LEFT JOIN sessions USING (session)"  # noqa: S608 - fixed
                rows = self._connection.execute(query).fetchall()
                gone = [(session,) for session, path in rows if not path or files.identity(Path(path)) is None]
                self._connection.executemany(f"DELETE FROM {table} WHERE session = ?", gone)  # noqa: S608 - fixed

    def _small(self, where: str, values: tuple[float, ...]) -> list[SmallSession]:
        query = f"""SELECT {_COLUMNS}, ifnull(failures, 0) FROM small_sessions LEFT JOIN sessions USING (session)
            WHERE {where} ORDER BY since, session"""  # noqa: S608 - fixed conditions
        return [SmallSession(*row) for row in self._connection.execute(query, values)]
