"""The files that memem derives with SQLite: opened, upgraded by numbered migrations, and its errors in our words."""

import functools
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar, cast

from memem.core import files
from memem.core.errors import Busy, HomeError, IndexDamaged, IndexTooNew
from memem.core.query import Scope

BUSY_MILLISECONDS = 5_000
MOST_VALUES = 500
"""How many values one statement is given: SQLite's own limit was once a thousand."""

P = ParamSpec("P")
R = TypeVar("R")
Item = TypeVar("Item")


Migrations = Sequence[Callable[[sqlite3.Connection], None]]
"""What makes the tables, in order; the number of those done is the file's version."""


def connect(path: Path, migrations: Migrations) -> sqlite3.Connection:
    """Open the file at `path`, creating or upgrading it."""
    with translated(path):
        try:
            files.make_private_folder(path.parent)
            if not path.exists():
                path.touch(mode=files.PRIVATE_FILE)
        except OSError as error:
            raise HomeError(f"Cannot use {path.parent}: {files.reason(error)}.") from None
        connection = sqlite3.connect(path, timeout=BUSY_MILLISECONDS / 1000, isolation_level=None)
        try:
            _version(connection, path, migrations)
            _use_wal(connection)
            # A note is on disk before its row: after a power failure the next scan repairs the index.
            connection.execute("PRAGMA synchronous = NORMAL")
            _migrate(connection, path, migrations)
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


def _migrate(connection: sqlite3.Connection, path: Path, migrations: Migrations) -> None:
    if _version(connection, path, migrations) == len(migrations):
        return
    with transaction(connection):
        for number in range(_version(connection, path, migrations), len(migrations)):
            migrations[number](connection)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")


def _version(connection: sqlite3.Connection, path: Path, migrations: Migrations) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(migrations):
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
    """Several queries that see one state, whatever others commit meanwhile; joins one that is already open."""
    if connection.in_transaction:
        yield
        return
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
        what = " ".join(str(error).split())[:200]
        raise IndexDamaged(
            f"The index {path} is damaged ({what}). Run `memem reindex` to rebuild it; your notes are not touched."
        ) from None


class _OnFile(Protocol):
    path: Path


def guarded(method: Callable[P, R]) -> Callable[P, R]:
    """SQLite's errors in our words, for a method of a class that knows its file's `path`."""

    @functools.wraps(method)
    def translating(*args: P.args, **kwargs: P.kwargs) -> R:
        with translated(cast(_OnFile, args[0]).path):
            return method(*args, **kwargs)

    return translating


def among(items: Sequence[Item]) -> Iterator[tuple[str, Sequence[Item]]]:
    """Items in portions for one statement each, with the marks that stand for them in it."""
    for start in range(0, len(items), MOST_VALUES):
        some = items[start : start + MOST_VALUES]
        yield ", ".join("?" * len(some)), some


def within(scope: Scope) -> tuple[str, tuple[str, ...]]:
    """A scope as further conditions on the table `notes`, and their values; nothing, when everything is in it."""
    conditions = "" if scope.archive else " AND notes.layer < 3 AND notes.status = 'active'"
    if scope.projects is not None:
        conditions += f" AND notes.project IN ({', '.join('?' * len(scope.projects))})"
    return conditions, scope.projects or ()
