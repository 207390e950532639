"""The vectors of passages: float32 rows in a file that is memory-mapped, and a small database that says whose they are.

Rows are appended behind those that count, and count from the moment the database commits them: what a crash leaves
behind the last of them is overwritten by the next writer and never read. A reader sees the rows of one commit, whatever
is written meanwhile. Compaction writes a new file, then commits to it; a reader keeps the old one for as long as it
has it open. Everything here can be deleted at any time, and is computed again from the notes.
"""

import mmap
import os
import re
import sqlite3
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memem.core import files, sqlite
from memem.core.errors import HomeError, IndexDamaged
from memem.search import database
from memem.search.database import guarded, translating_errors
from memem.search.encoders.interface import Vectors

DTYPE = np.dtype("<f4")
WASTE = 0.25
"""The share of rows that nobody holds any more at which a file is written anew."""
MIN_WASTED_ROWS = 256
_LOOKS = 5


def _first_tables(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    connection.execute("CREATE TABLE slots (slot INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE)")


MIGRATIONS: sqlite.Migrations = (_first_tables,)


def folder_name(identity: str, dimensions: int) -> str:
    """A name for the vectors of one model and no other, readable as far as it can be."""
    return f"{_readable(identity)}-{zlib.crc32(identity.encode()):08x}-{dimensions}-{DTYPE.name}"


def find_folders(model: str, root: Path) -> list[Path]:
    """The folders that may hold vectors of a model, whichever weights it had, the last used first."""
    found = root.glob(f"{_readable(model)}-{'[0-9a-f]' * 8}-*-{DTYPE.name}")
    return sorted(found, key=lambda folder: folder.stat().st_mtime, reverse=True)


def _readable(identity: str) -> str:
    return re.sub(r"[^\w.-]+", "-", identity.split(maxsplit=1)[0].rpartition("/")[2])[-60:].lstrip("-.")


@dataclass(frozen=True, slots=True)
class View:
    """The vectors as of one commit: row n belongs to the passage of slot n."""

    rows: Vectors
    _connection: sqlite3.Connection

    def keys(self, slots: Sequence[int]) -> dict[bytes, int]:
        """The passages of these slots."""
        return self._pairs("slot", slots)

    def slots(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """Where the vectors of these passages are: of those that have one."""
        return self._pairs("key", keys)

    def _pairs(self, column: str, values: Sequence[int] | Sequence[bytes]) -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        for marks, some in sqlite.among(values):
            query = f"SELECT key, slot FROM slots WHERE {column} IN ({marks})"  # noqa: S608 - bound
            found.update(self._connection.execute(query, some))
        return found


class VectorStore:
    """The vectors of one model. Those of another never come near them: they have a folder of their own."""

    def __init__(self, folder: Path, identity: str, dimensions: int, *, fsync: bool) -> None:
        self.folder = folder
        self.path = folder / "vectors.db"
        self.dimensions = dimensions
        self._fsync = fsync
        self._connection = database.connect(self.path, MIGRATIONS)
        self._opened = files.identity(self.path)
        self._mapped: tuple[str, Vectors] = ("", np.empty((0, dimensions), DTYPE))
        try:
            self._begin({"identity": identity, "dimensions": str(dimensions), "dtype": DTYPE.str})
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        self._connection.close()
        self._mapped = ("", np.empty((0, self.dimensions), DTYPE))

    def is_current(self) -> bool:
        """Whether this is still the file at its path, and not one that was deleted."""
        return self._opened == files.identity(self.path)

    @property
    @guarded
    def id(self) -> str:
        """Names this very set of vectors: after a deletion, and after a compaction, they have another one."""
        return self._meta("id")

    @guarded
    def count(self) -> int:
        return self._count()

    @guarded
    def record_multilingual(self, *, multilingual: bool) -> None:
        """Write down whether the model reads other scripts, for those who do not load it."""
        told = str(int(multilingual))
        if self._meta("multilingual") != told:
            self._set_meta("multilingual", told)

    @contextmanager
    def reading(self) -> Iterator[View]:
        """One consistent view, for as long as the block lasts."""
        with database.translated(self.path):
            for look in range(_LOOKS):
                with sqlite.snapshot(self._connection):
                    try:
                        view = View(self._rows(), self._connection)
                    except FileNotFoundError:
                        # Written anew between the look at the database and the look at the file: look again.
                        if look == _LOOKS - 1:
                            raise sqlite3.DatabaseError("the rows are gone") from None
                        continue
                    yield view
                    return

    @guarded
    def add(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep vectors; those that are known already stay as they are."""
        with sqlite.transaction(self._connection):
            known = View(vectors, self._connection).slots(keys)
            fresh = {key: number for number, key in enumerate(keys) if key not in known}
            first = self._count()
            rows = np.ascontiguousarray(vectors[list(fresh.values())], DTYPE)
            self._write(self._file(self._meta("id")), first * self._row_bytes, rows)
            slots = [(first + offset, key) for offset, key in enumerate(fresh)]
            self._connection.executemany("INSERT INTO slots VALUES (?, ?)", slots)

    @guarded
    def compact(self, held: Collection[bytes], *, even_few: bool = False) -> bool:
        """Drop the rows that nobody holds, when they are many, or `even_few`; says whether it did."""
        with sqlite.transaction(self._connection):
            slots = self._connection.execute("SELECT slot, key FROM slots ORDER BY slot").fetchall()
            kept = [(slot, key) for slot, key in slots if key in held]
            if len(slots) - len(kept) < (1 if even_few else max(MIN_WASTED_ROWS, WASTE * len(slots))):
                return False
            # Another id: what was looked up before may be gone now, dropped while its note was being written.
            fresh = os.urandom(16).hex()
            self._write(self._file(fresh), 0, self._rows()[[slot for slot, _ in kept]])
            self._connection.execute("DELETE FROM slots")
            renumbered = [(slot, key) for slot, (_, key) in enumerate(kept)]
            self._connection.executemany("INSERT INTO slots VALUES (?, ?)", renumbered)
            self._set_meta("id", fresh)
        self._drop_rows_but(fresh)
        return True

    @translating_errors
    def check(self) -> None:
        """Raise when the database or a row is damaged: every row is a vector of length one."""
        problems = [line for (line,) in self._connection.execute("PRAGMA quick_check") if line != "ok"]
        if problems:
            raise sqlite3.DatabaseError(problems[0])
        with sqlite.snapshot(self._connection):
            try:
                rows = self._rows()
            except FileNotFoundError:
                raise sqlite3.DatabaseError("the rows are gone") from None
        if len(rows) and not np.allclose(np.einsum("ij,ij->i", rows, rows), 1, atol=1e-3):
            raise sqlite3.DatabaseError("a row is not a vector")

    @property
    def _row_bytes(self) -> int:
        return self.dimensions * DTYPE.itemsize

    def _drop_rows_but(self, identity: str) -> None:
        """Those of the store before, and what killed or misled writers left, or a database that was set aside."""
        for path in self.folder.glob("rows-*.f32"):
            if path != self._file(identity):
                files.remove_quietly(path)

    def _begin(self, described: dict[str, str]) -> None:
        with database.translated(self.path):
            if not self._meta("id"):  # a reader waits for no writer
                with sqlite.transaction(self._connection):
                    if not self._meta("id"):
                        for name, value in {**described, "id": os.urandom(16).hex()}.items():
                            self._set_meta(name, value)
                        self._drop_rows_but(self._meta("id"))
            if {name: self._meta(name) for name in described} != described:
                raise IndexDamaged(f"The vectors in {self.folder} are of another model. Run `memem index rebuild`.")

    def _meta(self, key: str) -> str:
        found = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(found[0]) if found else ""

    def _set_meta(self, key: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _count(self) -> int:
        return int(self._connection.execute("SELECT ifnull(max(slot), -1) + 1 FROM slots").fetchone()[0])

    def _file(self, identity: str) -> Path:
        """Named after the store, so that whoever has a deleted one still open never writes into another's rows."""
        return self.folder / f"rows-{identity}.f32"

    def _rows(self) -> Vectors:
        """The rows that count, mapped into memory; mapped again only when there are others."""
        identity, count = self._meta("id"), self._count()
        if self._mapped[0] != identity or len(self._mapped[1]) != count:
            self._mapped = (identity, self._map(self._file(identity), count))
        return self._mapped[1]

    def _map(self, path: Path, count: int) -> Vectors:
        if not count:
            return np.empty((0, self.dimensions), DTYPE)
        with path.open("rb") as file:
            try:
                data = mmap.mmap(file.fileno(), count * self._row_bytes, access=mmap.ACCESS_READ)
            except ValueError:
                raise sqlite3.DatabaseError(f"{path.name} is shorter than it should be") from None
        return np.frombuffer(data, DTYPE).reshape(count, self.dimensions)

    def _write(self, path: Path, offset: int, rows: Vectors) -> None:
        try:
            files.write_at(path, offset, rows.data.cast("B") if len(rows) else b"", fsync=self._fsync)
        except OSError as error:
            raise HomeError(f"Cannot write {path}: {files.reason(error)}.") from None


@dataclass(frozen=True, slots=True)
class VectorFolder:
    """What a folder of vectors says of itself. `multilingual` is None when nobody has written it down yet."""

    folder: Path
    id: str
    identity: str
    dimensions: int
    multilingual: bool | None

    def open(self, *, fsync: bool = False) -> VectorStore:
        """These vectors, without the model they are of."""
        return VectorStore(self.folder, self.identity, self.dimensions, fsync=fsync)


def describe_folder(folder: Path) -> VectorFolder | None:
    """Whose vectors are in a folder; None when nobody has put any there. To look at them is to have used them."""
    path = folder / "vectors.db"
    with database.translated(path), closing(database.connect(path, MIGRATIONS)) as connection:
        told = dict(connection.execute("SELECT key, value FROM meta"))
    if not told.get("identity"):
        return None
    multilingual = bool(int(told["multilingual"])) if "multilingual" in told else None
    return VectorFolder(folder, told["id"], told["identity"], int(told.get("dimensions", 0)), multilingual)


def check_folder(folder: Path) -> None:
    """Raise when the vectors in a folder are damaged, whatever model they are of: it is not needed for that."""
    described = describe_folder(folder)
    if described:
        with closing(described.open()) as store:
            store.check()
