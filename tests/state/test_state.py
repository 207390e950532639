"""The state database: private, upgraded in order, and an error that says what to do when it cannot be used."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memem.core import sqlite
from memem.core.errors import Busy, StateUnusable
from memem.state.database import MIGRATIONS, State
from memem.state.sessions import Mark
from memem.state.tables import STATE

TABLES = {"queue", "sessions", "turns", "injected", "journal", "calls", "breaker", "children"}
ONE, TWO = Mark("s1", "/a/s1.jsonl"), Mark("s2", "/a/s2.jsonl")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "state.db"


@pytest.fixture
def state(path: Path) -> Iterator[State]:
    with closing(State(path, fsync=False)) as opened:
        yield opened


def make_file(path: Path, data: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(data)


def tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_a_fresh_file_has_every_table_and_the_newest_version(state: State, path: Path) -> None:
    assert tables(path) >= TABLES
    assert version(path) == len(MIGRATIONS)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_the_file_and_its_folder_are_private(path: Path) -> None:
    before = os.umask(0)
    try:
        with closing(State(path, fsync=False)) as state:
            state.queue.mark(ONE, 0)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(("fsync", "waits"), [(True, 2), (False, 1)])
def test_what_is_committed_survives_a_power_cut_unless_the_user_gave_that_up(
    path: Path, fsync: bool, waits: int
) -> None:
    with closing(State(path, fsync=fsync)) as state:
        assert state._connection.execute("PRAGMA synchronous").fetchone() == (waits,)


def test_opening_again_keeps_what_is_there(path: Path) -> None:
    with closing(State(path, fsync=False)) as state:
        state.queue.mark(ONE, 0)
    with closing(State(path, fsync=False)) as state:
        assert state.queue.marks() == [ONE]


def test_two_that_have_it_open_see_what_the_other_did(state: State, path: Path) -> None:
    with closing(State(path, fsync=False)) as other:
        state.queue.mark(ONE, 0)
        assert other.queue.take("s1") == ONE
    assert state.queue.marks() == []


@pytest.mark.parametrize("older", range(len(MIGRATIONS)))
def test_a_file_of_each_older_version_is_brought_up_to_date(path: Path, older: int) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        for migration in MIGRATIONS[:older]:
            migration(connection)
        connection.execute(f"PRAGMA user_version = {older}")
        connection.commit()
    State(path, fsync=False).close()
    assert tables(path) >= TABLES
    assert version(path) == len(MIGRATIONS)


def test_a_later_version_adds_to_what_an_old_file_holds(path: Path) -> None:
    with closing(State(path, fsync=False)) as state:
        state.queue.mark(ONE, 0)
    later = (*MIGRATIONS, lambda connection: connection.execute("ALTER TABLE queue ADD COLUMN more TEXT"))
    with closing(sqlite.connect(path, later, STATE, durable=False)) as connection:
        assert connection.execute("SELECT session, more FROM queue").fetchall() == [("s1", None)]


def test_a_newer_file_is_refused_and_untouched(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = path.read_bytes()
    with pytest.raises(StateUnusable) as refusal:
        State(path, fsync=False)
    assert path.read_bytes() == before
    assert "written by a newer version of memem. Upgrade memem" in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize("garbage", [b"not a database " * 100, b"SQLite format 3\0" + b"\xff" * 8176])
def test_a_damaged_file_is_refused_and_untouched(path: Path, garbage: bytes) -> None:
    make_file(path, garbage)
    with pytest.raises(StateUnusable) as refusal:
        State(path, fsync=False)
    assert path.read_bytes() == garbage
    assert str(path) in str(refusal.value)
    assert "`memem mine on` sets it aside and starts a new one" in str(refusal.value)


def test_a_table_that_is_gone_is_told_as_damage(state: State) -> None:
    state._connection.execute("DROP TABLE queue")
    with pytest.raises(StateUnusable, match="damaged"):
        state.queue.marks()


# --- at once ------------------------------------------------------------------------------------------------------


def test_what_is_done_at_once_is_done_together(state: State, path: Path) -> None:
    with closing(State(path, fsync=False)) as other:
        with state.transaction():
            state.queue.mark(ONE, 0)
            state.queue.mark(TWO, 0)
            assert other.queue.marks() == []
        assert other.queue.marks() == [ONE, TWO]


def test_what_fails_in_between_leaves_nothing(state: State) -> None:
    def fail() -> None:
        with state.transaction():
            state.queue.mark(ONE, 0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert state.queue.marks() == []


def test_somebody_who_holds_the_file_for_too_long_is_told_as_busy(
    path: Path, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_MILLISECONDS", 1)
    with closing(State(path, fsync=False)) as impatient, state.transaction():
        with pytest.raises(Busy, match="in use by another memem process"):
            impatient.queue.mark(ONE, 0)
        with pytest.raises(Busy), impatient.transaction():
            pytest.fail("two wrote at once")
