"""A note as passages that get a vector each, and which passages of the index have none yet."""

import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from memem.core import sqlite
from memem.core.memory import Memory
from memem.search import database
from memem.search.database import guarded
from memem.search.query import Scope

PASSAGE_SIZE = 120
"""In tokens, by a guess: about what the model was trained on, and half of what it reads."""
# Where a text may be parted, the best places first: after a paragraph, a line, a sentence, a word.
_PLACES = tuple(map(re.compile, (r"(?<=\n\n)", r"(?<=\n)", r"(?<=[.!?;])(?=\s)|(?<=[。！？；])", r"(?<=\s)")))


_MARKS = re.compile(r"[!-@\[-`{-~]")


def split_passages(memory: Memory) -> list[str]:
    """The texts of a memory, in order."""
    title = " ".join(memory.title.split())
    texts = [text if text.startswith(title) else f"{title}\n{text}" for text in _gathered(_pieces(memory.body))]
    return list(dict.fromkeys(texts)) or [title]


def passage_key(passage: str) -> bytes:
    """What a vector is filed under: the same text is never encoded twice."""
    import hashlib  # 4 ms, which a query that reads no note is spared

    return hashlib.blake2b(passage.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _pieces(text: str, depth: int = 0) -> Iterator[str]:
    """The text in pieces that are short enough, parted at the best places that make them so."""
    if _size(text) <= PASSAGE_SIZE:
        yield text
    elif depth < len(_PLACES):
        for part in _PLACES[depth].split(text):
            yield from _pieces(part, depth + 1)
    else:  # one endless word, or a script without spaces
        for start in range(0, len(text), PASSAGE_SIZE):
            yield text[start : start + PASSAGE_SIZE]


def _gathered(pieces: Iterable[str]) -> Iterator[str]:
    """Neighbours put together again while they are short enough together."""
    held, size = "", 0.0
    for piece in pieces:
        more = _size(piece)
        if held and size + more > PASSAGE_SIZE:
            yield from filter(None, [held.strip()])
            held, size = "", 0.0
        held, size = held + piece, size + more
    yield from filter(None, [held.strip()])


def _size(text: str) -> float:
    """How many tokens a text has, by a guess: four letters make one; so does each digit or mark, where there are many,
    as in code, and each character of another script."""
    plain = len(text.encode("ascii", "ignore"))
    return max(plain / 4, len(_MARKS.findall(text))) + len(text) - plain


def create_tables(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE passages (key BLOB, row INTEGER, PRIMARY KEY (key, row)) WITHOUT ROWID")
    connection.execute("CREATE INDEX passages_by_row ON passages (row)")
    connection.execute("CREATE TABLE pending (key BLOB PRIMARY KEY, looked_up INTEGER DEFAULT 0) WITHOUT ROWID")


class PassageRows:
    """The passages' tables in the index file."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def insert(self, row: int, memory: Memory) -> None:
        keys = list(map(passage_key, split_passages(memory)))
        self._connection.executemany("INSERT INTO passages VALUES (?, ?)", [(each, row) for each in keys])
        self._connection.executemany("INSERT OR IGNORE INTO pending (key) VALUES (?)", [(each,) for each in keys])

    def remove(self, row: int) -> None:
        alone = "SELECT 1 FROM passages AS other WHERE other.key = passages.key AND other.row <> passages.row"
        mine = f"SELECT key FROM passages WHERE row = ? AND NOT EXISTS ({alone})"  # noqa: S608 - fixed texts
        self._connection.execute(f"DELETE FROM pending WHERE key IN ({mine})", (row,))  # noqa: S608 - fixed texts
        self._connection.execute("DELETE FROM passages WHERE row = ?", (row,))

    @guarded
    def count(self) -> int:
        return int(self._connection.execute("SELECT count(DISTINCT key) FROM passages").fetchone()[0])

    @guarded
    def keys(self) -> set[bytes]:
        """Every passage that some note holds."""
        return {key for (key,) in self._connection.execute("SELECT DISTINCT key FROM passages")}

    @guarded
    def holders(self, keys: Sequence[bytes], scope: Scope) -> list[tuple[bytes, int]]:
        """Which rows in the scope hold the given passages."""
        conditions, values = database.scope_conditions(scope)
        # CROSS keeps SQLite from going through all notes of the scope instead of the few passages asked for.
        join = "CROSS JOIN notes USING (row)" if conditions else ""
        pairs: list[tuple[bytes, int]] = []
        for marks, some in sqlite.among(keys):
            query = f"SELECT key, row FROM passages {join} WHERE key IN ({marks}){conditions}"  # noqa: S608 - bound
            pairs += self._connection.execute(query, (*some, *values))
        return pairs

    @guarded
    def in_scope(self, scope: Scope) -> list[tuple[bytes, int]]:
        """All passages of the scope, with the rows that hold them."""
        conditions, values = database.scope_conditions(scope)
        query = f"SELECT key, row FROM notes CROSS JOIN passages USING (row) WHERE 1{conditions}"  # noqa: S608 - bound
        return self._connection.execute(query, values).fetchall()

    @guarded
    def of_rows(self, rows: Sequence[int]) -> list[tuple[bytes, int]]:
        """The passages of given rows."""
        pairs: list[tuple[bytes, int]] = []
        for marks, some in sqlite.among(rows):
            query = f"SELECT key, row FROM passages WHERE row IN ({marks})"  # noqa: S608 - bound
            pairs += self._connection.execute(query, some)
        return pairs

    @guarded
    def count_pending(self) -> int:
        """How many passages wait for a vector, or for somebody to look whether there is one."""
        return int(self._connection.execute("SELECT count(*) FROM pending").fetchone()[0])

    @guarded
    def store_id(self) -> str:
        """The id of the store of vectors that all of this is about."""
        return self._store()

    @guarded
    def reset_pending(self, store: str) -> None:
        """Nothing is known yet about the vectors of this store: the model is another, or they are new."""
        with sqlite.transaction(self._connection):
            self._connection.execute("INSERT OR REPLACE INTO pending (key) SELECT DISTINCT key FROM passages")
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('encoded_for', ?)", (store,))

    @guarded
    def unchecked(self) -> list[bytes]:
        """Those of which nobody has looked up yet whether there is a vector."""
        return [key for (key,) in self._connection.execute("SELECT key FROM pending WHERE NOT looked_up")]

    @guarded
    def mark(self, store: str, present: Collection[bytes], absent: Collection[bytes] = ()) -> None:
        """What was seen in a store; worth nothing when everything is about another one by now."""
        with sqlite.transaction(self._connection):
            if self._store() != store:
                return
            self._connection.executemany("DELETE FROM pending WHERE key = ?", [(each,) for each in present])
            self._connection.executemany("UPDATE pending SET looked_up = 1 WHERE key = ?", [(each,) for each in absent])

    def _store(self) -> str:
        found = self._connection.execute("SELECT value FROM meta WHERE key = 'encoded_for'").fetchone()
        return str(found[0]) if found else ""
