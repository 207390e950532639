"""Open the index files. They are derived from the notes, so a damaged one is set aside and rebuilt."""

import functools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from memem.core import sqlite
from memem.core.errors import HomeError, IndexDamaged, IndexTooNew
from memem.core.sqlite import Migrations

if TYPE_CHECKING:
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
    translating = translating_errors(method)

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with _setting_damage_aside(args[0].path):  # type: ignore[attr-defined]
            return translating(*args, **kwargs)

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


def scope_conditions(scope: "Scope") -> tuple[str, tuple[str | float, ...]]:
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
