"""The notes as rows, and full-text search over them."""

import functools
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from memem.core.files import Stamp
from memem.core.memory import Memory
from memem.core.query import Found, Match, Term
from memem.index import schema, words

P = ParamSpec("P")
R = TypeVar("R")

MOST_TERMS = 32
COMMON_SHARE = 0.2
"""A word in a larger part of the notes than this says little, and is dropped when a rarer one is asked for too."""
COMMON_LEAST = 20
"""In a vault this small nothing is common."""
MOST_TIES = 20
_WEIGHTS = "3.0, 3.0, 1.0"  # title, keys, body


@dataclass(frozen=True, slots=True)
class Row:
    """A note as the index knows it. `memory` is None and `problem` says why when it could not be read."""

    path: str
    stamp: Stamp
    digest: str
    memory: Memory | None
    fingerprint: str = ""
    changed: float = 0.0  # when, in seconds since the epoch
    problem: str = ""


def _guarded(method: Callable[P, R]) -> Callable[P, R]:
    """SQLite's errors in our words, for a method of the class below."""

    @functools.wraps(method)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        index = cast("KeywordIndex", args[0])
        with schema.translated(index.path):
            return method(*args, **kwargs)

    return guarded


class KeywordIndex:
    """`index.db`. Reading takes no lock; writing is SQLite's own transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = schema.connect(path)
        self._file = _identity(path)

    def close(self) -> None:
        self._connection.close()

    def is_current(self) -> bool:
        """Whether this is still the file at its path, and not one that a rebuild has replaced."""
        return self._file == _identity(self.path)

    @_guarded
    def meta(self, key: str) -> str:
        found = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(found[0]) if found else ""

    @_guarded
    def set_meta(self, key: str, value: str) -> None:
        if self.meta(key) != value:
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @_guarded
    def begin(self, key: str) -> None:
        """Make room for what `key` describes, unless the rows are already of it, whole or half-filled by somebody."""
        with schema.transaction(self._connection):
            if self.meta("filled_for") == key:
                return
            for table in ("notes", "memories", "words", "meta"):
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - fixed names
            self._connection.execute("INSERT INTO meta VALUES ('filled_for', ?)", (key,))

    @_guarded
    def stamps(self) -> dict[str, tuple[Stamp, str]]:
        """Stamp and digest of every known file."""
        rows = self._connection.execute("SELECT path, mtime, ctime, size, digest FROM notes")
        return {path: ((mtime, ctime, size), digest) for path, mtime, ctime, size, digest in rows}

    @_guarded
    def update(self, changed: Sequence[Row], gone: Sequence[str] = (), lost: Mapping[str, Stamp] | None = None) -> None:
        """Bring rows up to date, in one transaction. What a scan `lost` goes only if nobody has written it since."""
        if not changed and not gone and not lost:
            return
        with schema.transaction(self._connection):
            for path, stamp in (lost or {}).items():
                if self._stamp(path) == stamp:
                    self._remove(path)
            for path in gone:
                self._remove(path)
            for row in changed:
                self._remove(row.path)
                self._insert(row)

    @_guarded
    def restamp(self, rows: Sequence[Row]) -> None:
        """The same bytes under a new stamp: touched, copied back, or renamed onto itself."""
        if not rows:
            return
        with schema.transaction(self._connection):
            self._connection.executemany(
                "UPDATE notes SET mtime = ?, ctime = ?, size = ? WHERE path = ?",
                [(*row.stamp, row.path) for row in rows],
            )

    @_guarded
    def count(self) -> int:
        """How many notes can be found: FTS5 keeps a few bytes for each, so counting them is cheap."""
        return int(self._connection.execute("SELECT count(*) FROM words_docsize").fetchone()[0])

    @_guarded
    def rows(self, where: str = "1", values: Sequence[Any] = (), limit: int = -1) -> list[Row]:
        """Rows by a condition written by the caller's code, never by a user."""
        query = f"SELECT {_COLUMNS} FROM notes LEFT JOIN memories USING (row) WHERE {where} LIMIT ?"  # noqa: S608
        return [_row(columns) for columns in self._connection.execute(query, (*values, limit))]

    def by_id(self, prefix: str) -> list[Row]:
        """Rows whose id starts so. An exact id wins over longer ones."""
        exact = self.rows("id = ? ORDER BY path", (prefix,))
        return exact or self.rows("id >= ? AND id < ? ORDER BY id, path", (prefix, prefix + "\x7f"))

    def by_fingerprint(self, fingerprint: str) -> list[Row]:
        return self.rows("fingerprint = ? ORDER BY path", (fingerprint,))

    def by_path(self, path: str) -> Row | None:
        return next(iter(self.rows("path = ?", (path,))), None)

    @_guarded
    def search(self, query: str, *, projects: Sequence[str] | None, limit: int, archive: bool) -> Found:
        """The best matches for any of the query's words. `projects` limits where to look; None looks everywhere."""
        with schema.snapshot(self._connection):
            return self._search(query, projects, limit, archive=archive)

    def _search(self, query: str, projects: Sequence[str] | None, limit: int, *, archive: bool) -> Found:
        asked = words.asked(query, MOST_TERMS)
        total = self.count()
        frequencies = {term: self._frequency(term, total) for term in asked}
        chosen = _informative(frequencies, total)
        if not chosen:
            return Found((), frequencies, total)
        ranked = self._ranked(chosen, projects, limit, archive=archive)
        if not ranked and any(frequencies[term] and term not in chosen for term in asked):
            chosen = [term for term in asked if frequencies[term]]
            ranked = self._ranked(chosen, projects, limit, archive=archive)
        held = self._held([row for row, _ in ranked], chosen)
        matches = [self._matched(row, -score, held[row]) for row, score in ranked]
        matches.sort(key=lambda match: (-match.bm25, match.path))
        return Found(tuple(matches[:limit]), frequencies, total)

    def _ranked(
        self, chosen: list[Term], projects: Sequence[str] | None, limit: int, *, archive: bool
    ) -> list[tuple[int, float]]:
        """The best rows, and those that tie with the last of them, so that chance does not choose among equals."""
        conditions, values = _filters(projects, archive=archive)
        join = "JOIN notes ON notes.row = words.rowid" if conditions else ""
        query = f"""SELECT words.rowid, bm25(words, {_WEIGHTS}) AS score FROM words {join}
                WHERE {" AND ".join(["words MATCH ?", *conditions])} ORDER BY score LIMIT ?"""  # noqa: S608 - bound values
        match = " OR ".join(map(_expression, chosen))
        rows = self._connection.execute(query, (match, *values, limit + MOST_TIES)).fetchall()
        return [(row, score) for row, score in rows if score <= rows[:limit][-1][1]]

    @_guarded
    def check(self) -> None:
        """Raise when the file is damaged, or when the words no longer belong to the notes."""
        problems = [line for (line,) in self._connection.execute("PRAGMA quick_check") if line != "ok"]
        if problems:
            raise sqlite3.DatabaseError(problems[0])
        self._connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
        known = "SELECT row FROM memories JOIN notes USING (row) WHERE status <> 'quarantined'"
        held = "SELECT rowid FROM words"
        for missing in (f"{known} EXCEPT {held}", f"{held} EXCEPT {known}"):
            if self._connection.execute(f"{missing} LIMIT 1").fetchone():
                raise sqlite3.DatabaseError("the words do not belong to the notes")

    def _stamp(self, path: str) -> Stamp | None:
        query = "SELECT mtime, ctime, size FROM notes WHERE path = ?"
        found: Stamp | None = self._connection.execute(query, (path,)).fetchone()
        return found

    def _remove(self, path: str) -> None:
        found = self._connection.execute("SELECT row FROM notes WHERE path = ?", (path,)).fetchone()
        if found:
            self._connection.execute("DELETE FROM words WHERE rowid = ?", found)
            self._connection.execute("DELETE FROM memories WHERE row = ?", found)
            self._connection.execute("DELETE FROM notes WHERE row = ?", found)

    def _insert(self, row: Row) -> None:
        memory = row.memory
        shared = (row.path, *row.stamp, row.digest)
        if memory is None:
            self._connection.execute(
                "INSERT INTO notes (path, mtime, ctime, size, digest, problem) VALUES (?, ?, ?, ?, ?, ?)",
                (*shared, row.problem),
            )
            return
        cursor = self._connection.execute(
            """INSERT INTO notes
                (path, mtime, ctime, size, digest, id, project, kind, layer, status, changed, fingerprint)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                *shared,
                memory.id,
                memory.project,
                memory.kind,
                memory.layer,
                memory.status,
                row.changed,
                row.fingerprint,
            ),
        )
        text = json.dumps({name: getattr(memory, name) for name in _FIELDS}, ensure_ascii=False)
        self._connection.execute("INSERT INTO memories VALUES (?, ?)", (cursor.lastrowid, text))
        if memory.status == "quarantined":
            return  # to be read by its id, never to be found
        keys = " ".join((*memory.keys, *memory.tags, *memory.paths, memory.project))
        fields = (memory.title, keys, memory.body)
        self._connection.execute(
            "INSERT INTO words (rowid, title, keys, body) VALUES (?, ?, ?, ?)",
            (cursor.lastrowid, *map(words.indexed, fields)),
        )

    def _frequency(self, term: Term, total: int) -> int:
        """In how many notes a term stands, counted no further than it takes to call it common."""
        most = int(max(COMMON_LEAST, total * COMMON_SHARE)) + 1
        query = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        return int(self._connection.execute(query, (_expression(term), most)).fetchone()[0])

    def _held(self, rows: list[int], chosen: list[Term]) -> dict[int, list[Term]]:
        """Which of the terms each row holds."""
        held: dict[int, list[Term]] = {row: [] for row in rows}
        # The plus keeps FTS5 from looking the term up anew for every row: it walks the term's rows once.
        among = f"SELECT rowid FROM words WHERE words MATCH ? AND +rowid IN ({', '.join('?' * len(rows))})"  # noqa: S608
        for term in chosen:
            for (row,) in self._connection.execute(among, (_expression(term), *rows)):
                held[row].append(term)
        return held

    def _matched(self, row: int, score: float, terms: list[Term]) -> Match:
        path, *stamp, memory = self._connection.execute(
            "SELECT path, mtime, ctime, size, memory FROM notes JOIN memories USING (row) WHERE row = ?", (row,)
        ).fetchone()
        return Match(path, tuple(stamp), _memory(memory), score, tuple(terms))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


_FIELDS = tuple(field.name for field in fields(Memory))
_COLUMNS = "path, mtime, ctime, size, digest, memory, fingerprint, changed, problem"


def _row(columns: tuple[Any, ...]) -> Row:
    path, mtime, ctime, size, digest, memory, fingerprint, changed, problem = columns
    known = _memory(memory) if memory else None
    return Row(path, (mtime, ctime, size), digest, known, fingerprint or "", changed or 0.0, problem or "")


def _memory(text: str) -> Memory:
    held: dict[str, Any] = json.loads(text)
    held |= {name: tuple(value) for name, value in held.items() if isinstance(value, list)}
    return Memory(**held)


def _expression(term: Term) -> str:
    return " OR ".join(_quoted(text, prefix=term.prefix) for text in words.spellings(term.text))


def _quoted(text: str, *, prefix: bool) -> str:
    return '"' + text.replace('"', '""') + '"' + ("*" if prefix else "")


def _informative(frequencies: dict[Term, int], total: int) -> list[Term]:
    """The terms worth asking for: those that stand somewhere, without the common ones if a rarer one is left."""
    known = [term for term, frequency in frequencies.items() if frequency]
    common = max(COMMON_LEAST, total * COMMON_SHARE)
    return [term for term in known if frequencies[term] <= common] or known


def _filters(projects: Sequence[str] | None, *, archive: bool) -> tuple[list[str], tuple[str, ...]]:
    conditions = [] if archive else ["notes.layer < 3", "notes.status = 'active'"]
    if projects is not None:
        conditions.append(f"notes.project IN ({', '.join('?' * len(projects))})")
    return conditions, tuple(projects or ())
