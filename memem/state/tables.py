"""The base of the tables in `state.db` and `contexts.db`, and a count of the queue that needs no `State`."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from memem.core import sqlite
from memem.core.errors import Busy, HomeError, StateTooNew, StateUnusable

STATE = sqlite.Purpose(
    "state database",
    StateUnusable,
    StateTooNew,
    "`memem mine on` sets it aside and starts a new one; your notes are not touched.",
)
CONTEXTS = sqlite.Purpose(
    "context database", StateUnusable, StateTooNew, "Delete the file; memem rebuilds it.", patience=150, soft=True
)
UNUSABLE = (StateUnusable, HomeError, Busy)  # errors of the context database, for callers that can do without it
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

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with sqlite.translated(self.path, self.PURPOSE), sqlite.transaction(self._connect()):
            yield

    def _execute(self, statement: str, *values: object) -> list[Any]:
        with sqlite.translated(self.path, self.PURPOSE):
            return self._connect().execute(statement, values).fetchall()

    def _fetch_one(self, query: str, *values: object) -> Any:
        return next(iter(self._execute(query, *values)), None)

    def _insert(self, statement: str, *values: object) -> int:
        """Add a row and return its number. `RETURNING` would need SQLite 3.35."""
        with sqlite.translated(self.path, self.PURPOSE):
            return int(self._connect().execute(statement, values).lastrowid or 0)

    def _execute_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        with sqlite.translated(self.path, self.PURPOSE):
            self._connect().executemany(statement, rows)


def count_marks(state_file: Path) -> int:
    """Count the sessions in the queue without opening the whole state. Raises StateUnusable."""
    if not state_file.exists():
        return 0
    with sqlite.translated(state_file, STATE), closing(sqlite3.connect(state_file)) as connection:
        return int(connection.execute("SELECT count(*) FROM queue").fetchone()[0])
