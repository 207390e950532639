"""Open the index files, and their tables. They are derived from the notes: a damaged one is set aside and rebuilt."""

import functools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ParamSpec, TypeVar

from memem.core import sqlite
from memem.core.errors import HomeError, IndexDamaged, IndexTooNew
from memem.core.sqlite import Migrations
from memem.search.query import Scope

P = ParamSpec("P")
R = TypeVar("R")

INDEX = sqlite.Purpose(
    "index", IndexDamaged, IndexTooNew, "Run `memem index rebuild` to rebuild it; your notes are not touched."
)
translating_errors = sqlite.guarding(INDEX)  # for checks: a damaged file stays where it is
_VALID_AT = " AND (notes.{0} IS NULL OR notes.{0} <= ?) AND (notes.{1} IS NULL OR notes.{1} > ?)"


def guarded(method: Callable[P, R]) -> Callable[P, R]:
    """Translate a method's SQLite errors, and set a damaged file aside so that the next caller creates a new one."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with translated(args[0].path):  # type: ignore[attr-defined]
            return method(*args, **kwargs)

    return call


@contextmanager
def translated(path: Path) -> Iterator[None]:
    with _setting_damage_aside(path), sqlite.translated(path, INDEX):
        yield


def connect(path: Path, migrations: Migrations) -> sqlite3.Connection:
    """Open the file at `path`, creating or upgrading it; replace a damaged one."""
    # A note is on disk before its row: after a power failure the next scan repairs the index.
    try:
        with _setting_damage_aside(path):
            return sqlite.connect(path, migrations, INDEX, durable=False)
    except IndexDamaged:
        return sqlite.connect(path, migrations, INDEX, durable=False)


@contextmanager
def _setting_damage_aside(path: Path) -> Iterator[None]:
    try:
        yield
    except IndexDamaged as problem:
        # Nested calls may hit damage in another file; the message names the file.
        if sqlite.is_damage(problem) and str(path) in str(problem):
            with suppress(HomeError):
                sqlite.set_aside(path)
        raise


def scope_conditions(scope: Scope) -> tuple[str, tuple[str | float, ...]]:
    """A scope as SQL conditions on `notes`, to be appended to others, and their values."""
    conditions = "" if scope.archive else " AND notes.layer < 3 AND notes.status = 'active'"
    values: list[str | float] = []
    if scope.projects is not None:
        conditions += f" AND notes.project IN ({', '.join('?' * len(scope.projects))})"
        values += scope.projects
    if scope.now is not None:
        conditions += _VALID_AT.format("valid_from", "valid_to")
        values += (scope.now, scope.now)
    if scope.as_of is not None:
        conditions += _VALID_AT.format("since", "until") + " AND notes.status <> 'quarantined'"
        values += (scope.as_of, scope.as_of)
    return conditions, tuple(values)


def check_integrity(connection: sqlite3.Connection) -> None:
    problems = [line for (line,) in connection.execute("PRAGMA quick_check") if line != "ok"]
    if problems:
        raise sqlite3.DatabaseError(problems[0])


def _create_tables(connection: sqlite3.Connection) -> None:
    from memem.search import fulltext

    connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    # AUTOINCREMENT: a row number is never reused, so a row found by a search is unchanged or gone.
    connection.execute(
        """CREATE TABLE notes (
            row INTEGER PRIMARY KEY AUTOINCREMENT,
            path TEXT NOT NULL UNIQUE,
            mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, size INTEGER NOT NULL,
            digest TEXT NOT NULL,
            id TEXT, project TEXT, kind TEXT, layer INTEGER, status TEXT, changed REAL,
            fingerprint TEXT,
            problem TEXT)"""
    )
    # A table of its own, so that a search, which filters thousands of rows, reads short ones.
    connection.execute("CREATE TABLE memories (row INTEGER PRIMARY KEY, memory TEXT NOT NULL)")
    for name, columns in (("id", "id"), ("fingerprint", "fingerprint"), ("project", "project, layer")):
        connection.execute(f"CREATE INDEX notes_by_{name} ON notes ({columns})")
    fulltext.NOTES.create(connection)


def _add_passages(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE passages (key BLOB, row INTEGER, PRIMARY KEY (key, row)) WITHOUT ROWID")
    connection.execute("CREATE INDEX passages_by_row ON passages (row)")
    connection.execute("CREATE TABLE pending (key BLOB PRIMARY KEY, looked_up INTEGER DEFAULT 0) WITHOUT ROWID")


def _add_validity(connection: sqlite3.Connection) -> None:
    for column in ("valid_from", "valid_to", "since", "until"):
        connection.execute(f"ALTER TABLE notes ADD COLUMN {column} REAL")


def _add_edges(connection: sqlite3.Connection) -> None:
    connection.execute(
        """CREATE TABLE edges (
            source TEXT, target TEXT, kind TEXT, score REAL NOT NULL, origin TEXT NOT NULL,
            PRIMARY KEY (source, target, kind)) WITHOUT ROWID"""
    )
    connection.execute("CREATE INDEX edges_by_target ON edges (target)")


def _add_review(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE notes ADD COLUMN review TEXT")


MIGRATIONS: Migrations = (_create_tables, _add_passages, _add_validity, _add_edges, _add_review)
