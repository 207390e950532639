"""Definitions shared by the tables of our databases."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from memem.core import sqlite
from memem.core.errors import Busy, HomeError, StateTooNew, StateUnusable

STATE = sqlite.Purpose(
    "state",
    StateUnusable,
    StateTooNew,
    "`memem mine on` sets it aside and starts a new one; your notes are not touched.",
)
CONTEXTS = sqlite.Purpose(
    "record of contexts", StateUnusable, StateTooNew, "Delete the file; memem rebuilds it.", patience=150, soft=True
)
UNUSABLE = (StateUnusable, HomeError, Busy)  # errors of the record of contexts, for callers that can do without it
MAX_PAUSE_SECONDS = 8 * 86_400.0  # longer than a weekly limit; a later time was written by a wrong clock


class Table:
    """One or more tables with one owner. SQLite's errors are raised as memem's."""

    PURPOSE = STATE
    TABLES: tuple[str, ...] = ()

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self.path = path
        self._connect = connect

    @classmethod
    def create_tables(cls, connection: sqlite3.Connection) -> None:
        for statement in cls.TABLES:
            connection.execute(statement)

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._connect()

    def _translated(self) -> AbstractContextManager[None]:
        return sqlite.translated(self.path, self.PURPOSE)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._translated(), sqlite.transaction(self._connection):
            yield

    def _execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        with self._translated():
            return self._connection.execute(statement, values)

    def _execute_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        with self._translated():
            self._connection.executemany(statement, rows)

    def _fetch_one(self, query: str, values: Sequence[object] = ()) -> Any:
        """The first row, a tuple; None without one."""
        with self._translated():
            return self._connection.execute(query, values).fetchone()

    def _fetch_all(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        with self._translated():
            return self._connection.execute(query, values).fetchall()
