"""`state.db`: all that cannot be rebuilt from the vault. Losing it costs no note; mining stops until an opt-in."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from memem.core import sqlite
from memem.state.calls import Children, Ledger
from memem.state.journal import Journal
from memem.state.sessions import DeferredSessions, Queue, Sessions
from memem.state.suspicions import Suspicions
from memem.state.tables import STATE, Table


class OptInRecord(Table):
    """The date of the opt-in; at most one row."""

    TABLES = ("CREATE TABLE agreed (one INTEGER PRIMARY KEY CHECK (one = 1), since TEXT NOT NULL)",)

    def since(self) -> str:
        row = self._fetch_one("SELECT since FROM agreed")
        return str(row[0]) if row else ""

    def put(self, since: str) -> None:
        self._execute("INSERT OR REPLACE INTO agreed VALUES (1, ?)", since)


def _create(*owners: type[Table]) -> Callable[[sqlite3.Connection], None]:
    def migrate(connection: sqlite3.Connection) -> None:
        for owner in owners:
            owner.create_tables(connection)

    return migrate


MIGRATIONS: sqlite.Migrations = (
    _create(OptInRecord, Queue, Sessions, Journal, Ledger, Children),
    _create(Suspicions),
    _create(DeferredSessions),
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
        self.deferred = DeferredSessions(path, self._connect)

    def close(self) -> None:
        self._connection.close()
