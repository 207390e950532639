"""Full-text search over the notes: an OR of the query's meaningful words, ranked by BM25."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from memem.core.memory import Memory
from memem.core.query import Scope, Term, is_name
from memem.index import words
from memem.index.database import among, within

MOST_TERMS = 32
COMMON_SHARE = 0.2
"""A word in a larger part of the notes than this says little, and is dropped when a rarer one is asked for too."""
COMMON_LEAST = 20
"""In a vault this small nothing is common."""
MOST_TIES = 20
_WEIGHTS = "3.0, 3.0, 1.0"  # title, keys, body


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows with their BM25, the terms they were asked for, and in how many of the notes each asked term stands."""

    scores: dict[int, float]
    chosen: tuple[Term, ...]
    frequencies: dict[Term, int]
    notes: int


def create_table(connection: sqlite3.Connection) -> None:
    # Our own words module has split and folded everything, so only spaces separate here.
    connection.execute(
        """CREATE VIRTUAL TABLE words USING fts5 (title, keys, body,
            tokenize = "porter unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'")"""
    )


def insert(connection: sqlite3.Connection, row: int, memory: Memory) -> None:
    keys = " ".join((*memory.keys, *memory.tags, *memory.paths, memory.project))
    fields = (memory.title, keys, memory.body)
    connection.execute(
        "INSERT INTO words (rowid, title, keys, body) VALUES (?, ?, ?, ?)", (row, *map(words.indexed, fields))
    )


def remove(connection: sqlite3.Connection, row: int) -> None:
    connection.execute("DELETE FROM words WHERE rowid = ?", (row,))


def count(connection: sqlite3.Connection) -> int:
    """How many notes can be found: FTS5 keeps a few bytes for each, so counting them is cheap."""
    return int(connection.execute("SELECT count(*) FROM words_docsize").fetchone()[0])


def search(connection: sqlite3.Connection, query: str, limit: int, scope: Scope) -> Answer:
    """The best rows for any of the query's words."""
    asked = words.asked(query, MOST_TERMS)
    total = count(connection)
    frequencies = {term: _frequency(connection, term, total) for term in asked}
    known = [term for term in asked if frequencies[term]]
    chosen = _informative(frequencies, total)
    scores = _best(connection, chosen, limit, scope)
    if not scores and len(chosen) < len(known):
        chosen = known
        scores = _best(connection, chosen, limit, scope)
    named = _best(connection, [term for term in chosen if is_name(term, frequencies[term])], limit, scope)
    scores |= scored(connection, chosen, named.keys() - scores.keys())
    return Answer(scores, tuple(chosen), frequencies, total)


def scored(connection: sqlite3.Connection, chosen: Sequence[Term], rows: Collection[int]) -> dict[int, float]:
    """The BM25 of given rows: of those that hold one of the terms."""
    if not chosen:
        return {}
    scores: dict[int, float] = {}
    for marks, some in among(list(rows)):
        # The plus keeps FTS5 from looking the terms up anew for every row: it walks their rows once.
        query = f"SELECT rowid, -bm25(words, {_WEIGHTS}) FROM words WHERE words MATCH ? AND +rowid IN ({marks})"  # noqa: S608
        scores.update(connection.execute(query, (_any_of(chosen), *some)))
    return scores


def held(connection: sqlite3.Connection, rows: Sequence[int], chosen: Sequence[Term]) -> dict[int, list[Term]]:
    """Which of the terms each row holds."""
    terms: dict[int, list[Term]] = {row: [] for row in rows}
    for marks, some in among(rows):
        query = f"SELECT rowid FROM words WHERE words MATCH ? AND +rowid IN ({marks})"  # noqa: S608 - marks only
        for term in chosen:
            for (row,) in connection.execute(query, (_any_of([term]), *some)):
                terms[row].append(term)
    return terms


def check(connection: sqlite3.Connection, known: str) -> None:
    """Raise when the words are damaged, or do not belong to the rows that the query `known` gives."""
    connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    here = "SELECT rowid FROM words"
    for missing in (f"{known} EXCEPT {here}", f"{here} EXCEPT {known}"):
        if connection.execute(f"{missing} LIMIT 1").fetchone():
            raise sqlite3.DatabaseError("the words do not belong to the notes")


def _best(connection: sqlite3.Connection, chosen: Sequence[Term], limit: int, scope: Scope) -> dict[int, float]:
    """The best rows, and those that tie with the last of them, so that chance does not choose among equals."""
    if not chosen:
        return {}
    conditions, values = within(scope)
    join = "JOIN notes ON notes.row = words.rowid" if conditions else ""
    query = f"""SELECT words.rowid, bm25(words, {_WEIGHTS}) AS score FROM words {join}
            WHERE words MATCH ?{conditions} ORDER BY score LIMIT ?"""  # noqa: S608 - bound values
    rows = connection.execute(query, (_any_of(chosen), *values, limit + MOST_TIES)).fetchall()
    return {row: -score for row, score in rows if score <= rows[:limit][-1][1]}


def _frequency(connection: sqlite3.Connection, term: Term, total: int) -> int:
    """In how many notes a term stands, counted no further than it takes to call it common."""
    most = int(max(COMMON_LEAST, total * COMMON_SHARE)) + 1
    query = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    return int(connection.execute(query, (_any_of([term]), most)).fetchone()[0])


def _informative(frequencies: dict[Term, int], total: int) -> list[Term]:
    """The terms worth asking for: those that stand somewhere, without the common ones if a rarer one is left."""
    known = [term for term, frequency in frequencies.items() if frequency]
    common = max(COMMON_LEAST, total * COMMON_SHARE)
    return [term for term in known if frequencies[term] <= common] or known


def _any_of(terms: Iterable[Term]) -> str:
    return " OR ".join(_quoted(text, prefix=term.prefix) for term in terms for text in words.spellings(term.text))


def _quoted(text: str, *, prefix: bool) -> str:
    return '"' + text.replace('"', '""') + '"' + ("*" if prefix else "")
