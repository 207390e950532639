"""SQLite files: open, migrate by numbered steps, check, scrub, and translate errors."""

import functools
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from memem.core import files
from memem.core.errors import Busy, HomeError, MememError
from memem.core.files import from_json

BUSY_MILLISECONDS = 5_000
MAX_SQLITE_FILES = 8  # the file, its log, the log's index, a journal, folders
LOG_BYTES = 8_000_000  # a large change lengthens the write-ahead log, which is cut to this size afterwards
NOT_OURS = "it has a row that memem did not write"
MAX_VALUES = 500  # for one statement: older versions of SQLite allow a thousand
FULL_TEXT_TABLE = "SELECT 1 FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE words USING fts5%'"

P = ParamSpec("P")
R = TypeVar("R")
Item = TypeVar("Item")
Kind = TypeVar("Kind")

Migrations = Sequence[Callable[[sqlite3.Connection], None]]  # the number of those done is the file's version
Columns = tuple[tuple[str, str], ...]  # pairs of a table and a column


@dataclass(frozen=True, slots=True)
class Purpose:
    """A file's name for messages, the errors for one that cannot be used, and the remedy."""

    name: str
    damaged: type[MememError]
    too_new: type[MememError]
    remedy: str
    patience: int | None = None  # milliseconds to wait for other processes; None for BUSY_MILLISECONDS
    soft: bool = False  # never synced: if a power failure damages it, it is created again

    @property
    def seconds(self) -> float:
        return (BUSY_MILLISECONDS if self.patience is None else self.patience) / 1000


def connect(path: Path, migrations: Migrations, purpose: Purpose, *, durable: bool) -> sqlite3.Connection:
    """Open, create or upgrade a file. Commits to a `durable` one survive a power failure."""
    with translated(path, purpose):
        if path.is_dir():
            raise purpose.damaged(f"The {purpose.name} {path} is a folder. {purpose.remedy}")
        try:
            files.make_private_folder(path.parent)
            if not path.exists():
                path.touch(mode=files.PRIVATE_FILE)
        except OSError as error:
            raise HomeError(f"Cannot use {path.parent}: {files.reason(error)}.") from None
        # Threads of the engine use a workspace in turn (`serving.py`), never at once.
        connection = sqlite3.connect(path, timeout=purpose.seconds, isolation_level=None, check_same_thread=False)
        try:
            version = _version(connection, path, migrations, purpose)
            connection.execute(f"PRAGMA synchronous = {'OFF' if purpose.soft else 'FULL' if durable else 'NORMAL'}")
            connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
            _use_wal(connection, purpose)
            if version < len(migrations):
                with transaction(connection):  # another process may have migrated it meanwhile
                    for migrate in migrations[_version(connection, path, migrations, purpose) :]:
                        migrate(connection)
                    connection.execute(f"PRAGMA user_version = {len(migrations)}")
        except BaseException:
            connection.close()
            raise
    return connection


def _use_wal(connection: sqlite3.Connection, purpose: Purpose) -> None:
    """Switch to WAL. SQLite does not wait for processes that do the same, so this function does."""
    deadline = time.monotonic() + purpose.seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _version(connection: sqlite3.Connection, path: Path, migrations: Migrations, purpose: Purpose) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(migrations):
        raise purpose.too_new(
            f"The {purpose.name} {path} was written by a newer version of memem. "
            f"Upgrade memem. To stay on this version instead: {purpose.remedy}"
        )
    return version


def check_version(path: Path, migrations: Migrations, purpose: Purpose) -> None:
    """Raise `purpose.too_new` if a newer memem made the file; change nothing."""
    with _open_existing(path, purpose) as connection:
        _version(connection, path, migrations, purpose)


def drop(path: Path) -> None:
    """Delete a file that cannot be used, with SQLite's files next to it. Raises HomeError."""
    with _removing(path):
        path.unlink(missing_ok=True)


def set_aside(path: Path) -> None:
    """Rename a damaged file to `.damaged`, in place of an earlier one. Raises HomeError."""
    aside = path.with_name(f"{path.name}.damaged")
    with _removing(path):
        if aside.is_dir():
            import shutil

            shutil.rmtree(aside)
        elif path.is_dir():
            aside.unlink(missing_ok=True)
        path.replace(aside)


def is_damage(problem: MememError) -> bool:
    """Tell a damaged file from a wrong statement or a passing problem."""
    cause = problem.__context__
    if isinstance(cause, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return False
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF  # 0: a value could not be read
    return code in (0, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


@contextmanager
def _removing(path: Path) -> Iterator[None]:
    try:
        with suppress(FileNotFoundError):
            yield
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
    except OSError as error:
        raise HomeError(f"Cannot remove the damaged file {path}: {files.reason(error)}.") from None


@contextmanager
def transaction(connection: sqlite3.Connection, *, writes: bool = True) -> Iterator[None]:
    """Commit everything or nothing, and let all queries see one state; join a transaction that is already open."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # After some failures, such as a full disk, SQLite has rolled back already.
        with suppress(sqlite3.OperationalError):
            connection.execute("ROLLBACK")
        raise


@contextmanager
def translated(path: Path, purpose: Purpose) -> Iterator[None]:
    """Turn SQLite's errors into memem's."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details of extended codes
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            busy = f"The {purpose.name} {path} is in use by another memem process. Try again in a moment."
            raise Busy(busy) from None
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            full = f"Cannot use the {purpose.name} {path}: the disk is full or failing. Free some space."
            raise HomeError(full) from None
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            raise HomeError(f"Cannot write to the {purpose.name} {path}: {_why_unwritable(path)}.") from None
        if "no such module" in str(error):
            raise HomeError("This Python's SQLite has no FTS5. Set MEMEM_PYTHON to another Python.") from None
        why = " ".join(str(error).partition(" with text ")[0].split())[:200]  # without content of the file
        raise purpose.damaged(f"The {purpose.name} {path} is damaged ({why}). {purpose.remedy}") from None
    except UnicodeDecodeError:  # SQLite's message quotes the file
        damage = f"The {purpose.name} {path} is damaged (its text is not UTF-8). {purpose.remedy}"
        raise purpose.damaged(damage) from None


def _why_unwritable(path: Path) -> str:
    """Find out why SQLite cannot write a file, since its own error tells no cause."""
    try:
        from tempfile import TemporaryFile

        if path.exists():
            os.close(os.open(path, os.O_RDWR))
        if path.parent.is_dir():
            TemporaryFile(dir=path.parent).close()  # SQLite needs its log next to the file
        with ExitStack() as stack:  # SQLite opens several files at once, and does not report that too many are open
            for _ in range(MAX_SQLITE_FILES):
                stack.enter_context(Path(os.devnull).open("rb"))
    except OSError as error:
        return files.reason(error)
    return "check the permissions of the file and its folder"


def guarding(purpose: Purpose) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate methods of a class that has a `path`: turn SQLite's errors into memem's."""

    def guarded(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def translating(*args: P.args, **kwargs: P.kwargs) -> R:
            path: Path = args[0].path  # type: ignore[attr-defined]
            with translated(path, purpose):
                return method(*args, **kwargs)

        return translating

    return guarded


def parse_column(text: object, kind: type[Kind]) -> Kind:
    """Parse a column of JSON. A value of another kind is damage, like any other in the file."""
    try:
        value = from_json(text if isinstance(text, str) else "")
    except ValueError:
        value = None
    if not isinstance(value, kind):
        raise sqlite3.DatabaseError(NOT_OURS)
    return value


def split_values(items: Sequence[Item]) -> Iterator[tuple[str, Sequence[Item]]]:
    """Split items into portions for one statement each, and yield them with their placeholders."""
    for start in range(0, len(items), MAX_VALUES):
        some = items[start : start + MAX_VALUES]
        yield ", ".join("?" * len(some)), some


@contextmanager
def _open_existing(path: Path, purpose: Purpose, seconds: float | None = None) -> Iterator[sqlite3.Connection]:
    address = f"{path.absolute().as_uri()}?mode=rw"
    timeout = purpose.seconds if seconds is None else seconds
    with translated(path, purpose), closing(sqlite3.connect(address, timeout, uri=True)) as connection:
        connection.isolation_level = None
        yield connection


def check_integrity(path: Path, purpose: Purpose, *, thorough: bool) -> None:
    """Raise `purpose.damaged` for a damaged file, Busy or HomeError when it cannot be checked."""
    look = "integrity_check" if thorough else "quick_check"  # the first compares every index with its table
    with _open_existing(path, purpose, BUSY_MILLISECONDS / 1000) as connection:
        (problem,) = connection.execute(f"PRAGMA {look}(1)").fetchone()
        if problem != "ok":
            raise sqlite3.DatabaseError(problem)
        if thorough and connection.execute(FULL_TEXT_TABLE).fetchone():
            connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")


def scrub(path: Path, purpose: Purpose) -> bool:
    """Rewrite the file without deleted content; return whether all of it is gone. Raises Busy while others write."""
    with _open_existing(path, purpose) as connection:
        if connection.execute(FULL_TEXT_TABLE).fetchone():
            connection.execute("INSERT INTO words (words) VALUES ('optimize')")  # drops words of deleted rows
        connection.execute("VACUUM")
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy  # a reader keeps the write-ahead log


def erase_texts(path: Path, purpose: Purpose, texts: Sequence[str], columns: Columns, rows_of: Columns) -> None:
    """Empty the `columns` that contain one of the texts; delete the rows where one of `rows_of` does."""
    changes = [(f'UPDATE "{table}" SET "{name}" = \'\'', name) for table, name in columns]  # noqa: S608 - our names
    changes += [(f'DELETE FROM "{table}"', name) for table, name in rows_of]  # noqa: S608 - our names
    with _open_existing(path, purpose) as connection:
        for change, column in changes:
            for text in texts:
                connection.execute(f'{change} WHERE instr("{column}", ?)', (text,))
