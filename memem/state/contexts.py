"""`contexts.db`: the memories each session was shown, how its last prompts went, and the receipts.

Losing it means that a memory may be shown twice and that usefulness is forgotten. So it is never synced, and no prompt
waits for the disk. A damaged file is set aside and replaced; the file of a newer memem is left alone and not used.
"""

import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

from memem.core import files, sqlite
from memem.core.errors import Busy, StateTooNew, StateUnusable
from memem.state import receipts
from memem.state.receipts import Receipt, Receipts
from memem.state.tables import CONTEXTS, Table

RETRY_SECONDS = 1.0  # a prompt uses the file several times, and waits only once if it is busy


@dataclass(frozen=True, slots=True)
class Context:
    """How the last prompts of a session went."""

    since_slice: int = -1  # prompts since the last one with a slice; -1: there was none
    empty: int = 0  # consecutive prompts that got nothing
    topic: bytes = b""  # the vector of the last prompt that was considered


class Contexts(Table):
    """The file, opened as soon as other processes allow it. Nothing is recorded for a session without a name."""

    PURPOSE = CONTEXTS
    TABLES = (
        """CREATE TABLE contexts (session TEXT PRIMARY KEY, since_slice INTEGER NOT NULL, empty INTEGER NOT NULL,
           topic BLOB NOT NULL, changed REAL NOT NULL)""",
        # `number` orders what a session was shown.
        """CREATE TABLE shown (number INTEGER PRIMARY KEY, session TEXT NOT NULL, what TEXT NOT NULL,
           UNIQUE (session, what))""",
    )

    def __init__(self, path: Path) -> None:
        super().__init__(path, lambda: self._opened or self._open())
        self._opened: sqlite3.Connection | None = None
        self._retry_at = 0.0
        self.receipts = Receipts(path, self._connect)
        with suppress(Busy):
            self._open()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def is_current(self) -> bool:
        """Whether the opened file is still the one at its path."""
        return self._opened is None or self._file == files.identity(self.path)

    def _open(self) -> sqlite3.Connection:
        if time.monotonic() < self._retry_at:
            raise Busy(f"The {CONTEXTS.name} {self.path} is in use by another memem process. Try again in a moment.")
        try:
            self._opened = _connect_or_replace(self.path)
        except Busy:
            self._retry_at = time.monotonic() + RETRY_SECONDS
            raise
        self._file = files.identity(self.path)
        return self._opened

    def get(self, session: str) -> Context:
        row = self._fetch_one("SELECT since_slice, empty, topic FROM contexts WHERE session = ?", session)
        return Context(*row) if row else Context()

    def put(self, session: str, context: Context, now: float) -> None:
        if session:
            self._execute("INSERT OR REPLACE INTO contexts VALUES (?, ?, ?, ?, ?)", session, *astuple(context), now)

    def has_session(self, session: str) -> bool:
        return bool(self._execute("SELECT 1 FROM contexts WHERE session = ?", session))

    def shown(self, session: str) -> list[str]:
        """The ids of memories and paths of files that a session was shown, in that order."""
        rows = self._execute("SELECT what FROM shown WHERE session = ? ORDER BY number", session)
        return [what for (what,) in rows]

    def add(self, session: str, shown: Iterable[str], now: float) -> None:
        if not session:
            return
        statement = "INSERT OR IGNORE INTO shown (session, what) VALUES (?, ?)"
        new = """INSERT INTO contexts VALUES (?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET
            changed = excluded.changed"""
        with self.transaction():
            self._execute_many(statement, [(session, what) for what in shown])
            self._execute(new, session, *astuple(Context()), now)

    def add_all(self, receipt: Receipt, shown: Iterable[str], context: Context | None) -> None:
        """Record the receipt of a prompt, the memories it was shown and the new context in one transaction."""
        with self.transaction():
            if shown := tuple(shown):
                self.add(receipt.session, shown, receipt.time)
            if context is not None:
                self.put(receipt.session, context, receipt.time)
            self.receipts.add(receipt)

    def forget(self, session: str) -> None:
        """Forget a session whose context was compacted or cleared."""
        with self.transaction():
            self._execute("DELETE FROM shown WHERE session = ?", session)
            self._execute("DELETE FROM contexts WHERE session = ?", session)

    def forget_memory(self, identity: str) -> None:
        with self.transaction():
            self._execute("DELETE FROM shown WHERE what = ?", identity)
            self.receipts.forget_memory(identity)

    def prune(self, before: float) -> None:
        statement = "DELETE FROM shown WHERE session IN (SELECT session FROM contexts WHERE changed < ?)"
        with self.transaction():
            self._execute(statement, before)
            self._execute("DELETE FROM contexts WHERE changed < ?", before)


MIGRATIONS: sqlite.Migrations = (Contexts.create_tables, Receipts.create_tables, receipts.add_followed_column)


def check(path: Path, *, thorough: bool) -> None:
    """Raise StateUnusable if the file is damaged or too new, Busy or HomeError if it cannot be read."""
    sqlite.check_integrity(path, CONTEXTS, thorough=thorough)
    sqlite.check_version(path, MIGRATIONS, CONTEXTS)


def _connect_or_replace(path: Path) -> sqlite3.Connection:
    try:
        return sqlite.connect(path, MIGRATIONS, CONTEXTS, durable=False)
    except StateTooNew:
        raise
    except StateUnusable:
        sqlite.set_aside(path)
        return sqlite.connect(path, MIGRATIONS, CONTEXTS, durable=False)
