"""Full-text search over the notes: their titles, what else they are to be found by, and their bodies."""

import sqlite3
from collections.abc import Collection, Sequence

from memem.core.memory import Memory
from memem.core.query import Scope, Term
from memem.index.database import within
from memem.index.fulltext import Answer, FullText, Narrowed, count, held, remove

__all__ = ["Answer", "check", "count", "create_table", "held", "insert", "remove", "scored", "search"]

NOTES = FullText(("title", "keys", "body"), (3.0, 3.0, 1.0))
"""A word in what names a note counts for three in what it says; `python -m bench ranking` has others."""


def create_table(connection: sqlite3.Connection) -> None:
    NOTES.create(connection)


def insert(connection: sqlite3.Connection, row: int, memory: Memory) -> None:
    keys = " ".join((*memory.keys, *memory.tags, *memory.paths, memory.project))
    NOTES.insert(connection, row, (memory.title, keys, memory.body))


def search(connection: sqlite3.Connection, query: str, limit: int, scope: Scope, telling: int | None = None) -> Answer:
    """The best rows for any of the query's words, or of so many of them that are rarest."""
    conditions, values = within(scope)
    join = "JOIN notes ON notes.row = words.rowid" if conditions else ""
    return NOTES.search(connection, query, limit, Narrowed(join, conditions, values), telling)


def scored(connection: sqlite3.Connection, chosen: Sequence[Term], rows: Collection[int]) -> dict[int, float]:
    """The BM25 of given rows: of those that hold one of the terms."""
    return NOTES.scored(connection, chosen, rows)


def check(connection: sqlite3.Connection, known: str) -> None:
    """Raise when the words are damaged, or do not belong to the rows that the query `known` gives."""
    connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    here = "SELECT rowid FROM words"
    for missing in (f"{known} EXCEPT {here}", f"{here} EXCEPT {known}"):
        if connection.execute(f"{missing} LIMIT 1").fetchone():
            raise sqlite3.DatabaseError("the words do not belong to the notes")
