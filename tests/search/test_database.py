"""The index file: made privately, upgraded in order, and never touched when it is not ours to touch."""

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from memem.core import files, sqlite
from memem.core.errors import Busy, HomeError, IndexDamaged, IndexTooNew, MememError
from memem.search import database
from memem.search.database import MIGRATIONS

TABLES = {"meta", "notes", "words", "passages", "pending"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "index.db"


def make_file(path: Path, data: bytes) -> Path:
    path.parent.mkdir()
    path.write_bytes(data)
    return path


def make_database(path: Path, *statements: str) -> Path:
    """A database that memem did not make."""
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


def pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


# --- a file of ours -----------------------------------------------------------------------------------------------


def test_a_fresh_file_has_the_newest_version(path: Path) -> None:
    connection = database.connect(path, MIGRATIONS)
    assert pragma(connection, "user_version") == len(MIGRATIONS)
    assert tables(connection) >= TABLES
    connection.close()


def test_readers_do_not_wait_for_a_writer(path: Path) -> None:
    writer, reader = database.connect(path, MIGRATIONS), database.connect(path, MIGRATIONS)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO meta VALUES ('a', 'b')")
    assert reader.execute("SELECT count(*) FROM meta").fetchone() == (0,)
    assert pragma(reader, "journal_mode") == "wal"
    writer.close()
    reader.close()


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_the_file_and_its_folder_are_private(path: Path) -> None:
    before = os.umask(0)
    try:
        connection = database.connect(path, MIGRATIONS)
        connection.execute("INSERT INTO meta VALUES ('a', 'b')")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        connection.close()
    finally:
        os.umask(before)
    assert modes == {"index.db": 0o600, "index.db-wal": 0o600, "index.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_opening_again_keeps_what_is_there(path: Path) -> None:
    for _ in range(2):
        connection = database.connect(path, MIGRATIONS)
        connection.execute("INSERT INTO meta SELECT 'key' || count(*), 'value' FROM meta")
        connection.close()
    connection = database.connect(path, MIGRATIONS)
    assert connection.execute("SELECT key FROM meta ORDER BY key").fetchall() == [("key0",), ("key1",)]
    connection.close()


@pytest.mark.parametrize("version", range(len(MIGRATIONS)))
def test_a_file_of_each_older_version_is_brought_up_to_date(path: Path, version: int) -> None:
    make_database(path, "PRAGMA user_version = 0")
    old = sqlite3.connect(path)
    for migration in MIGRATIONS[:version]:
        migration(old)
    old.execute(f"PRAGMA user_version = {version}")
    old.commit()
    old.close()
    connection = database.connect(path, MIGRATIONS)
    assert pragma(connection, "user_version") == len(MIGRATIONS)
    assert tables(connection) >= TABLES
    connection.close()


def test_an_empty_file_is_filled(path: Path) -> None:
    connection = database.connect(make_file(path, b""), MIGRATIONS)
    assert tables(connection) >= TABLES
    connection.close()


def test_migrations_run_in_order_and_only_those_that_are_missing(path: Path) -> None:
    database.connect(path, MIGRATIONS).close()
    ran: list[str] = []
    later = (lambda _: ran.append("second"), lambda _: ran.append("third"))
    database.connect(path, (*MIGRATIONS, *later)).close()
    database.connect(path, (*MIGRATIONS, *later)).close()
    assert ran == ["second", "third"]


def test_a_migration_that_fails_leaves_the_old_version(path: Path) -> None:
    database.connect(path, MIGRATIONS).close()
    version = len(MIGRATIONS)

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half (x)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.connect(path, (*MIGRATIONS, fail))
    connection = database.connect(path, MIGRATIONS)
    assert pragma(connection, "user_version") == version
    assert "half" not in tables(connection)
    connection.close()


# --- a file that is not -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_newer_index_is_refused_and_untouched(path: Path, journal: str) -> None:
    make_database(path, "CREATE TABLE future (x)", f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(IndexTooNew) as refusal:
        database.connect(path, MIGRATIONS)
    assert path.read_bytes() == before
    assert str(path) in str(refusal.value)
    assert "memem index rebuild" in str(refusal.value)


@pytest.mark.parametrize(
    "garbage",
    [b"this is not a database " * 100, b"\0" * 8192, b"SQLite format 3\0" + b"\xff" * 8176],
    ids=["text", "zeros", "only the beginning is right"],
)
def test_a_file_that_is_not_a_database_is_set_aside_and_replaced(path: Path, garbage: bytes) -> None:
    make_file(path, garbage)
    database.connect(path, MIGRATIONS).close()
    assert path.with_name("index.db.damaged").read_bytes() == garbage
    with closing(sqlite3.connect(path)) as connection:
        assert pragma(connection, "user_version") == len(MIGRATIONS)


@pytest.mark.parametrize("part", [0.25, 0.5, 0.9])
def test_a_truncated_database_is_set_aside_by_the_next_caller(path: Path, part: float) -> None:
    connection = database.connect(path, MIGRATIONS)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [(str(n), "x" * 100) for n in range(500)])
    connection.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * part)])
    with suppress(IndexDamaged):
        read_all(path)
    read_all(path)
    assert whole.startswith(path.with_name("index.db.damaged").read_bytes()[:4096])


def read_all(path: Path) -> None:
    with database.translated(path), closing(database.connect(path, MIGRATIONS)) as connection:
        connection.execute("SELECT sum(length(value)) FROM meta").fetchone()


def test_damage_of_another_file_that_is_met_meanwhile_leaves_this_one(path: Path) -> None:
    database.connect(path, MIGRATIONS).close()
    other = path.with_name("other.db")
    with pytest.raises(IndexDamaged), database.translated(path), database.translated(other):
        raise sqlite3.DatabaseError("malformed")
    assert path.exists()


def test_a_wrong_statement_is_not_damage(path: Path) -> None:
    connection = database.connect(path, MIGRATIONS)
    connection.close()
    with pytest.raises(IndexDamaged), database.translated(path):
        connection.execute("SELECT 1")  # it is closed
    assert path.exists()


def test_a_database_of_another_program_is_not_taken_over(path: Path) -> None:
    make_database(path, "CREATE TABLE notes (of, somebody)")
    database.connect(path, MIGRATIONS).close()
    with closing(sqlite3.connect(path.with_name("index.db.damaged"))) as connection:
        assert tables(connection) == {"notes"}
        assert pragma(connection, "user_version") == 0


def test_a_file_in_the_place_of_the_folder_is_an_error_of_the_home(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(HomeError, match="cache"):
        database.connect(tmp_path / "cache" / "index.db", MIGRATIONS)


def test_a_folder_that_cannot_be_made_is_an_error_of_the_home(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "make_private_folder", refuse)
    with pytest.raises(HomeError, match="check its permissions"):
        database.connect(path, MIGRATIONS)


def test_a_folder_in_the_place_of_the_file_is_set_aside(path: Path) -> None:
    for _ in range(2):
        path.unlink(missing_ok=True)
        path.mkdir(parents=True)
        database.connect(path, MIGRATIONS).close()
        assert path.with_name("index.db.damaged").is_dir()


@pytest.mark.parametrize(
    ("code", "kind", "advice"),
    [
        (sqlite3.SQLITE_BUSY, Busy, "Try again"),
        (sqlite3.SQLITE_LOCKED, Busy, "Try again"),
        (sqlite3.SQLITE_FULL, HomeError, "Free some space"),
        (sqlite3.SQLITE_IOERR_WRITE, HomeError, "Free some space"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, HomeError, "permissions"),
        (sqlite3.SQLITE_CANTOPEN, HomeError, "permissions"),
        (sqlite3.SQLITE_CORRUPT, IndexDamaged, "memem index rebuild"),
        (sqlite3.SQLITE_ERROR, IndexDamaged, "memem index rebuild"),
    ],
)
def test_sqlite_errors_are_reported_in_one_line_with_advice(
    path: Path, code: int, kind: type[MememError], advice: str
) -> None:
    error = sqlite3.OperationalError("what SQLite says")
    error.sqlite_errorcode = code
    with pytest.raises(kind) as refusal, database.translated(path):
        raise error
    assert advice in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


def test_a_python_without_full_text_search_is_reported(path: Path) -> None:
    with pytest.raises(HomeError, match="MEMEM_PYTHON"), database.translated(path):
        raise sqlite3.OperationalError("no such module: fts5")


# --- transactions -------------------------------------------------------------------------------------------------


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(database.connect(path, MIGRATIONS)) as opened:
        yield opened


def keys(connection: sqlite3.Connection) -> list[str]:
    return [key for (key,) in connection.execute("SELECT key FROM meta ORDER BY key")]


def add(connection: sqlite3.Connection, key: str) -> None:
    connection.execute("INSERT INTO meta VALUES (?, '')", (key,))


def fail_in_a_transaction(connection: sqlite3.Connection, work: Callable[[], None]) -> None:
    with sqlite.transaction(connection):
        work()
        raise ZeroDivisionError


def test_a_successful_transaction_is_committed(connection: sqlite3.Connection) -> None:
    with sqlite.transaction(connection):
        add(connection, "a")
    assert keys(connection) == ["a"]
    assert not connection.in_transaction


def test_a_transaction_is_undone_when_it_fails(connection: sqlite3.Connection) -> None:
    add(connection, "before")
    with pytest.raises(ZeroDivisionError):
        fail_in_a_transaction(connection, lambda: add(connection, "a"))
    assert keys(connection) == ["before"]
    assert not connection.in_transaction


def test_an_inner_transaction_is_part_of_the_outer_one(connection: sqlite3.Connection) -> None:
    def nest() -> None:
        with sqlite.transaction(connection):
            add(connection, "inner")
        assert connection.in_transaction

    with pytest.raises(ZeroDivisionError):
        fail_in_a_transaction(connection, nest)
    assert keys(connection) == []


def test_a_failure_inside_undoes_the_outer_one_too(connection: sqlite3.Connection) -> None:
    def fail_inside() -> None:
        add(connection, "outer")
        fail_in_a_transaction(connection, lambda: None)

    with pytest.raises(ZeroDivisionError):
        fail_in_a_transaction(connection, fail_inside)
    assert keys(connection) == []


def test_a_transaction_that_cannot_be_committed_is_undone_and_closed(connection: sqlite3.Connection) -> None:
    """Left open, it would swallow every later write."""
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TABLE child (parent TEXT REFERENCES meta (key) DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(sqlite3.IntegrityError), sqlite.transaction(connection):
        connection.execute("INSERT INTO child VALUES ('nobody')")
    assert not connection.in_transaction
    assert connection.execute("SELECT count(*) FROM child").fetchone() == (0,)


def test_a_transaction_that_sqlite_undid_itself_raises_its_own_error(connection: sqlite3.Connection) -> None:
    def lose() -> None:
        add(connection, "a")
        connection.execute("ROLLBACK")

    with pytest.raises(ZeroDivisionError):
        fail_in_a_transaction(connection, lose)
    assert keys(connection) == []
