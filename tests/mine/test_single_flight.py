"""One miner for a session, a few for the machine; nobody waits, and who has ended holds nothing."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import memem
from memem.core.errors import HomeError
from memem.mine.locks import POOL, lock_of, miner_slot, session_locks

HOLDER = """
import sys
from pathlib import Path
from memem.core.errors import HomeError
from memem.mine.locks import session_locks, miner_slot
folder = Path(sys.argv[1])
with session_locks(folder, "s1") as session, miner_slot(folder, 1) as slot:
    print(session, slot, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "run" / "mining"


@pytest.fixture(autouse=True)
def _home(folder: Path) -> None:
    folder.parent.mkdir(parents=True)


@contextmanager
def another_miner(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the session `s1` and the only slot."""
    environ = os.environ | {"PYTHONPATH": str(Path(memem.__file__).parent.parent)}
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environ) as miner:
        try:
            assert miner.stdout
            assert miner.stdout.readline() == "True True\n"
            yield miner
        finally:
            miner.kill()


def test_a_session_that_another_process_mines_is_not_ours(folder: Path) -> None:
    with another_miner(folder), session_locks(folder, "s1") as held:
        assert held is False


def test_a_session_of_a_killed_miner_is_there_for_the_next(folder: Path) -> None:
    with another_miner(folder) as miner:
        miner.kill()
        miner.wait()
        with session_locks(folder, "s1") as session, miner_slot(folder, 1) as slot:
            assert session
            assert slot


def test_two_in_one_process_do_not_mine_a_session_at_once_either(folder: Path) -> None:
    with session_locks(folder, "s1") as first, session_locks(folder, "s1") as second:
        assert (first, second) == (True, False)


def test_a_session_is_let_go_at_the_end_and_when_the_work_fails(folder: Path) -> None:
    def fail() -> None:
        with session_locks(folder, "s1"):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    for _ in range(2):
        with session_locks(folder, "s1") as held:
            assert held


def test_two_sessions_are_mined_side_by_side(folder: Path) -> None:
    names = {lock_of(folder, f"s{number}"): f"s{number}" for number in range(10)}
    one, other = list(names.values())[:2]
    with session_locks(folder, one) as first, session_locks(folder, other) as second:
        assert (first, second) == (True, True)


def test_sessions_that_share_a_lock_are_held_together(folder: Path) -> None:
    lock = lock_of(folder, "s1")
    other = next(f"n{number}" for number in range(10_000) if lock_of(folder, f"n{number}") == lock)
    with session_locks(folder, "s1", other) as held:
        assert held


def test_several_sessions_are_locked_together_or_not_at_all(folder: Path) -> None:
    names = {lock_of(folder, f"s{number}"): f"s{number}" for number in range(10)}
    one, other = list(names.values())[:2]
    with session_locks(folder, other), session_locks(folder, one, other) as both:
        assert not both
        with session_locks(folder, one) as free:
            assert free


@pytest.mark.parametrize("session", ["../../x", "/etc/passwd", "a/b", "..", "", "x" * 5_000, "会话", "\ud800", "a\0b"])
def test_lock_file_stays_in_its_folder_for_any_session_name(folder: Path, session: str) -> None:
    lock = lock_of(folder, session)
    assert lock.parent == folder
    with session_locks(folder, session) as held:
        assert held
    assert [path.name for path in folder.iterdir()] == [lock.name]


def test_a_session_has_always_the_same_lock_and_there_are_only_so_many(folder: Path) -> None:
    locks = {lock_of(folder, f"session {number}") for number in range(2_000)}
    assert len(locks) == POOL
    assert lock_of(folder, "s1") == lock_of(folder, "s1")


def test_there_are_as_many_slots_as_may_mine_at_once(folder: Path) -> None:
    with miner_slot(folder, 2) as first, miner_slot(folder, 2) as second, miner_slot(folder, 2) as third:
        assert (first, second, third) == (True, True, False)


def test_a_slot_that_another_process_has_is_taken(folder: Path) -> None:
    with another_miner(folder):
        with miner_slot(folder, 1) as only:
            assert not only
        with miner_slot(folder, 2) as second:
            assert second


def test_a_slot_can_be_had_again_after_it_was_let_go(folder: Path) -> None:
    for _ in range(3):
        with miner_slot(folder, 1) as held:
            assert held


def test_slots_and_sessions_do_not_meet(folder: Path) -> None:
    with miner_slot(folder, 1) as slot, session_locks(folder, "slot-00") as session:
        assert (slot, session) == (True, True)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_the_folder_of_the_locks_is_private(folder: Path) -> None:
    with miner_slot(folder, 1):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_lock_that_cannot_be_made_is_an_error_of_the_home(tmp_path: Path) -> None:
    (tmp_path / "mining").write_text("a file")
    with pytest.raises(HomeError, match="Set MEMEM_DIR to use another folder"), miner_slot(tmp_path / "mining", 1):
        pass
