"""Make what was deleted from a file of SQLite's really go: it stays in free pages, in full text, and in the log."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from memem.core.integrity import FULL_TEXT_TABLES
from memem.core.sqlite import Purpose, translated

Columns = tuple[tuple[str, str], ...]
"""Tables, each with the name of a column."""


def scrub(path: Path, purpose: Purpose) -> bool:
    """Write the file anew without what is deleted; says whether that is all gone. Raises Busy while others write.

    Full text keeps the words of deleted rows until its parts are merged; whoever reads meanwhile keeps the log.
    """
    address = f"{path.absolute().as_uri()}?mode=rw"
    with translated(path, purpose):
        opened = sqlite3.connect(address, uri=True, timeout=purpose.seconds, isolation_level=None)
        with closing(opened) as connection:
            for (table,) in connection.execute(FULL_TEXT_TABLES).fetchall():
                connection.execute(f'INSERT INTO "{table}" ("{table}") VALUES (\'optimize\')')  # noqa: S608 - our names
            connection.execute("VACUUM")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy


def blank(path: Path, purpose: Purpose, texts: Sequence[str], columns: Columns, rows_of: Columns) -> None:
    """Empty what holds one of these texts in such columns; where one of `rows_of` holds it, the whole row goes."""
    changes = [(f'UPDATE "{table}" SET "{name}" = \'\'', name) for table, name in columns]  # noqa: S608 - our names
    changes += [(f'DELETE FROM "{table}"', name) for table, name in rows_of]  # noqa: S608 - our names
    address = f"{path.absolute().as_uri()}?mode=rw"
    with translated(path, purpose):
        opened = sqlite3.connect(address, uri=True, timeout=purpose.seconds, isolation_level=None)
        with closing(opened) as connection:
            for change, column in changes:
                for text in texts:
                    connection.execute(f'{change} WHERE instr("{column}", ?)', (text,))
