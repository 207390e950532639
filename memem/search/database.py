"""The files of the index: derived from the notes, so whatever is wrong with one, it can be rebuilt."""

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


INDEX = sqlite.Purpose(
    "index", IndexDamaged, IndexTooNew, "Run `memem index rebuild` to rebuild it; your notes are not touched."
)
translating_errors = sqlite.guarding(INDEX)
"""For methods that only look whether all is well: damage is told, and left for others to see."""
P = ParamSpec("P")
R = TypeVar("R")


def guarded(method: Callable[P, R]) -> Callable[P, R]:
    """For the other methods: what is damaged is also set aside, so that whoever comes next begins a new one."""
    translating = translating_errors(method)

    @functools.wraps(method)
    def careful(*args: P.args, **kwargs: P.kwargs) -> R:
        with _setting_aside(args[0].path):  # type: ignore[attr-defined]
            return translating(*args, **kwargs)

    return careful


def connect(path: Path, migrations: Migrations) -> sqlite3.Connection:
    """Open the file at `path`, creating or upgrading it; one that is damaged is set aside, and begun anew."""
    # A note is on disk before its row: after a power failure the next scan repairs the index.
    try:
        with _setting_aside(path):
            return sqlite.connect(path, migrations, INDEX, durable=False)
    except IndexDamaged:
        return sqlite.connect(path, migrations, INDEX, durable=False)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors in our words; what is damaged is set aside."""
    with _setting_aside(path), sqlite.translated(path, INDEX):
        yield


@contextmanager
def _setting_aside(path: Path) -> Iterator[None]:
    try:
        yield
    except IndexDamaged as problem:
        # What is done within may come upon another file's damage: each says which file it is.
        if sqlite.is_damage(problem) and str(path) in str(problem):
            with suppress(HomeError):
                sqlite.set_aside(path)
        raise


def scope_conditions(scope: "Scope") -> tuple[str, tuple[str | float, ...]]:
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
