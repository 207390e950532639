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
from memem.search.database import MIGRATIONS, guarded, translating_errors
from memem.search.graph.edges import EdgeRows
from memem.search.passages import PassageRows
from memem.search.query import NoteMatch, Scope, Term, is_mostly_ascii

if TYPE_CHECKING:
    from memem.search.fulltext import FullText, TextMatches


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note as the index has it; `memory` is None and `problem` says why when it could not be read."""

    path: str
    stamp: Stamp
    digest: str
    memory: Memory | None
    fingerprint: str = ""
    changed: float = 0.0  # seconds since the epoch
    problem: str = ""
    stated: Span = ALWAYS  # when it is valid by its own properties
    held: Span = ALWAYS  # when it was held true
    review: str = ""  # of a note that reads like an instruction to the model: waiting, accepted or rejected


MatchedNote = tuple[str, Stamp, Memory, tuple[Term, ...]]  # path, stamp, memory, and the query's terms in it
_FIELDS = tuple(field.name for field in fields(Memory))
_SPANS = ("valid_from", "valid_to", "since", "until")
SAID = "coalesce(since, changed)"  # when a memory was said: `valid_from`, else its creation
_COLUMNS = f"path, mtime, ctime, size, digest, memory, fingerprint, changed, problem, review, {', '.join(_SPANS)}"


class NoteIndex:
    """`index.db`. Reading takes no lock; writing is SQLite's own transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = database.connect(path, MIGRATIONS)
        self.passages = PassageRows(path, self._connection)
        self.edges = EdgeRows(path, self._connection)
        self._file = files.identity(path)

    @property
    def _text(self) -> "FullText":
        from memem.search import fulltext  # not needed at session start

        return fulltext.NOTES

    def close(self) -> None:
        self._connection.close()

    def is_current(self) -> bool:
        return self._file == files.identity(self.path)

    @guarded
    def meta(self, key: str) -> str:
        stored = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(stored[0]) if stored else ""

    @guarded
    def set_meta(self, key: str, value: str) -> None:
        if self.meta(key) != value:
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @guarded
    def reset_for(self, key: str) -> None:
        """Empty the index to be filled for `key`, unless its rows are already for that."""
        with sqlite.transaction(self._connection):
            if self.meta("filled_for") == key:
                return
            for table in ("notes", "memories", "words", "passages", "pending", "edges", "meta"):
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - fixed names
            self._connection.execute("INSERT INTO meta VALUES ('filled_for', ?)", (key,))

    @guarded
    def stamps(self) -> dict[str, tuple[Stamp, str]]:
        rows = self._connection.execute("SELECT path, mtime, ctime, size, digest FROM notes")
        return {path: ((mtime, ctime, size), digest) for path, mtime, ctime, size, digest in rows}

    @guarded
    def update(
        self, changed: Sequence[NoteRow], gone: Sequence[str] = (), lost: Mapping[str, Stamp] | None = None
    ) -> None:
        """Replace rows in one transaction. A path that a scan `lost` is removed only if its stamp is still the same."""
        if not changed and not gone and not lost:
            return
        with sqlite.transaction(self._connection):
            query = "SELECT 1 FROM notes WHERE path = ? AND mtime = ? AND ctime = ? AND size = ?"
            stamps = [(path, *stamp) for path, stamp in (lost or {}).items()]
            unchanged = [stamp[0] for stamp in stamps if self._connection.execute(query, stamp).fetchone()]
            ids = {self._remove(path) for path in (*unchanged, *gone)}
            for row in changed:
                ids.add(self._remove(row.path))
                self._insert(row)
            self.edges.drop(ids)

    @guarded
    def restamp(self, rows: Sequence[NoteRow]) -> None:
        if rows:
            statement = "UPDATE notes SET mtime = ?, ctime = ?, size = ? WHERE path = ?"
            with sqlite.transaction(self._connection):
                self._connection.executemany(statement, [(*row.stamp, row.path) for row in rows])

    @guarded
    def count(self) -> int:
        return self._text.count(self._connection)

    @guarded
    def count_unreadable_scripts(self) -> int:
        """Count the memories that an encoder for Latin letters does not read."""
        # Only texts that are not ASCII are looked into: most vaults have few.
        query = """SELECT json_extract(memory, '$.body') FROM memories JOIN notes USING (row)
            WHERE length(CAST(memory AS BLOB)) > length(memory) AND status <> 'quarantined'"""
        return sum(not is_mostly_ascii(body) for (body,) in self._connection.execute(query))

    @guarded
    def rows(self, where: str = "1", values: Sequence[Any] = (), limit: int = -1) -> list[NoteRow]:
        """Read rows by a condition written by the caller's code, never by a user."""
        query = f"SELECT {_COLUMNS} FROM notes LEFT JOIN memories USING (row) WHERE {where} LIMIT ?"  # noqa: S608
        return [_row(columns) for columns in self._connection.execute(query, (*values, limit))]

    @guarded
    def count_where(self, where: str, values: Sequence[Any] = ()) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM notes WHERE {where}", values).fetchone()[0])  # noqa: S608

    @guarded
    def projects(self, now: float) -> list[tuple[str, int, int, float, int]]:
        """List each project's name, number of notes, number in force, last change and highest row."""
        in_force = "status = 'active' AND layer < 3 AND (until IS NULL OR until > ?)"
        query = f"""SELECT project, count(*), count(CASE WHEN {in_force} THEN 1 END), max(changed), max(row) FROM notes
            WHERE problem IS NULL GROUP BY project ORDER BY project"""  # noqa: S608 - fixed
        return self._connection.execute(query, (now,)).fetchall()

    def by_id(self, prefix: str) -> list[NoteRow]:
        exact = self.rows("id = ? ORDER BY path", (prefix,))
        return exact or self.rows("id >= ? AND id < ? ORDER BY id, path", (prefix, prefix + "\x7f"))

    def by_fingerprint(self, fingerprint: str) -> list[NoteRow]:
        return self.rows("fingerprint = ? ORDER BY path", (fingerprint,))

    def by_name(self, name: str) -> list[NoteRow]:
        end = f"/{name}.md"
        return self.rows("problem IS NULL AND substr('/' || path, -?) = ? ORDER BY path", (len(end), end))

    def by_path(self, path: str) -> NoteRow | None:
        return next(iter(self.rows("path = ?", (path,))), None)

    def by_path_pattern(self, file: str, scope: Scope) -> list[NoteRow]:
        conditions, values = database.scope_conditions(scope)
        pattern = "? = value OR ? GLOB replace(value, '[!', '[^')"
        where = f"EXISTS (SELECT 1 FROM json_each(memory, '$.paths') WHERE {pattern}){conditions}"  # noqa: S608 - fixed
        return self.rows(f"{where} ORDER BY changed DESC, id", (file, file, *values))

    def memories_without_vectors(self, limit: int) -> list[Memory]:
        pending = "SELECT passages.row FROM pending JOIN passages USING (key)"
        return [row.memory for row in self.rows(f"row IN ({pending}) ORDER BY row", limit=limit) if row.memory]

    def snapshot(self) -> AbstractContextManager[None]:
        return sqlite.transaction(self._connection, writes=False)

    @guarded
    def search_words(self, query: str, scope: Scope, limit: int, max_terms: int | None = None) -> "TextMatches":
        from memem.search.fulltext import RowFilter

        conditions, values = database.scope_conditions(scope)
        join = "JOIN notes ON notes.row = words.rowid" if conditions else ""
        with self.snapshot():
            return self._text.search(self._connection, query, limit, RowFilter(join, conditions, values), max_terms)

    @guarded
    def read_matched(self, rows: Sequence[int], by_words: "TextMatches", scope: Scope) -> dict[int, MatchedNote]:
        """Read those of the rows that are in the scope. A changed note has another row, so an old row is missing."""
        conditions, values = database.scope_conditions(scope)
        notes: dict[int, MatchedNote] = {}
        with self.snapshot():
            terms = self._text.matched_terms(self._connection, rows, by_words.terms)
            for marks, some in sqlite.split_values(rows):
                query = f"""SELECT row, path, mtime, ctime, size, memory FROM notes JOIN memories USING (row)
                    WHERE row IN ({marks}){conditions}"""  # noqa: S608 - bound
                for row, path, *stamp, memory in self._connection.execute(query, (*some, *values)):
                    notes[row] = (path, cast(Stamp, tuple(stamp)), _memory(memory), tuple(terms[row]))
        return notes

    @guarded
    def combine_matches(
        self, by_words: "TextMatches", cosines: Mapping[int, float], scope: Scope, matched: Mapping[int, MatchedNote]
    ) -> list[NoteMatch]:
        with self.snapshot():
            by_meaning = [row for row in cosines if row not in by_words.scores]
            bm25 = self._text.score_rows(self._connection, by_words.terms, by_meaning)
            scores = dict.fromkeys(by_meaning, 0.0) | by_words.scores | bm25
            notes = {**matched, **self.read_matched(by_meaning, by_words, scope)}
        return [
            NoteMatch(path, stamp, memory, scores[row], terms, cosines.get(row))
            for row, (path, stamp, memory, terms) in notes.items()
        ]

    @translating_errors
    def check(self) -> None:
        database.check_integrity(self._connection)
        rows = "SELECT row FROM memories JOIN notes USING (row) WHERE status <> 'quarantined'"
        self._text.check_words(self._connection, rows)

    def _remove(self, path: str) -> str:
        query = "SELECT row, ifnull(id, '') FROM notes WHERE path = ?"
        indexed = self._connection.execute(query, (path,)).fetchone()
        if indexed is None:
            return ""
        row, identity = indexed
        self._text.remove(self._connection, row)
        self.passages.remove(row)
        self._connection.execute("DELETE FROM memories WHERE row = ?", (row,))
        self._connection.execute("DELETE FROM notes WHERE row = ?", (row,))
        return str(identity)

    def _insert(self, row: NoteRow) -> None:
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
        if memory.status != "quarantined":  # a quarantined note can be read by its id, never found
            keys = " ".join((*memory.keys, *memory.tags, *memory.paths, memory.project))
            self._text.insert(self._connection, number, (memory.title, keys, memory.body))
            self.passages.insert(number, memory)


def _row(columns: tuple[Any, ...]) -> NoteRow:
    path, mtime, ctime, size, digest, memory, fingerprint, changed, problem, review, *spans = columns
    if not isinstance(path, str):
        raise sqlite3.DatabaseError("a path in it cannot be read")
    rest = (fingerprint or "", changed or 0.0, problem or "", Span(*spans[:2]), Span(*spans[2:]), review or "")
    return NoteRow(path, (mtime, ctime, size), digest, _memory(memory) if memory else None, *rest)


def _memory(text: str) -> Memory:
    values: dict[str, Any] = sqlite.parse_column(text, dict)
    values |= {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    try:
        return Memory(**values)
    except TypeError:
        raise sqlite3.DatabaseError(sqlite.NOT_OURS) from None
