"""Split a note into passages that get a vector each, and track which passages of the index have none yet."""

import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from memem.core import sqlite
from memem.core.memory import Memory
from memem.search import database
from memem.search.database import guarded
from memem.search.query import Scope

PASSAGE_SIZE = 120  # estimated tokens: about what the model was trained on, and half of what it reads
# Where a text may be split, best first: after a paragraph, a line, a sentence, a word.
_BREAKS = tuple(map(re.compile, (r"(?<=\n\n)", r"(?<=\n)", r"(?<=[.!?;])(?=\s)|(?<=[。！？；])", r"(?<=\s)")))
_MARKS = re.compile(r"[!-@\[-`{-~]")


def split_passages(memory: Memory) -> list[str]:
    title = " ".join(memory.title.split())
    texts = [text if text.startswith(title) else f"{title}\n{text}" for text in _join_short(_split(memory.body))]
    return list(dict.fromkeys(texts)) or [title]


def passage_key(passage: str) -> bytes:
    """Hash a passage: a vector is stored under it, so that the same text is encoded once."""
    import hashlib  # 4 ms, which a query that reads no note does not need

    return hashlib.blake2b(passage.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _split(text: str, depth: int = 0) -> Iterator[str]:
    if _estimate_tokens(text) <= PASSAGE_SIZE:
        yield text
    elif depth < len(_BREAKS):
        for part in _BREAKS[depth].split(text):
            yield from _split(part, depth + 1)
    else:  # one endless word, or a script without spaces
        for start in range(0, len(text), PASSAGE_SIZE):
            yield text[start : start + PASSAGE_SIZE]


def _join_short(pieces: Iterable[str]) -> Iterator[str]:
    joined, size = "", 0.0
    for piece in pieces:
        tokens = _estimate_tokens(piece)
        if joined and size + tokens > PASSAGE_SIZE:
            yield from filter(None, [joined.strip()])
            joined, size = "", 0.0
        joined, size = joined + piece, size + tokens
    yield from filter(None, [joined.strip()])


def _estimate_tokens(text: str) -> float:
    """Count four letters as a token, or each digit and mark if these are more, and each non-ASCII character."""
    plain = len(text.encode("ascii", "ignore"))
    return max(plain / 4, len(_MARKS.findall(text))) + len(text) - plain


class PassageRows:
    """The tables `passages` and `pending` (without a vector in the store `store_id`, or not looked up there yet)."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def insert(self, row: int, memory: Memory) -> None:
        keys = list(map(passage_key, split_passages(memory)))
        self._connection.executemany("INSERT INTO passages VALUES (?, ?)", [(key, row) for key in keys])
        self._connection.executemany("INSERT OR IGNORE INTO pending (key) VALUES (?)", [(key,) for key in keys])

    def remove(self, row: int) -> None:
        shared = "SELECT 1 FROM passages AS other WHERE other.key = passages.key AND other.row <> passages.row"
        own = f"SELECT key FROM passages WHERE row = ? AND NOT EXISTS ({shared})"  # noqa: S608 - fixed texts
        self._connection.execute(f"DELETE FROM pending WHERE key IN ({own})", (row,))  # noqa: S608 - fixed texts
        self._connection.execute("DELETE FROM passages WHERE row = ?", (row,))

    @guarded
    def count(self) -> int:
        return int(self._connection.execute("SELECT count(DISTINCT key) FROM passages").fetchone()[0])

    @guarded
    def keys(self) -> set[bytes]:
        return {key for (key,) in self._connection.execute("SELECT DISTINCT key FROM passages")}

    @guarded
    def holders(self, keys: Sequence[bytes], scope: Scope) -> list[tuple[bytes, int]]:
        conditions, values = database.scope_conditions(scope)
        # CROSS makes SQLite start from the few passages instead of all notes of the scope.
        join = "CROSS JOIN notes USING (row)" if conditions else ""
        pairs: list[tuple[bytes, int]] = []
        for marks, some in sqlite.split_values(keys):
            query = f"SELECT key, row FROM passages {join} WHERE key IN ({marks}){conditions}"  # noqa: S608 - bound
            pairs += self._connection.execute(query, (*some, *values))
        return pairs

    @guarded
    def in_scope(self, scope: Scope) -> list[tuple[bytes, int]]:
        conditions, values = database.scope_conditions(scope)
        query = f"SELECT key, row FROM notes CROSS JOIN passages USING (row) WHERE 1{conditions}"  # noqa: S608 - bound
        return self._connection.execute(query, values).fetchall()

    @guarded
    def of_rows(self, rows: Sequence[int]) -> list[tuple[bytes, int]]:
        pairs: list[tuple[bytes, int]] = []
        for marks, some in sqlite.split_values(rows):
            query = f"SELECT key, row FROM passages WHERE row IN ({marks})"  # noqa: S608 - bound
            pairs += self._connection.execute(query, some)
        return pairs

    @guarded
    def count_pending(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM pending").fetchone()[0])

    @guarded
    def store_id(self) -> str:
        stored = self._connection.execute("SELECT value FROM meta WHERE key = 'encoded_for'").fetchone()
        return str(stored[0]) if stored else ""

    @guarded
    def reset_pending(self, store_id: str) -> None:
        with sqlite.transaction(self._connection):
            self._connection.execute("INSERT OR REPLACE INTO pending (key) SELECT DISTINCT key FROM passages")
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('encoded_for', ?)", (store_id,))

    @guarded
    def unchecked(self) -> list[bytes]:
        return [key for (key,) in self._connection.execute("SELECT key FROM pending WHERE NOT looked_up")]

    @guarded
    def mark(self, store_id: str, present: Collection[bytes], absent: Collection[bytes] = ()) -> None:
        """Record which passages a store has; ignored if the index uses another store by now."""
        with sqlite.transaction(self._connection):
            if self.store_id() != store_id:
                return
            self._connection.executemany("DELETE FROM pending WHERE key = ?", [(key,) for key in present])
            self._connection.executemany("UPDATE pending SET looked_up = 1 WHERE key = ?", [(key,) for key in absent])
