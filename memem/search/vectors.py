"""The vectors of passages: float32 rows in a memory-mapped file, valid once a small database says whose they are."""

import mmap
import os
import re
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memem.core import files, sqlite
from memem.core.errors import HomeError, IndexDamaged
from memem.search import database
from memem.search.database import guarded, translating_errors
from memem.search.encoders.interface import Vectors
from memem.search.passages import PassageRows
from memem.search.query import Scope

DTYPE = np.dtype("<f4")
WASTE = 0.25  # the share of unused rows from which a file is compacted
MIN_WASTED_ROWS = 256
FIRST_LOOK, LOOK_GROWS, DEEPEST_LOOK = 64, 4, 4_096  # how many of the best passages are matched to notes at a time
_MAX_READ_ATTEMPTS = 5


def _create_tables(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    connection.execute("CREATE TABLE slots (slot INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE)")


MIGRATIONS: sqlite.Migrations = (_create_tables,)


def folder_name(identity: str, dimensions: int) -> str:
    model = re.sub(r"[^\w.-]+", "-", identity.split(maxsplit=1)[0].rpartition("/")[2])[-60:].lstrip("-.")
    return f"{model}-{zlib.crc32(identity.encode()):08x}-{dimensions}-{DTYPE.name}"


@dataclass(frozen=True, slots=True)
class View:
    """The vectors as of one commit: row n belongs to the passage of slot n."""

    rows: Vectors
    _connection: sqlite3.Connection

    def keys(self, slots: Sequence[int]) -> dict[bytes, int]:
        return self._pairs("slot", slots)

    def slots(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        return self._pairs("key", keys)

    def _pairs(self, column: str, values: Sequence[int] | Sequence[bytes]) -> dict[bytes, int]:
        pairs: dict[bytes, int] = {}
        for marks, some in sqlite.split_values(values):
            query = f"SELECT key, slot FROM slots WHERE {column} IN ({marks})"  # noqa: S608 - bound
            pairs.update(self._connection.execute(query, some))
        return pairs


class VectorStore:
    def __init__(self, folder: Path, identity: str, dimensions: int, *, fsync: bool) -> None:
        self.folder = folder
        self.path = folder / "vectors.db"
        self.dimensions = dimensions
        self._fsync = fsync
        self._row_bytes = dimensions * DTYPE.itemsize
        self._connection = database.connect(self.path, MIGRATIONS)
        self._opened = files.identity(self.path)
        self._mapped: tuple[str, Vectors] = ("", np.empty((0, dimensions), DTYPE))
        try:
            self._initialise({"identity": identity, "dimensions": str(dimensions), "dtype": DTYPE.str})
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        self._connection.close()
        self._mapped = ("", np.empty((0, self.dimensions), DTYPE))

    def is_current(self) -> bool:
        return self._opened == files.identity(self.path)

    @property
    @guarded
    def id(self) -> str:
        """The name of this set of vectors; it changes when they are deleted or compacted."""
        return self._meta("id")

    @guarded
    def count(self) -> int:
        return int(self._connection.execute("SELECT ifnull(max(slot), -1) + 1 FROM slots").fetchone()[0])

    @guarded
    def record_multilingual(self, *, multilingual: bool) -> None:
        if self._meta("multilingual") != str(int(multilingual)):
            self._set_meta("multilingual", str(int(multilingual)))

    @contextmanager
    def reading(self) -> Iterator[View]:
        with database.translated(self.path):
            for attempt in range(_MAX_READ_ATTEMPTS):
                with sqlite.transaction(self._connection, writes=False):
                    try:
                        view = View(self._rows(), self._connection)
                    except FileNotFoundError:  # compacted since the database was read
                        if attempt == _MAX_READ_ATTEMPTS - 1:
                            raise sqlite3.DatabaseError("the rows are gone") from None
                        continue
                    yield view
                    return

    @guarded
    def add(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        with sqlite.transaction(self._connection):
            existing = View(vectors, self._connection).slots(keys)
            fresh = {key: number for number, key in enumerate(keys) if key not in existing}
            first = self.count()
            rows = np.ascontiguousarray(vectors[list(fresh.values())], DTYPE)
            self._write(self._file(self._meta("id")), first * self._row_bytes, rows)
            slots = [(first + offset, key) for offset, key in enumerate(fresh)]
            self._connection.executemany("INSERT INTO slots VALUES (?, ?)", slots)

    @guarded
    def compact(self, used: Collection[bytes], *, even_few: bool = False) -> bool:
        """Drop unused rows if there are many, or `even_few`; return whether any were dropped."""
        with sqlite.transaction(self._connection):
            slots = self._connection.execute("SELECT slot, key FROM slots ORDER BY slot").fetchall()
            remaining = [(slot, key) for slot, key in slots if key in used]
            if len(slots) - len(remaining) < (1 if even_few else max(MIN_WASTED_ROWS, WASTE * len(slots))):
                return False
            # A new id: a vector that an index has looked up may be gone now.
            fresh = os.urandom(16).hex()
            self._write(self._file(fresh), 0, self._rows()[[slot for slot, _ in remaining]])
            self._connection.execute("DELETE FROM slots")
            renumbered = [(slot, key) for slot, (_, key) in enumerate(remaining)]
            self._connection.executemany("INSERT INTO slots VALUES (?, ?)", renumbered)
            self._set_meta("id", fresh)
        self._remove_other_rows(fresh)
        return True

    @translating_errors
    def check(self) -> None:
        """Raise when the database is damaged or a row is not a vector of length one."""
        database.check_integrity(self._connection)
        with sqlite.transaction(self._connection, writes=False):
            try:
                rows = self._rows()
            except FileNotFoundError:
                raise sqlite3.DatabaseError("the rows are gone") from None
        if len(rows) and not np.allclose(np.einsum("ij,ij->i", rows, rows), 1, atol=1e-3):
            raise sqlite3.DatabaseError("a row is not a vector")

    def _remove_other_rows(self, identity: str) -> None:
        for path in self.folder.glob("rows-*.f32"):
            if path != self._file(identity):
                files.remove_quietly(path)

    def _initialise(self, described: dict[str, str]) -> None:
        with database.translated(self.path):
            if not self._meta("id"):  # checked first, since a reader waits for no writer
                with sqlite.transaction(self._connection):
                    if not self._meta("id"):
                        for name, value in {**described, "id": os.urandom(16).hex()}.items():
                            self._set_meta(name, value)
                        self._remove_other_rows(self._meta("id"))
            if {name: self._meta(name) for name in described} != described:
                raise IndexDamaged(f"The vectors in {self.folder} belong to another model. Run `memem index rebuild`.")

    def _meta(self, key: str) -> str:
        stored = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(stored[0]) if stored else ""

    def _set_meta(self, key: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _file(self, identity: str) -> Path:
        # Named after the store: a process that still has a deleted store open never writes into the rows of another.
        return self.folder / f"rows-{identity}.f32"

    def _rows(self) -> Vectors:
        identity, count = self._meta("id"), self.count()
        if not count:
            return np.empty((0, self.dimensions), DTYPE)
        if self._mapped[0] != identity or len(self._mapped[1]) != count:
            path = self._file(identity)
            with path.open("rb") as file:
                try:
                    data = mmap.mmap(file.fileno(), count * self._row_bytes, access=mmap.ACCESS_READ)
                except ValueError:
                    raise sqlite3.DatabaseError(f"{path.name} is shorter than it should be") from None
            self._mapped = (identity, np.frombuffer(data, DTYPE).reshape(count, self.dimensions))
        return self._mapped[1]

    def _write(self, path: Path, offset: int, rows: Vectors) -> None:
        try:
            files.write_at(path, offset, rows.data.cast("B") if len(rows) else b"", fsync=self._fsync)
        except OSError as error:
            raise HomeError(f"Cannot write {path}: {files.reason(error)}.") from None


@dataclass(frozen=True, slots=True)
class VectorFolder:
    """The description stored with a folder of vectors; `multilingual` is None when it is not recorded."""

    folder: Path
    id: str
    identity: str
    dimensions: int
    multilingual: bool | None

    def open(self, *, fsync: bool = False) -> VectorStore:
        return VectorStore(self.folder, self.identity, self.dimensions, fsync=fsync)


def describe_folder(folder: Path) -> VectorFolder | None:
    """Read the description of a folder; None when it holds no vectors. This counts as a use of the folder."""
    path = folder / "vectors.db"
    with database.translated(path), closing(database.connect(path, MIGRATIONS)) as connection:
        meta = dict(connection.execute("SELECT key, value FROM meta"))
    if not meta.get("identity"):
        return None
    multilingual = bool(int(meta["multilingual"])) if "multilingual" in meta else None
    return VectorFolder(folder, meta["id"], meta["identity"], int(meta.get("dimensions", 0)), multilingual)


def check_folder(folder: Path) -> None:
    if described := describe_folder(folder):
        with closing(described.open()) as store:
            store.check()


def find_closest(
    passages: PassageRows, view: View, vector: Vectors, scope: Scope, limit: int, also: Collection[int]
) -> dict[int, float]:
    scores = view.rows @ vector
    if not len(scores):
        return {}
    depth = min(DEEPEST_LOOK, len(scores))
    best = np.argpartition(-scores, depth - 1)[:depth]
    slots = best[np.argsort(-scores[best], kind="stable")].tolist()
    cosines: dict[int, float] = {}
    start, size = 0, FIRST_LOOK
    while start < depth and len(cosines) < limit:
        keys = view.keys(slots[start : start + size])
        pairs = passages.holders(list(keys), scope)
        cosines = _highest((row, float(scores[keys[key]])) for key, row in pairs) | cosines
        start, size = start + size, size * LOOK_GROWS
    cosines = _top(cosines, limit)
    if len(cosines) < limit and len(scores) > DEEPEST_LOOK:  # a scope this small is faster to score as a whole
        cosines = _top(_score(view, scores, passages.in_scope(scope)), limit)
    return cosines | _score(view, scores, passages.of_rows([row for row in also if row not in cosines]))


def _score(view: View, scores: Vectors, pairs: list[tuple[bytes, int]]) -> dict[int, float]:
    slots = view.slots([key for key, _ in pairs])
    return _highest((row, float(scores[slots[key]])) for key, row in pairs if key in slots)


def _highest(pairs: Iterable[tuple[int, float]]) -> dict[int, float]:
    highest: dict[int, float] = {}
    for row, cosine in pairs:
        highest[row] = max(cosine, highest.get(row, -2.0))
    return highest


def _top(cosines: dict[int, float], limit: int) -> dict[int, float]:
    return dict(sorted(cosines.items(), key=lambda pair: (-pair[1], pair[0]))[:limit])
