"""What the context of each session holds of ours: what it was shown, and how its last prompts went. And the receipts.

Kept apart from the state: to lose it means that a memory is shown twice, and that nobody knows any more which were of
use; no prompt waits for a disk because of it. So a file that cannot be used is done away with, and made anew.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from memem.core import files, sqlite
from memem.core.errors import StateUnusable
from memem.jobs import receipts
from memem.jobs.receipts import Receipts
from memem.jobs.tables import CONTEXTS

guarded = sqlite.guarding(CONTEXTS)


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


MIGRATIONS: sqlite.Migrations = (_first_tables, receipts.create_tables)


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
    """`contexts.db`, opened. Of a session without a name nothing is noted: nobody could tell it from another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._connection = sqlite.connect(path, MIGRATIONS, CONTEXTS, durable=False)
        except StateUnusable:
            sqlite.drop(path)
            self._connection = sqlite.connect(path, MIGRATIONS, CONTEXTS, durable=False)
        self._file = files.identity(path)

    def close(self) -> None:
        self._connection.close()

    def is_current(self) -> bool:
        """Whether this is still the file at its path."""
        return self._file == files.identity(self.path)

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
        if not session:
            return
        values = (session, context.since_slice, context.empty, context.topic, now)
        self._connection.execute("INSERT OR REPLACE INTO contexts VALUES (?, ?, ?, ?, ?)", values)

    @guarded
    def is_known(self, session: str) -> bool:
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
    def forget(self, session: str) -> None:
        """The session's context was emptied: compacted, cleared."""
        with sqlite.transaction(self._connection):
            self._connection.execute("DELETE FROM shown WHERE session = ?", (session,))
            self._connection.execute("DELETE FROM contexts WHERE session = ?", (session,))

    @guarded
    def prune(self, before: float) -> None:
        """Drop sessions that nobody has touched since a moment."""
        with sqlite.transaction(self._connection):
            old = "SELECT session FROM contexts WHERE changed < ?"
            self._connection.execute(f"DELETE FROM shown WHERE session IN ({old})", (before,))  # noqa: S608
            self._connection.execute("DELETE FROM contexts WHERE changed < ?", (before,))


def _columns(context: Context) -> tuple[int, int, bytes]:
    return context.since_slice, context.empty, context.topic
