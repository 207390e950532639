"""The tables of the index file, migration by migration."""

import sqlite3

from memem.core import sqlite
from memem.search import passages
from memem.search.graph import edges


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


def _add_validity(connection: sqlite3.Connection) -> None:
    for column in ("valid_from", "valid_to", "since", "until"):
        connection.execute(f"ALTER TABLE notes ADD COLUMN {column} REAL")


def _add_review(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE notes ADD COLUMN review TEXT")


MIGRATIONS: sqlite.Migrations = (_create_tables, passages.create_tables, _add_validity, edges.create_table, _add_review)
