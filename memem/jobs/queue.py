"""Which sessions have something new. A mark stays until whoever holds the session's lock takes it up."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from memem.core import sqlite
from memem.jobs.tables import LONGEST_PAUSE, STATE, Table, guarded


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
        return self._marks(f"session NOT IN ({waits}) AND marked >= ?", (now, now + LONGEST_PAUSE, marked_since))

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
