"""Full-text search in SQLite: an OR of a query's meaningful words, ranked by BM25, over notes and turns."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from memem.core.sqlite import split_values
from memem.search import words
from memem.search.query import Term, is_name

MAX_TERMS = 32
COMMON_SHARE = 0.2  # a term in a larger share of the rows is dropped when a rarer one is asked for too
MIN_COMMON = 20  # a term in at most this many rows is never common
MAX_TIES = 20


@dataclass(frozen=True, slots=True)
class TextMatches:
    """Rows with their BM25, the terms searched for, and in how many of the notes each term of the query occurs."""

    scores: dict[int, float]
    terms: tuple[Term, ...]
    frequencies: dict[Term, int]
    notes: int


@dataclass(frozen=True, slots=True)
class RowFilter:
    """The rows to search: a table joined to `words`, conditions on it, and their values."""

    join: str = ""
    conditions: str = ""
    values: tuple[str | float, ...] = ()


@dataclass(frozen=True, slots=True)
class FullText:
    """The table `words` of a file: its columns, and the weight of a word in each."""

    columns: tuple[str, ...]
    weights: tuple[float, ...]

    def create(self, connection: sqlite3.Connection) -> None:
        # `words.py` has split and folded everything, so only spaces separate here.
        connection.execute(
            f"""CREATE VIRTUAL TABLE words USING fts5 ({", ".join(self.columns)},
                tokenize = "porter unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'")"""
        )

    def insert(self, connection: sqlite3.Connection, row: int, texts: Sequence[str]) -> None:
        marks = ", ".join("?" * len(self.columns))
        statement = f"INSERT INTO words (rowid, {', '.join(self.columns)}) VALUES (?, {marks})"  # noqa: S608 - fixed
        connection.execute(statement, (row, *map(words.index_text, texts)))

    def search(
        self, connection: sqlite3.Connection, query: str, limit: int, rows: RowFilter, max_terms: int | None = None
    ) -> TextMatches:
        """Find the best rows for any of the query's words, or for its `max_terms` rarest ones."""
        total = count(connection)
        common = max(MIN_COMMON, total * COMMON_SHARE)
        frequencies = {term: _frequency(connection, term, common) for term in words.query_terms(query, MAX_TERMS)}
        present = [term for term, frequency in frequencies.items() if frequency]
        rare = [term for term in present if frequencies[term] <= common] or present
        rarest = set(sorted(rare, key=frequencies.__getitem__)[:max_terms])
        terms = [term for term in rare if term in rarest]
        scores = self._best(connection, terms, limit, rows)
        if not scores and len(terms) < len(present):
            terms = present
            scores = self._best(connection, terms, limit, rows)
        named = [term for term in terms if is_name(term, frequencies[term])]
        others = self._best(connection, named, limit, rows).keys() - scores.keys()
        scores |= self.score_rows(connection, terms, others)
        return TextMatches(scores, tuple(terms), frequencies, total)

    def score_rows(
        self, connection: sqlite3.Connection, terms: Sequence[Term], rows: Collection[int]
    ) -> dict[int, float]:
        """Compute the BM25 of those rows that contain one of the terms."""
        if not terms:
            return {}
        scores: dict[int, float] = {}
        for marks, some in split_values(list(rows)):
            # The plus keeps FTS5 from looking the terms up for every row: it walks their rows once.
            query = f"SELECT rowid, -{self._bm25} FROM words WHERE words MATCH ? AND +rowid IN ({marks})"  # noqa: S608
            scores.update(connection.execute(query, (_any_of(terms), *some)))
        return scores

    def _best(
        self, connection: sqlite3.Connection, terms: Sequence[Term], limit: int, rows: RowFilter
    ) -> dict[int, float]:
        """Find the best rows, and those that tie with the last of them: chance does not choose among equals."""
        if not terms:
            return {}
        query = f"""SELECT words.rowid, {self._bm25} AS score FROM words {rows.join}
                WHERE words MATCH ?{rows.conditions} ORDER BY score LIMIT ?"""  # noqa: S608 - bound values
        best = connection.execute(query, (_any_of(terms), *rows.values, limit + MAX_TIES)).fetchall()
        return {row: -score for row, score in best if score <= best[:limit][-1][1]}

    @property
    def _bm25(self) -> str:
        return f"bm25(words, {', '.join(map(str, self.weights))})"


NOTES = FullText(("title", "keys", "body"), (3.0, 3.0, 1.0))  # `python -m bench ranking` compares other weights


def remove(connection: sqlite3.Connection, row: int) -> None:
    connection.execute("DELETE FROM words WHERE rowid = ?", (row,))


def count(connection: sqlite3.Connection) -> int:
    """Count the rows that can be found, from a small table of FTS5."""
    return int(connection.execute("SELECT count(*) FROM words_docsize").fetchone()[0])


def matched_terms(connection: sqlite3.Connection, rows: Sequence[int], terms: Sequence[Term]) -> dict[int, list[Term]]:
    matched: dict[int, list[Term]] = {row: [] for row in rows}
    for marks, some in split_values(rows):
        query = f"SELECT rowid FROM words WHERE words MATCH ? AND +rowid IN ({marks})"  # noqa: S608 - marks only
        for term in terms:
            for (row,) in connection.execute(query, (_any_of([term]), *some)):
                matched[row].append(term)
    return matched


def check_words(connection: sqlite3.Connection, rows: str) -> None:
    """Raise when the words are damaged, or do not belong to the rows that the query `rows` gives."""
    connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    indexed = "SELECT rowid FROM words"
    for missing in (f"{rows} EXCEPT {indexed}", f"{indexed} EXCEPT {rows}"):
        if connection.execute(f"{missing} LIMIT 1").fetchone():
            raise sqlite3.DatabaseError("the words do not match the notes")


def _frequency(connection: sqlite3.Connection, term: Term, common: float) -> int:
    """Count the rows with a term, no further than it takes to call it common."""
    query = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    return int(connection.execute(query, (_any_of([term]), int(common) + 1)).fetchone()[0])


def _any_of(terms: Iterable[Term]) -> str:
    spellings = ((text.replace('"', '""'), term) for term in terms for text in words.spellings(term.text))
    return " OR ".join(f'"{text}"{"*" if term.prefix else ""}' for text, term in spellings)
