"""The index file: its tables as numbered migrations, and SQLite's errors in our words."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memem.core import files
from memem.core.errors import Busy, HomeError, IndexDamaged, IndexTooNew

BUSY_MILLISECONDS = 5_000


def _first_tables(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    connection.execute(
        """CREATE TABLE notes (
            row INTEGER PRIMARY KEY,
            path TEXT NOT NULL UNIQUE,
            mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, size INTEGER NOT NULL,
            digest TEXT NOT NULL,
            id TEXT, project TEXT, kind TEXT, layer INTEGER, status TEXT, changed REAL,
            fingerprint TEXT,
            problem TEXT)"""
    )
    # Apart from its row, so that a search, which filters thousands of rows, passes over short ones.
    connection.execute("CREATE TABLE memories (row INTEGER PRIMARY KEY, memory TEXT NOT NULL)")
    connection.execute("CREATE INDEX notes_by_id ON notes (id)")
    connection.execute("CREATE INDEX notes_by_fingerprint ON notes (fingerprint)")
    connection.execute("CREATE INDEX notes_by_project ON notes (project, layer)")
    # Our own words module has split and folded everything, so only spaces separate here.
    connection.execute(
        """CREATE VIRTUAL TABLE words USING fts5 (title, keys, body,
            tokenize = "porter unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'")"""
    )


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first_tables,)


def connect(path: Path) -> sqlite3.Connection:
    """Open the index at `path`, creating or upgrading it."""
    with translated(path):
        try:
            files.make_private_folder(path.parent)
            if not path.exists():
                path.touch(mode=files.PRIVATE_FILE)
        except OSError as error:
            raise HomeError(f"Cannot use {path.parent}: {files.reason(error)}.") from None
        connection = sqlite3.connect(path, timeout=BUSY_MILLISECONDS / 1000, isolation_level=None)
        try:
            _version(connection, path)
            _use_wal(connection)
            # A note is on disk before its row: after a power failure the next scan repairs the index.
            connection.execute("PRAGMA synchronous = NORMAL")
            _migrate(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switching a new file to WAL does not wait for others who do the same, so we do."""
    deadline = time.monotonic() + BUSY_MILLISECONDS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    if _version(connection, path) == len(MIGRATIONS):
        return
    with transaction(connection):
        for number in range(_version(connection, path), len(MIGRATIONS)):
            MIGRATIONS[number](connection)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(MIGRATIONS):
        raise IndexTooNew(
            f"The index {path} was made by a newer memem. Upgrade memem, or run `memem reindex` to rebuild it "
            "for this version; your notes are not touched."
        )
    return version


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; joins a transaction that is already open."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite has undone some failures by itself, a full disk among them: then there is nothing to roll back.
        with suppress(sqlite3.OperationalError):
            connection.execute("ROLLBACK")
        raise


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Several queries that see one state, whatever others commit meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors, told apart once, here."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details of extended codes
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise Busy(f"The index {path} is in use by another memem. Try again in a moment.") from None
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise HomeError(f"Cannot use the index {path}: the disk is full or failing; free some space.") from None
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            raise HomeError(f"Cannot write the index {path}: make its folder writable for you.") from None
        if "no such module" in str(error):
            raise HomeError("This Python's SQLite has no FTS5. Use another Python (MEMEM_PYTHON).") from None
        raise IndexDamaged(
            f"The index {path} is damaged ({error}). Run `memem reindex` to rebuild it; your notes are not touched."
        ) from None
