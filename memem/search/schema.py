"""The tables of the index file, migration by migration."""

import sqlite3

from memem.core import sqlite
from memem.search import passages
from memem.search.graph import edges


def _first_tables(connection: sqlite3.Connection) -> None:
    from memem.search import fulltext

    connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    # A row number is never used again: what a search has found is still that, or gone.
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
    # Apart from its row, so that a search, which filters thousands of rows, passes over short ones.
    connection.execute("CREATE TABLE memories (row INTEGER PRIMARY KEY, memory TEXT NOT NULL)")
    connection.execute("CREATE INDEX notes_by_id ON notes (id)")
    connection.execute("CREATE INDEX notes_by_fingerprint ON notes (fingerprint)")
    connection.execute("CREATE INDEX notes_by_project ON notes (project, layer)")
    fulltext.create_table(connection)


def _validity(connection: sqlite3.Connection) -> None:
    """When a note says that it holds, and when it was held true: the index is filled anew with both."""
    for column in ("valid_from", "valid_to", "since", "until"):
        connection.execute(f"ALTER TABLE notes ADD COLUMN {column} REAL")


def _review(connection: sqlite3.Connection) -> None:
    """What a person said of a note that reads like an instruction to the model: waiting, accepted or rejected."""
    connection.execute("ALTER TABLE notes ADD COLUMN review TEXT")


MIGRATIONS: sqlite.Migrations = (_first_tables, passages.create_tables, _validity, edges.create_table, _review)
