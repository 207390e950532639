"""Full-text search in SQLite: an OR of a query's meaningful words, ranked by BM25, over notes and turns."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from memem.core.memory import Memory
from memem.core.sqlite import among
from memem.search import words
from memem.search.database import scope_conditions
from memem.search.query import Scope, Term, is_name

MAX_TERMS = 32
COMMON_SHARE = 0.2
"""A word in a larger part of the rows than this says little, and is dropped when a rarer one is asked for too."""
MIN_COMMON = 20
"""Among so few nothing is common."""
MAX_TIES = 20


@dataclass(frozen=True, slots=True)
class TextMatches:
    """The rows with their BM25, the terms they were asked for, and in how many of the notes each asked term stands."""

    scores: dict[int, float]
    terms: tuple[Term, ...]
    frequencies: dict[Term, int]
    notes: int


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows may answer: a table joined to `words`, conditions on it, and their values. Without any, all may."""

    join: str = ""
    conditions: str = ""
    values: tuple[str | float, ...] = ()


@dataclass(frozen=True, slots=True)
class FullText:
    """The table `words` of a file: what its columns are called, and how much a word in each counts."""

    columns: tuple[str, ...]
    weights: tuple[float, ...]

    def create(self, connection: sqlite3.Connection) -> None:
        # Our own words module has split and folded everything, so only spaces separate here.
        connection.execute(
            f"""CREATE VIRTUAL TABLE words USING fts5 ({", ".join(self.columns)},
                tokenize = "porter unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'")"""
        )

    def insert(self, connection: sqlite3.Connection, row: int, texts: Sequence[str]) -> None:
        """The words of a row, one text for each column."""
        marks = ", ".join("?" * len(self.columns))
        statement = f"INSERT INTO words (rowid, {', '.join(self.columns)}) VALUES (?, {marks})"  # noqa: S608 - fixed
        connection.execute(statement, (row, *map(words.index_text, texts)))

    def search(
        self, connection: sqlite3.Connection, query: str, limit: int, within: RowFilter, telling: int | None = None
    ) -> TextMatches:
        """The best rows for any of the query's words, or of so many of them that are rarest."""
        asked = words.query_terms(query, MAX_TERMS)
        total = count(connection)
        frequencies = {term: _frequency(connection, term, total) for term in asked}
        known = [term for term in asked if frequencies[term]]
        chosen = _rarest(_informative(frequencies, total), frequencies, telling)
        scores = self._best(connection, chosen, limit, within)
        if not scores and len(chosen) < len(known):
            chosen = known
            scores = self._best(connection, chosen, limit, within)
        named = [term for term in chosen if is_name(term, frequencies[term])]
        others = self._best(connection, named, limit, within).keys() - scores.keys()
        scores |= self.score_rows(connection, chosen, others)
        return TextMatches(scores, tuple(chosen), frequencies, total)

    def score_rows(
        self, connection: sqlite3.Connection, chosen: Sequence[Term], rows: Collection[int]
    ) -> dict[int, float]:
        """The BM25 of given rows: of those that hold one of the terms."""
        if not chosen:
            return {}
        scores: dict[int, float] = {}
        for marks, some in among(list(rows)):
            # The plus keeps FTS5 from looking the terms up anew for every row: it walks their rows once.
            query = f"SELECT rowid, -{self._bm25} FROM words WHERE words MATCH ? AND +rowid IN ({marks})"  # noqa: S608
            scores.update(connection.execute(query, (_any_of(chosen), *some)))
        return scores

    def _best(
        self, connection: sqlite3.Connection, chosen: Sequence[Term], limit: int, within: RowFilter
    ) -> dict[int, float]:
        """The best rows, and those that tie with the last of them, so that chance does not choose among equals."""
        if not chosen:
            return {}
        query = f"""SELECT words.rowid, {self._bm25} AS score FROM words {within.join}
                WHERE words MATCH ?{within.conditions} ORDER BY score LIMIT ?"""  # noqa: S608 - bound values
        rows = connection.execute(query, (_any_of(chosen), *within.values, limit + MAX_TIES)).fetchall()
        return {row: -score for row, score in rows if score <= rows[:limit][-1][1]}

    @property
    def _bm25(self) -> str:
        return f"bm25(words, {', '.join(map(str, self.weights))})"


def remove(connection: sqlite3.Connection, row: int) -> None:
    connection.execute("DELETE FROM words WHERE rowid = ?", (row,))


def count(connection: sqlite3.Connection) -> int:
    """How many rows can be found: FTS5 keeps a few bytes for each, so counting them is cheap."""
    return int(connection.execute("SELECT count(*) FROM words_docsize").fetchone()[0])


def matched_terms(connection: sqlite3.Connection, rows: Sequence[int], chosen: Sequence[Term]) -> dict[int, list[Term]]:
    """Which of the terms each row holds."""
    terms: dict[int, list[Term]] = {row: [] for row in rows}
    for marks, some in among(rows):
        query = f"SELECT rowid FROM words WHERE words MATCH ? AND +rowid IN ({marks})"  # noqa: S608 - marks only
        for term in chosen:
            for (row,) in connection.execute(query, (_any_of([term]), *some)):
                terms[row].append(term)
    return terms


def _frequency(connection: sqlite3.Connection, term: Term, total: int) -> int:
    """In how many rows a term stands, counted no further than it takes to call it common."""
    most = int(max(MIN_COMMON, total * COMMON_SHARE)) + 1
    query = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    return int(connection.execute(query, (_any_of([term]), most)).fetchone()[0])


def _informative(frequencies: dict[Term, int], total: int) -> list[Term]:
    """The terms worth asking for: those that stand somewhere, without the common ones if a rarer one is left."""
    known = [term for term, frequency in frequencies.items() if frequency]
    common = max(MIN_COMMON, total * COMMON_SHARE)
    return [term for term in known if frequencies[term] <= common] or known


def _rarest(terms: list[Term], frequencies: dict[Term, int], most: int | None) -> list[Term]:
    rare = set(sorted(terms, key=frequencies.__getitem__)[:most])
    return [term for term in terms if term in rare]


def _any_of(terms: Iterable[Term]) -> str:
    return " OR ".join(_quoted(text, prefix=term.prefix) for term in terms for text in words.spellings(term.text))


def _quoted(text: str, *, prefix: bool) -> str:
    return '"' + text.replace('"', '""') + '"' + ("*" if prefix else "")


NOTES = FullText(("title", "keys", "body"), (3.0, 3.0, 1.0))
"""A word in what names a note counts for three in what it says; `python -m bench ranking` has others."""


def create_table(connection: sqlite3.Connection) -> None:
    NOTES.create(connection)


def insert(connection: sqlite3.Connection, row: int, memory: Memory) -> None:
    keys = " ".join((*memory.keys, *memory.tags, *memory.paths, memory.project))
    NOTES.insert(connection, row, (memory.title, keys, memory.body))


def search(
    connection: sqlite3.Connection, query: str, limit: int, scope: Scope, telling: int | None = None
) -> TextMatches:
    """The best rows for any of the query's words, or of so many of them that are rarest."""
    conditions, values = scope_conditions(scope)
    join = "JOIN notes ON notes.row = words.rowid" if conditions else ""
    return NOTES.search(connection, query, limit, RowFilter(join, conditions, values), telling)


def scored(connection: sqlite3.Connection, chosen: Sequence[Term], rows: Collection[int]) -> dict[int, float]:
    """The BM25 of given rows: of those that hold one of the terms."""
    return NOTES.score_rows(connection, chosen, rows)


def check(connection: sqlite3.Connection, known: str) -> None:
    """Raise when the words are damaged, or do not belong to the rows that the query `known` gives."""
    connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    here = "SELECT rowid FROM words"
    for missing in (f"{known} EXCEPT {here}", f"{here} EXCEPT {known}"):
        if connection.execute(f"{missing} LIMIT 1").fetchone():
            raise sqlite3.DatabaseError("the words do not belong to the notes")
