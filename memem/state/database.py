"""The state database: what cannot be rebuilt from the vault. Each table has its owner in a module of its own.

Losing it never destroys or duplicates a note: mining then waits for the next opt-in.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from memem.core import sqlite
from memem.state.children import Children, OptInRecord
from memem.state.cursors import Sessions
from memem.state.journal import Journal
from memem.state.ledger import Ledger
from memem.state.queue import DeferredSessions, Queue
from memem.state.suspicions import Suspicions
from memem.state.tables import STATE

_OWNERS = (OptInRecord, Queue, Sessions, Journal, Ledger, Children)


def _first_tables(connection: sqlite3.Connection) -> None:
    for owner in _OWNERS:
        for statement in owner.TABLES:
            connection.execute(statement)


def _suspicions(connection: sqlite3.Connection) -> None:
    for statement in Suspicions.TABLES:
        connection.execute(statement)


def _held_back(connection: sqlite3.Connection) -> None:
    for statement in DeferredSessions.TABLES:
        connection.execute(statement)


MIGRATIONS: sqlite.Migrations = (_first_tables, _suspicions, _held_back)


class State:
    """`state.db`, opened."""

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self.path = path
        self._connection = sqlite.connect(path, MIGRATIONS, STATE, durable=fsync)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is changed within is changed together, or not at all."""
        with sqlite.translated(self.path, STATE), sqlite.transaction(self._connection):
            yield

    @cached_property
    def opt_in_record(self) -> OptInRecord:
        return OptInRecord(self.path, self._connection)

    @cached_property
    def queue(self) -> Queue:
        return Queue(self.path, self._connection)

    @cached_property
    def sessions(self) -> Sessions:
        return Sessions(self.path, self._connection)

    @cached_property
    def journal(self) -> Journal:
        return Journal(self.path, self._connection)

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(self.path, self._connection)

    @cached_property
    def children(self) -> Children:
        return Children(self.path, self._connection)

    @cached_property
    def suspicions(self) -> Suspicions:
        return Suspicions(self.path, self._connection)

    @cached_property
    def deferred(self) -> DeferredSessions:
        return DeferredSessions(self.path, self._connection)
