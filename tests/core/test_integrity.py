"""A file of SQLite's is looked at as it is: what is wrong with it is told, and nothing about it is changed."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memem.core import sqlite
from memem.core.errors import Busy, HomeError, IndexDamaged, IndexTooNew
from memem.core.sqlite import Purpose

PURPOSE = Purpose("record", IndexDamaged, IndexTooNew, "Delete it.")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with an index and full text, in a folder whose name needs quoting in an address."""
    path = tmp_path / "a ?b#c%20 é.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("CREATE INDEX by_name ON notes (name)")
        connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text)")
        connection.executemany("INSERT INTO notes (name) VALUES (?)", [(f"name {n}",) for n in range(500)])
        connection.execute("INSERT INTO words VALUES ('tokens are signed')")
    return path


@pytest.mark.parametrize("thorough", [False, True])
def test_a_whole_file_is_whole_and_stays_as_it_is(file: Path, thorough: bool) -> None:
    before = file.read_bytes()
    sqlite.check_integrity(file, PURPOSE, thorough=thorough)
    assert file.read_bytes() == before
    assert list(file.parent.glob("*.db*")) == [file]


def test_file_that_is_not_a_database_is_damaged(file: Path) -> None:
    file.write_bytes(b"this is not a database " * 100)
    with pytest.raises(IndexDamaged, match=r"The record .* is damaged \(.*\)\. Delete it\."):
        sqlite.check_integrity(file, PURPOSE, thorough=False)


def test_a_page_of_zeros_is_damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4096:8192] = bytes(4096)
    file.write_bytes(data)
    with pytest.raises(IndexDamaged):
        sqlite.check_integrity(file, PURPOSE, thorough=False)


def test_an_index_that_lacks_a_row_is_found_only_by_a_thorough_look(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, '(name)', '(id)') WHERE name = 'by_name'")
    sqlite.check_integrity(file, PURPOSE, thorough=False)
    with pytest.raises(IndexDamaged):
        sqlite.check_integrity(file, PURPOSE, thorough=True)


def test_full_text_that_does_not_fit_its_words_is_found_only_by_a_thorough_look(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE words_content SET c0 = 'something else'")
    sqlite.check_integrity(file, PURPOSE, thorough=False)
    with pytest.raises(IndexDamaged):
        sqlite.check_integrity(file, PURPOSE, thorough=True)


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(HomeError):
        sqlite.check_integrity(tmp_path / "none.db", PURPOSE, thorough=True)
    assert list(tmp_path.glob("*.db")) == []


def test_a_file_that_somebody_is_writing_is_in_use(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_MILLISECONDS", 1)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Busy):
            sqlite.check_integrity(file, PURPOSE, thorough=False)


def test_running_out_of_file_descriptors_is_not_blamed_on_permissions(tmp_path: Path) -> None:
    """In a process of its own: the limit would starve the other tests."""
    script = f"""
import resource, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import tempfile
from memem.core.errors import HomeError
from memem.state.database import State
path = Path({str(tmp_path)!r}) / "state.db"
State(path, fsync=False).close()
kept = [open("/dev/null") for _ in range(20)]
resource.setrlimit(resource.RLIMIT_NOFILE, (kept[-1].fileno() + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
try:
    State(path, fsync=False)
except HomeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "too many files are open; raise the limit (`ulimit -n`) and try again" in done.stdout
    assert "permission" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of open files there")
def test_too_few_files_are_not_blamed_on_permissions(file: Path) -> None:
    """SQLite opens the log next to its file when it needs it, and only says that it cannot open a file."""
    code = (
        "import os, resource, sys, tempfile; from pathlib import Path; from memem.core import sqlite\n"
        "from memem.core.errors import HomeError, IndexDamaged, IndexTooNew\n"
        "purpose = sqlite.Purpose('record', IndexDamaged, IndexTooNew, '')\n"
        "path, seen = Path(sys.argv[1]), set()\n"
        "sqlite.connect(path, [], purpose, durable=True).close()\n"
        "for free in range(8):\n"
        "    used = os.open(os.devnull, os.O_RDONLY); os.close(used)\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (used + free, 4096))\n"
        "    try: sqlite.connect(path, [], purpose, durable=True).close()\n"
        "    except HomeError as error: seen.add(str(error))\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))\n"
        "print(len(seen)); print(*seen)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(file)], text=True, stdout=subprocess.PIPE, check=True)
    number, _, problems = done.stdout.partition("\n")
    assert int(number) > 0
    assert problems.count("too many files are open") == int(number)
    assert "permission" not in problems
