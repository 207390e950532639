"""Whether a file that SQLite keeps for us is whole: looked at as it is, never created, upgraded or repaired."""

import sqlite3
from contextlib import closing
from pathlib import Path

from memem.core.sqlite import BUSY_MILLISECONDS, Purpose, translated

FULL_TEXT_TABLES = "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'"


def check(path: Path, purpose: Purpose, *, thorough: bool) -> None:
    """Raise what `purpose` says when the file is damaged, Busy or HomeError when it cannot be looked at.

    A thorough look also compares every index with its table, and goes through the full-text tables.
    """
    look = "integrity_check" if thorough else "quick_check"
    address = f"{path.absolute().as_uri()}?mode=rw"
    with translated(path, purpose):
        opened = sqlite3.connect(address, uri=True, timeout=BUSY_MILLISECONDS / 1000, isolation_level=None)
        with closing(opened) as connection:
            (problem,) = connection.execute(f"PRAGMA {look}(1)").fetchone()
            if problem != "ok":
                raise sqlite3.DatabaseError(problem)
            for (table,) in connection.execute(FULL_TEXT_TABLES).fetchall() if thorough else ():
                connection.execute(f'INSERT INTO "{table}" ("{table}") VALUES (\'integrity-check\')')  # noqa: S608
