"""SQLite files: open, migrate by numbered steps, check, scrub, and translate errors."""

import functools
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar, cast

from memem.core import files
from memem.core.errors import Busy, HomeError, MememError
from memem.core.files import from_json

BUSY_MILLISECONDS = 5_000
LOG_BYTES = 8_000_000
"""What is left of a write-ahead log that one large change has made longer, once its pages are in the file."""
NOT_OURS = "a row of it says nothing that memem wrote"
MOST_VALUES = 500
"""How many values one statement is given: SQLite's own limit was once a thousand."""

P = ParamSpec("P")
R = TypeVar("R")
Item = TypeVar("Item")
Kind = TypeVar("Kind")


Migrations = Sequence[Callable[[sqlite3.Connection], None]]
"""What makes the tables, in order; the number of those done is the file's version."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a file is to memem: what it is called, what it is when it cannot be used, and what helps then.

    A `soft` one is never synced: a power failure may damage it, and then it is begun anew.
    """

    name: str
    damaged: type[MememError]
    too_new: type[MememError]
    remedy: str
    patience: int | None = None  # in milliseconds: how long others are waited for; None is as long as usual
    soft: bool = False

    @property
    def seconds(self) -> float:
        """How long others are waited for."""
        return (BUSY_MILLISECONDS if self.patience is None else self.patience) / 1000


def connect(path: Path, migrations: Migrations, purpose: Purpose, *, durable: bool) -> sqlite3.Connection:
    """Open the file at `path`, creating or upgrading it. What is committed to a `durable` one survives a power cut."""
    with translated(path, purpose):
        if path.is_dir():
            raise purpose.damaged(f"The {purpose.name} {path} is a folder. {purpose.remedy}")
        try:
            files.make_private_folder(path.parent)
            if not path.exists():
                path.touch(mode=files.PRIVATE_FILE)
        except OSError as error:
            raise HomeError(f"Cannot use {path.parent}: {files.reason(error)}.") from None
        # Threads of the engine use a workspace in turn (`doors/engine/shared_workspace.py`), never at once.
        connection = sqlite3.connect(path, timeout=purpose.seconds, isolation_level=None, check_same_thread=False)
        try:
            _version(connection, path, migrations, purpose)
            connection.execute(f"PRAGMA synchronous = {'OFF' if purpose.soft else 'FULL' if durable else 'NORMAL'}")
            connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
            _use_wal(connection, purpose)
            _migrate(connection, path, migrations, purpose)
        except BaseException:
            connection.close()
            raise
    return connection


def _use_wal(connection: sqlite3.Connection, purpose: Purpose) -> None:
    """Switching a new file to WAL does not wait for others who do the same, so we do."""
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


def _migrate(connection: sqlite3.Connection, path: Path, migrations: Migrations, purpose: Purpose) -> None:
    if _version(connection, path, migrations, purpose) == len(migrations):
        return
    with transaction(connection):
        for number in range(_version(connection, path, migrations, purpose), len(migrations)):
            migrations[number](connection)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")


def _version(connection: sqlite3.Connection, path: Path, migrations: Migrations, purpose: Purpose) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(migrations):
        raise purpose.too_new(
            f"The {purpose.name} {path} was made by a newer memem: upgrade memem. For this version: {purpose.remedy}"
        )
    return version


def check_version(path: Path, migrations: Migrations, purpose: Purpose) -> None:
    """Raise what `purpose` says of a file that a newer memem has made, without changing it."""
    with translated(path, purpose):
        address = f"{path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, timeout=purpose.seconds, isolation_level=None)) as connection:
            _version(connection, path, migrations, purpose)


def drop(path: Path) -> None:
    """Do away with a file that cannot be used, and what SQLite keeps beside it. Raises HomeError."""
    _away(path, lambda: path.unlink(missing_ok=True))


def set_aside(path: Path) -> None:
    """Leave a file that is damaged to whoever wants to look at it, in the place of the last such. Raises HomeError."""

    def move() -> None:
        aside = path.with_name(f"{path.name}.damaged")
        if aside.is_dir():
            import shutil  # hardly anybody has a folder there

            shutil.rmtree(aside)
        elif path.is_dir():
            aside.unlink(missing_ok=True)
        path.replace(aside)

    _away(path, move)


def is_damage(problem: MememError) -> bool:
    """Whether it is the file that is wrong, to SQLite or to whoever read what it gave: no statement, no moment."""
    cause = problem.__context__
    if isinstance(cause, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return False
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF  # none: what it gave cannot be read
    return code in (0, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def _away(path: Path, move: Callable[[], object]) -> None:
    try:
        with suppress(FileNotFoundError):
            move()
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
    except OSError as error:
        raise HomeError(f"Cannot remove {path}, which is damaged: {files.reason(error)}.") from None


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; joins a transaction that is already open."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite has undone some failures by itself, a full disk among them: then there is nothing to roll back.
        with suppress(sqlite3.OperationalError):
            connection.execute("ROLLBACK")
        raise


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Several queries that see one state, whatever others commit meanwhile; joins one that is already open."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


@contextmanager
def translated(path: Path, purpose: Purpose) -> Iterator[None]:
    """SQLite's errors, told apart once, here."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details of extended codes
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise Busy(f"The {purpose.name} {path} is in use by another memem. Try again in a moment.") from None
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            full = f"Cannot use the {purpose.name} {path}: the disk is full or failing. Free some space."
            raise HomeError(full) from None
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            raise HomeError(f"Cannot write the {purpose.name} {path}. Make its folder writable for you.") from None
        if "no such module" in str(error):
            raise HomeError("This Python's SQLite has no FTS5. Use another Python (MEMEM_PYTHON).") from None
        what = " ".join(str(error).partition(" with text ")[0].split())[:200]  # without what stands in it
        raise purpose.damaged(f"The {purpose.name} {path} is damaged ({what}). {purpose.remedy}") from None
    except UnicodeDecodeError:  # of SQLite's own words, which quote the file
        raise purpose.damaged(f"The {purpose.name} {path} is damaged (it holds no text). {purpose.remedy}") from None


class _OnFile(Protocol):
    path: Path


def guarding(purpose: Purpose) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For methods of a class that knows its file's `path`: SQLite's errors in our words."""

    def guarded(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def translating(*args: P.args, **kwargs: P.kwargs) -> R:
            with translated(cast(_OnFile, args[0]).path, purpose):
                return method(*args, **kwargs)

        return translating

    return guarded


def stored(text: object, kind: type[Kind]) -> Kind:
    """What a column of JSON says. One that does not say what it should is damage, like any other in the file."""
    try:
        told = from_json(text if isinstance(text, str) else "")
    except ValueError:
        told = None
    if not isinstance(told, kind):
        raise sqlite3.DatabaseError(NOT_OURS)
    return told


def among(items: Sequence[Item]) -> Iterator[tuple[str, Sequence[Item]]]:
    """Items in portions for one statement each, with the marks that stand for them in it."""
    for start in range(0, len(items), MOST_VALUES):
        some = items[start : start + MOST_VALUES]
        yield ", ".join("?" * len(some)), some


FULL_TEXT_TABLES = "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'"


def check_integrity(path: Path, purpose: Purpose, *, thorough: bool) -> None:
    """Raise what `purpose` says when the file is damaged, Busy or HomeError when it cannot be looked at.

    A thorough look also compares every index with its table, and goes through the full-text tables.
    """
    look = "integrity_check" if thorough else "quick_check"
    address = f"{path.absolute().as_uri()}?mode=rw"
    with translated(path, purpose):
        opened = sqlite3.connect(address, uri=True, timeout=BUSY_MILLISECONDS / 1000, isolation_level=None)
        with closing(opened) as connection:
            (problem,) = connection.execute(f"PRAGMA {look}(1)").fetchone()
            if problem != "ok":
                raise sqlite3.DatabaseError(problem)
            for (table,) in connection.execute(FULL_TEXT_TABLES).fetchall() if thorough else ():
                connection.execute(f'INSERT INTO "{table}" ("{table}") VALUES (\'integrity-check\')')  # noqa: S608


Columns = tuple[tuple[str, str], ...]
"""Tables, each with the name of a column."""


def scrub(path: Path, purpose: Purpose) -> bool:
    """Write the file anew without what is deleted; says whether that is all gone. Raises Busy while others write.

    Full text keeps the words of deleted rows until its parts are merged; whoever reads meanwhile keeps the log.
    """
    address = f"{path.absolute().as_uri()}?mode=rw"
    with translated(path, purpose):
        opened = sqlite3.connect(address, uri=True, timeout=purpose.seconds, isolation_level=None)
        with closing(opened) as connection:
            for (table,) in connection.execute(FULL_TEXT_TABLES).fetchall():
                connection.execute(f'INSERT INTO "{table}" ("{table}") VALUES (\'optimize\')')  # noqa: S608 - our names
            connection.execute("VACUUM")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy


def blank(path: Path, purpose: Purpose, texts: Sequence[str], columns: Columns, rows_of: Columns) -> None:
    """Empty what holds one of these texts in such columns; where one of `rows_of` holds it, the whole row goes."""
    changes = [(f'UPDATE "{table}" SET "{name}" = \'\'', name) for table, name in columns]  # noqa: S608 - our names
    changes += [(f'DELETE FROM "{table}"', name) for table, name in rows_of]  # noqa: S608 - our names
    address = f"{path.absolute().as_uri()}?mode=rw"
    with translated(path, purpose):
        opened = sqlite3.connect(address, uri=True, timeout=purpose.seconds, isolation_level=None)
        with closing(opened) as connection:
            for change, column in changes:
                for text in texts:
                    connection.execute(f'{change} WHERE instr("{column}", ?)', (text,))
