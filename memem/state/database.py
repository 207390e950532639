"""`state.db`: all that cannot be rebuilt from the vault. Losing it costs no note; mining stops until an opt-in."""

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from memem.core import sqlite
from memem.core.conversation import Cursor
from memem.state.calls import Children, Ledger
from memem.state.journal import Journal
from memem.state.sessions import DeferredSessions, Queue, Sessions
from memem.state.statements import Statements
from memem.state.suspicions import Suspicions
from memem.state.tables import STATE, Table


class OptInRecord(Table):
    """The date of the opt-in, at most one row, and how far each session file had been written by then."""

    TABLES = ("CREATE TABLE agreed (one INTEGER PRIMARY KEY CHECK (one = 1), since TEXT NOT NULL)",)

    @staticmethod
    def add_sessions(connection: sqlite3.Connection) -> None:
        """Migrate: `last_write` is the latest change of any session before the opt-in, NULL until it is derived."""
        connection.execute("ALTER TABLE agreed ADD COLUMN last_write REAL")
        connection.execute(
            """CREATE TABLE sessions_at_opt_in (session TEXT PRIMARY KEY, offset INTEGER NOT NULL,
               digest TEXT NOT NULL) WITHOUT ROWID"""
        )

    def since(self) -> str:
        row = self._fetch_one("SELECT since FROM agreed")
        return str(row[0]) if row else ""

    def last_write(self) -> float | None:
        row = self._fetch_one("SELECT last_write FROM agreed")
        return row[0] if row else None

    def end_of(self, session: str) -> Cursor | None:
        """Where a session ended at the opt-in; None for a session that did not exist."""
        row = self._fetch_one("SELECT offset, digest FROM sessions_at_opt_in WHERE session = ?", session)
        return Cursor(0, *row) if row else None

    def count_sessions(self) -> int:
        return int(self._fetch_one("SELECT count(*) FROM sessions_at_opt_in")[0])

    def put(self, since: str, last_write: float, ends: Mapping[str, Cursor]) -> None:
        with self.transaction():
            self._execute("INSERT OR REPLACE INTO agreed VALUES (1, ?, ?)", since, last_write)
            self._execute("DELETE FROM sessions_at_opt_in")
            rows = [(session, end.offset, end.digest) for session, end in ends.items()]
            self._execute_many("INSERT INTO sessions_at_opt_in VALUES (?, ?, ?)", rows)


def _create(*owners: type[Table]) -> Callable[[sqlite3.Connection], None]:
    def migrate(connection: sqlite3.Connection) -> None:
        for owner in owners:
            owner.create_tables(connection)

    return migrate


MIGRATIONS: sqlite.Migrations = (
    _create(OptInRecord, Queue, Sessions, Journal, Ledger, Children),
    _create(Suspicions),
    _create(DeferredSessions),
    OptInRecord.add_sessions,
    _create(Statements),
)


class State(Table):
    """The opened file, with an object for each table."""

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self._connection = sqlite.connect(path, MIGRATIONS, STATE, durable=fsync)
        super().__init__(path, lambda: self._connection)
        self.opt_in_record = OptInRecord(path, self._connect)
        self.queue = Queue(path, self._connect)
        self.sessions = Sessions(path, self._connect)
        self.journal = Journal(path, self._connect)
        self.ledger = Ledger(path, self._connect)
        self.children = Children(path, self._connect)
        self.suspicions = Suspicions(path, self._connect)
        self.statements = Statements(path, self._connect)
        self.deferred = DeferredSessions(path, self._connect)

    def close(self) -> None:
        self._connection.close()
