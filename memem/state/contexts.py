"""What the context of each session holds of ours: what it was shown, and how its last prompts went. And the receipts.

Kept apart from the state: to lose it means that a memory is shown twice, and that nobody knows any more which were of
use. So it is never synced, and no prompt waits for a disk because of it: after a power failure it may be damaged. One
that is damaged is set aside, and begun anew; one of a newer memem is left as it is, and not used.
"""

import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from memem.core import files, sqlite
from memem.core.errors import Busy, StateTooNew, StateUnusable
from memem.state import receipts
from memem.state.receipts import Receipt, Receipts
from memem.state.tables import CONTEXTS

guarded = sqlite.guarding(CONTEXTS)

AGAIN_SECONDS = 1.0
"""Whoever could not open it does not try again for so long: a prompt asks for it several times, and waits once."""


def _first_tables(connection: sqlite3.Connection) -> None:
    connection.execute(
        """CREATE TABLE contexts (session TEXT PRIMARY KEY, since_slice INTEGER NOT NULL, empty INTEGER NOT NULL,
           topic BLOB NOT NULL, changed REAL NOT NULL)"""
    )
    # `number` is the order in which a session was shown them.
    connection.execute(
        """CREATE TABLE shown (number INTEGER PRIMARY KEY, session TEXT NOT NULL, what TEXT NOT NULL,
           UNIQUE (session, what))"""
    )


MIGRATIONS: sqlite.Migrations = (_first_tables, receipts.create_tables, receipts.note_what_was_followed)


@dataclass(frozen=True, slots=True)
class Context:
    """How the last prompts of a session went.

    `since_slice` prompts came since one got a slice, -1 when none did; `empty` in a row got nothing; `topic` is the
    vector of the last one that was looked at.
    """

    since_slice: int = -1
    empty: int = 0
    topic: bytes = b""


class Contexts:
    """`contexts.db`, opened, or to be opened once others let us. Of a session without a name nothing is noted: nobody
    could tell it from another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened: sqlite3.Connection | None = None
        self._again = 0.0
        with suppress(Busy):
            self._open()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def is_current(self) -> bool:
        """Whether this is still the file at its path."""
        return self._opened is None or self._file == files.identity(self.path)

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._opened or self._open()

    def _open(self) -> sqlite3.Connection:
        if time.monotonic() < self._again:
            raise Busy(f"The {CONTEXTS.name} {self.path} is in use by another memem. Try again in a moment.")
        try:
            self._opened = _connected(self.path)
        except Busy:
            self._again = time.monotonic() + AGAIN_SECONDS
            raise
        self._file = files.identity(self.path)
        return self._opened

    @cached_property
    def receipts(self) -> Receipts:
        """Of what was decided, and what came of it."""
        return Receipts(self.path, self._connection)

    @guarded
    def get(self, session: str) -> Context:
        query = "SELECT since_slice, empty, topic FROM contexts WHERE session = ?"
        found = self._connection.execute(query, (session,)).fetchone()
        return Context(*found) if found else Context()

    @guarded
    def put(self, session: str, context: Context, now: float) -> None:
        if session:
            values = (session, *_columns(context), now)
            self._connection.execute("INSERT OR REPLACE INTO contexts VALUES (?, ?, ?, ?, ?)", values)

    @guarded
    def has_session(self, session: str) -> bool:
        """Whether anything was ever noted of a session."""
        return self._connection.execute("SELECT 1 FROM contexts WHERE session = ?", (session,)).fetchone() is not None

    @guarded
    def shown(self, session: str) -> list[str]:
        """What a session's context holds, in the order in which it came: ids of memories, paths of files."""
        query = "SELECT what FROM shown WHERE session = ? ORDER BY number"
        return [what for (what,) in self._connection.execute(query, (session,))]

    @guarded
    def add(self, session: str, shown: Iterable[str], now: float) -> None:
        """Note what a session has just been shown."""
        if not session:
            return
        with sqlite.transaction(self._connection):
            self._connection.executemany(
                "INSERT OR IGNORE INTO shown (session, what) VALUES (?, ?)", [(session, what) for what in shown]
            )
            begun = (session, *_columns(Context()), now)
            self._connection.execute("INSERT OR IGNORE INTO contexts VALUES (?, ?, ?, ?, ?)", begun)
            self._connection.execute("UPDATE contexts SET changed = ? WHERE session = ?", (now, session))

    @guarded
    def add_all(self, receipt: Receipt, shown: Iterable[str], context: Context | None) -> None:
        """What a prompt came to, in one go: its receipt, what its session was shown, and how its prompts went."""
        with sqlite.transaction(self._connection):
            if shown := tuple(shown):
                self.add(receipt.session, shown, receipt.time)
            if context is not None:
                self.put(receipt.session, context, receipt.time)
            self.receipts.add(receipt)

    @guarded
    def forget(self, session: str) -> None:
        """The session's context was emptied: compacted, cleared."""
        with sqlite.transaction(self._connection):
            self._connection.execute("DELETE FROM shown WHERE session = ?", (session,))
            self._connection.execute("DELETE FROM contexts WHERE session = ?", (session,))

    @guarded
    def forget_memory(self, identity: str) -> None:
        """No session was shown it, as far as anybody knows."""
        with sqlite.transaction(self._connection):
            self._connection.execute("DELETE FROM shown WHERE what = ?", (identity,))
            self.receipts.forget_memory(identity)

    @guarded
    def prune(self, before: float) -> None:
        """Drop sessions that nobody has touched since a moment."""
        with sqlite.transaction(self._connection):
            old = "SELECT session FROM contexts WHERE changed < ?"
            self._connection.execute(f"DELETE FROM shown WHERE session IN ({old})", (before,))  # noqa: S608
            self._connection.execute("DELETE FROM contexts WHERE changed < ?", (before,))


def check(path: Path, *, thorough: bool) -> None:
    """Raise StateUnusable when the file is damaged or a newer memem's, Busy or HomeError when nobody can tell."""
    sqlite.check_integrity(path, CONTEXTS, thorough=thorough)
    sqlite.check_version(path, MIGRATIONS, CONTEXTS)


def _connected(path: Path) -> sqlite3.Connection:
    try:
        return sqlite.connect(path, MIGRATIONS, CONTEXTS, durable=False)
    except StateTooNew:
        raise
    except StateUnusable:
        sqlite.set_aside(path)
        return sqlite.connect(path, MIGRATIONS, CONTEXTS, durable=False)


def _columns(context: Context) -> tuple[int, int, bytes]:
    return context.since_slice, context.empty, context.topic
