"""The index file: a row for each note, with its words (`fulltext.py`), passages and edges (`graph/edges.py`)."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memem.core import files, sqlite
from memem.core.dates import ALWAYS, Span
from memem.core.files import Stamp
from memem.core.memory import Memory
from memem.search import database
from memem.search.database import guarded, translating_errors
from memem.search.graph.edges import EdgeRows
from memem.search.passages import PassageRows
from memem.search.schema import MIGRATIONS

if TYPE_CHECKING:
    from memem.search.fulltext import TextMatches
    from memem.search.query import NoteMatch, Scope, Term


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note as the index knows it. `memory` is None and `problem` says why when it could not be read."""

    path: str
    stamp: Stamp
    digest: str
    memory: Memory | None
    fingerprint: str = ""
    changed: float = 0.0  # when, in seconds since the epoch
    problem: str = ""
    stated: Span = ALWAYS  # when it holds, by its own word
    held: Span = ALWAYS  # when it was held true
    review: str = ""  # of one that reads like an instruction to the model: waiting, accepted or rejected


MatchedNote = tuple[str, Stamp, Memory, "tuple[Term, ...]"]
"""Of a row: its note's path and stamp, the memory, and which of the terms that were asked for stand in it."""


class NoteIndex:
    """`index.db`. Reading takes no lock; writing is SQLite's own transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = database.connect(path, MIGRATIONS)
        self.passages = PassageRows(path, self._connection)
        self.edges = EdgeRows(path, self._connection)
        self._file = files.identity(path)

    def close(self) -> None:
        self._connection.close()

    def is_current(self) -> bool:
        """Whether this is still the file at its path, and not one that a rebuild has replaced."""
        return self._file == files.identity(self.path)

    @guarded
    def meta(self, key: str) -> str:
        found = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(found[0]) if found else ""

    @guarded
    def set_meta(self, key: str, value: str) -> None:
        if self.meta(key) != value:
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @guarded
    def reset_for(self, key: str) -> None:
        """Make room for what `key` describes, unless the rows are already of it, whole or half-filled by somebody."""
        with sqlite.transaction(self._connection):
            if self.meta("filled_for") == key:
                return
            for table in ("notes", "memories", "words", "passages", "pending", "edges", "meta"):
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - fixed names
            self._connection.execute("INSERT INTO meta VALUES ('filled_for', ?)", (key,))

    @guarded
    def stamps(self) -> dict[str, tuple[Stamp, str]]:
        """Stamp and digest of every known file."""
        rows = self._connection.execute("SELECT path, mtime, ctime, size, digest FROM notes")
        return {path: ((mtime, ctime, size), digest) for path, mtime, ctime, size, digest in rows}

    @guarded
    def update(
        self, changed: Sequence[NoteRow], gone: Sequence[str] = (), lost: Mapping[str, Stamp] | None = None
    ) -> None:
        """Bring rows up to date, in one transaction. What a scan `lost` goes only if nobody has written it since."""
        if not changed and not gone and not lost:
            return
        with sqlite.transaction(self._connection):
            away = [path for path, stamp in (lost or {}).items() if self._stamp(path) == stamp]
            ids = {self._remove(path) for path in (*away, *gone)}
            for row in changed:
                ids.add(self._remove(row.path))
                self._insert(row)
            self.edges.drop(ids)

    @guarded
    def restamp(self, rows: Sequence[NoteRow]) -> None:
        """The same bytes under a new stamp: touched, copied back, or renamed onto itself."""
        if not rows:
            return
        with sqlite.transaction(self._connection):
            self._connection.executemany(
                "UPDATE notes SET mtime = ?, ctime = ?, size = ? WHERE path = ?",
                [(*row.stamp, row.path) for row in rows],
            )

    @guarded
    def count(self) -> int:
        """How many notes can be found."""
        from memem.search import fulltext

        return fulltext.count(self._connection)

    @guarded
    def count_unreadable_scripts(self) -> int:
        """How many memories an encoder that reads Latin letters alone does not read."""
        from memem.search.query import is_mostly_ascii

        # Most vaults hold few texts that are not ASCII: only those are looked into.
        query = """SELECT json_extract(memory, '$.body') FROM memories JOIN notes USING (row)
            WHERE length(CAST(memory AS BLOB)) > length(memory) AND status <> 'quarantined'"""
        return sum(not is_mostly_ascii(body) for (body,) in self._connection.execute(query))

    @guarded
    def rows(self, where: str = "1", values: Sequence[Any] = (), limit: int = -1) -> list[NoteRow]:
        """Rows by a condition written by the caller's code, never by a user."""
        query = f"SELECT {_COLUMNS} FROM notes LEFT JOIN memories USING (row) WHERE {where} LIMIT ?"  # noqa: S608
        return [_row(columns) for columns in self._connection.execute(query, (*values, limit))]

    @guarded
    def count_where(self, where: str, values: Sequence[Any] = ()) -> int:
        """How many rows meet such a condition."""
        return int(self._connection.execute(f"SELECT count(*) FROM notes WHERE {where}", values).fetchone()[0])  # noqa: S608

    @guarded
    def projects(self, now: float) -> list[tuple[str, int, int, float, int]]:
        """Of each project its name, how many notes it has, how many of them are in force, when the last one changed,
        and the highest row: as long as that and the number are the same, so are the notes."""
        holds = "status = 'active' AND layer < 3 AND (until IS NULL OR until > ?)"
        query = f"""SELECT project, count(*), count(CASE WHEN {holds} THEN 1 END), max(changed), max(row) FROM notes
            WHERE problem IS NULL GROUP BY project ORDER BY project"""  # noqa: S608 - fixed
        return self._connection.execute(query, (now,)).fetchall()

    def by_id(self, prefix: str) -> list[NoteRow]:
        """Rows whose id starts so. An exact id wins over longer ones."""
        exact = self.rows("id = ? ORDER BY path", (prefix,))
        return exact or self.rows("id >= ? AND id < ? ORDER BY id, path", (prefix, prefix + "\x7f"))

    def by_fingerprint(self, fingerprint: str) -> list[NoteRow]:
        return self.rows("fingerprint = ? ORDER BY path", (fingerprint,))

    def by_name(self, name: str) -> list[NoteRow]:
        """Rows of files of this name, which may begin with the folders they are in."""
        end = f"/{name}.md"
        return self.rows("problem IS NULL AND substr('/' || path, -?) = ? ORDER BY path", (len(end), end))

    def by_path(self, path: str) -> NoteRow | None:
        return next(iter(self.rows("path = ?", (path,))), None)

    def by_path_pattern(self, file: str, scope: "Scope") -> list[NoteRow]:
        """Rows of memories that are about a file by the patterns of their `paths`, the last changed first."""
        conditions, values = database.scope_conditions(scope)
        pattern = "? = value OR ? GLOB replace(value, '[!', '[^')"
        where = f"EXISTS (SELECT 1 FROM json_each(memory, '$.paths') WHERE {pattern}){conditions}"  # noqa: S608 - fixed
        return self.rows(f"{where} ORDER BY changed DESC, id", (file, file, *values))

    def memories_without_vectors(self, limit: int) -> list[Memory]:
        """Memories of which some passage has no vector yet."""
        held = "SELECT passages.row FROM pending JOIN passages USING (key)"
        return [row.memory for row in self.rows(f"row IN ({held}) ORDER BY row", limit=limit) if row.memory]

    def one_state(self) -> AbstractContextManager[None]:
        """What is asked within sees one state of the index, whatever others write meanwhile."""
        return sqlite.snapshot(self._connection)

    @guarded
    def search_words(self, query: str, scope: "Scope", limit: int, telling: int | None = None) -> "TextMatches":
        """The best rows for any of the query's words, or of so many of them that are rarest."""
        from memem.search import fulltext

        with self.one_state():
            return fulltext.search(self._connection, query, limit, scope, telling)

    @guarded
    def read_matched(self, rows: Sequence[int], answer: "TextMatches", scope: "Scope") -> dict[int, MatchedNote]:
        """What rows hold, of those in the scope. A row stands for one version of a note: after a change it is gone."""
        from memem.search import fulltext

        with self.one_state():
            terms = fulltext.matched_terms(self._connection, rows, answer.terms)
            conditions, values = database.scope_conditions(scope)
            found: dict[int, MatchedNote] = {}
            for marks, some in sqlite.among(rows):
                query = _MATCHES.format(marks) + conditions
                for row, path, *stamp, memory in self._connection.execute(query, (*some, *values)):
                    found[row] = (path, cast(Stamp, tuple(stamp)), _memory(memory), tuple(terms[row]))
            return found

    @guarded
    def combine_matches(
        self, answer: "TextMatches", cosines: Mapping[int, float], scope: "Scope", held: Mapping[int, MatchedNote]
    ) -> "list[NoteMatch]":
        """What words or meaning have found, with all that is known of each, the one as of the other.

        `held` is what the rows that words have found hold; the others are read now.
        """
        from memem.search import fulltext
        from memem.search.query import NoteMatch

        with self.one_state():
            near = [row for row in cosines if row not in answer.scores]
            scores = dict.fromkeys(near, 0.0) | answer.scores | fulltext.scored(self._connection, answer.terms, near)
            known = {**held, **self.read_matched(near, answer, scope)}
        return [
            NoteMatch(path, stamp, memory, scores[row], terms, cosines.get(row))
            for row, (path, stamp, memory, terms) in known.items()
        ]

    @translating_errors
    def check(self) -> None:
        """Raise when the file is damaged, or when the words no longer belong to the notes."""
        from memem.search import fulltext

        problems = [line for (line,) in self._connection.execute("PRAGMA quick_check") if line != "ok"]
        if problems:
            raise sqlite3.DatabaseError(problems[0])
        fulltext.check(
            self._connection, "SELECT row FROM memories JOIN notes USING (row) WHERE status <> 'quarantined'"
        )

    def _stamp(self, path: str) -> Stamp | None:
        query = "SELECT mtime, ctime, size FROM notes WHERE path = ?"
        found: Stamp | None = self._connection.execute(query, (path,)).fetchone()
        return found

    def _remove(self, path: str) -> str:
        """Returns the id that the note had."""
        from memem.search import fulltext

        row, identity = (
            self._connection.execute("SELECT row, id FROM notes WHERE path = ?", (path,)).fetchone() or _NONE
        )
        if row is not None:
            fulltext.remove(self._connection, row)
            self.passages.remove(row)
            self._connection.execute("DELETE FROM memories WHERE row = ?", (row,))
            self._connection.execute("DELETE FROM notes WHERE row = ?", (row,))
        return identity or ""

    def _insert(self, row: NoteRow) -> None:
        from memem.search import fulltext

        memory = row.memory
        columns: dict[str, Any] = dict(zip(("mtime", "ctime", "size"), row.stamp, strict=True))
        columns |= {"path": row.path, "digest": row.digest}
        if memory is None:
            columns |= {"problem": row.problem}
        else:
            columns |= {name: getattr(memory, name) for name in ("id", "project", "kind", "layer", "status")}
            columns |= {"changed": row.changed, "fingerprint": row.fingerprint, "review": row.review or None}
            columns |= dict(zip(_SPANS, (*row.stated, *row.held), strict=True))
        statement = f"INSERT INTO notes ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
        number = int(self._connection.execute(statement, tuple(columns.values())).lastrowid or 0)
        if memory is None:
            return
        text = json.dumps({name: getattr(memory, name) for name in _FIELDS}, ensure_ascii=False)
        self._connection.execute("INSERT INTO memories VALUES (?, ?)", (number, text))
        if memory.status != "quarantined":  # that one is to be read by its id, never to be found
            fulltext.insert(self._connection, number, memory)
            self.passages.insert(number, memory)


_FIELDS = tuple(field.name for field in fields(Memory))
_MATCHES = "SELECT row, path, mtime, ctime, size, memory FROM notes JOIN memories USING (row) WHERE row IN ({})"
_NONE = (None, "")
_SPANS = ("valid_from", "valid_to", "since", "until")
_COLUMNS = f"path, mtime, ctime, size, digest, memory, fingerprint, changed, problem, review, {', '.join(_SPANS)}"


def _row(columns: tuple[Any, ...]) -> NoteRow:
    path, mtime, ctime, size, digest, memory, fingerprint, changed, problem, review, *spans = columns
    if not isinstance(path, str):
        raise sqlite3.DatabaseError("a path in it cannot be read")
    known = _memory(memory) if memory else None
    told = (fingerprint or "", changed or 0.0, problem or "", Span(*spans[:2]), Span(*spans[2:]), review or "")
    return NoteRow(path, (mtime, ctime, size), digest, known, *told)


def _memory(text: str) -> Memory:
    held: dict[str, Any] = sqlite.stored(text, dict)
    held |= {name: tuple(value) for name, value in held.items() if isinstance(value, list)}
    try:
        return Memory(**held)
    except TypeError:
        raise sqlite3.DatabaseError(sqlite.NOT_OURS) from None
