"""Which sessions have something new. A mark stays until whoever holds the session's lock takes it up."""

from dataclasses import dataclass

from memem.jobs.tables import Table, guarded


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
               path = excluded.path, flush = max(flush, excluded.flush), expected = excluded.expected""",
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
        rows = self._connection.execute("SELECT session, path, flush, expected FROM queue ORDER BY marked, session")
        return [_mark(*row) for row in rows]


def _mark(session: str, path: str, flush: int, expected: str) -> Mark:
    return Mark(session, path, bool(flush), expected)
