"""`state.db`: everything that cannot be rebuilt from the vault. Each table has its own module.

Losing the file never destroys or duplicates a note: mining stops until the next opt-in.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memem.core import sqlite
from memem.state.children import Children, OptInRecord
from memem.state.cursors import Sessions
from memem.state.journal import Journal
from memem.state.ledger import Ledger
from memem.state.queue import DeferredSessions, Queue
from memem.state.suspicions import Suspicions
from memem.state.tables import STATE, Table


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


class State:
    """The opened file, with an object for each table."""

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self.path = path
        self._connection = sqlite.connect(path, MIGRATIONS, STATE, durable=fsync)

        def connect() -> sqlite3.Connection:
            return self._connection

        self.opt_in_record = OptInRecord(path, connect)
        self.queue = Queue(path, connect)
        self.sessions = Sessions(path, connect)
        self.journal = Journal(path, connect)
        self.ledger = Ledger(path, connect)
        self.children = Children(path, connect)
        self.suspicions = Suspicions(path, connect)
        self.deferred = DeferredSessions(path, connect)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with sqlite.translated(self.path, STATE), sqlite.transaction(self._connection):
            yield
