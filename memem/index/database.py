"""The files of the index: derived from the notes, so whatever is wrong with one, it can be rebuilt."""

import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import sqlite
from memem.core.errors import IndexDamaged, IndexTooNew
from memem.core.sqlite import Migrations, among, snapshot, transaction

if TYPE_CHECKING:
    from memem.core.query import Scope

__all__ = ["Migrations", "among", "connect", "guarded", "snapshot", "transaction", "translated", "within"]

INDEX = sqlite.Purpose(
    "index", IndexDamaged, IndexTooNew, "Run `memem reindex` to rebuild it; your notes are not touched."
)
guarded = sqlite.guarding(INDEX)


def connect(path: Path, migrations: Migrations) -> sqlite3.Connection:
    """Open the file at `path`, creating or upgrading it."""
    # A note is on disk before its row: after a power failure the next scan repairs the index.
    return sqlite.connect(path, migrations, INDEX, durable=False)


def translated(path: Path) -> AbstractContextManager[None]:
    """SQLite's errors in our words."""
    return sqlite.translated(path, INDEX)


def within(scope: "Scope") -> tuple[str, tuple[str | float, ...]]:
    """A scope as further conditions on the table `notes`, and their values; nothing, when everything is in it."""
    conditions = "" if scope.archive else " AND notes.layer < 3 AND notes.status = 'active'"
    values: list[str | float] = []
    if scope.projects is not None:
        conditions += f" AND notes.project IN ({', '.join('?' * len(scope.projects))})"
        values += scope.projects
    if scope.now is not None:
        conditions += _HOLDS.format("valid_from", "valid_to")
        values += (scope.now, scope.now)
    if scope.as_of is not None:
        conditions += _HOLDS.format("since", "until") + " AND notes.status <> 'quarantined'"
        values += (scope.as_of, scope.as_of)
    return conditions, tuple(values)


_HOLDS = " AND (notes.{0} IS NULL OR notes.{0} <= ?) AND (notes.{1} IS NULL OR notes.{1} > ?)"
