"""One writer at a time, across processes; nobody waits for ever, and a dead holder holds nothing."""

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import portalocker
import pytest

import memem
from memem.core import locks
from memem.core.errors import Busy, HomeError, MememError
from memem.core.locks import awaiting, holding

SECONDS = 0.05
HOLDER = """
import sys
from pathlib import Path
from memem.core.locks import holding
with holding(Path(sys.argv[1]), 10):
    print("held", flush=True)
    sys.stdin.readline()
print("released", flush=True)
sys.stdin.readline()
"""


@contextmanager
def another_process_holding(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock until it is sent a line, and lives until it is sent another."""
    environ = os.environ | {"PYTHONPATH": str(Path(memem.__file__).parent.parent)}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
    )
    with holder:
        try:
            assert heard(holder) == "held"
            yield holder
        finally:
            holder.kill()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def let_go(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()
    assert heard(process) == "released"


def test_a_lock_held_by_another_process_is_busy_and_named(tmp_path: Path) -> None:
    path = tmp_path / "write.lock"
    with another_process_holding(path):
        with pytest.raises(Busy) as refusal, holding(path, SECONDS):
            pytest.fail("two processes held one lock")
        assert str(path) in str(refusal.value)
        assert len(str(refusal.value).splitlines()) == 1


def test_a_lock_that_was_let_go_can_be_taken(tmp_path: Path) -> None:
    path = tmp_path / "write.lock"
    with another_process_holding(path) as holder:
        let_go(holder)
        with holding(path, SECONDS):
            assert holder.poll() is None


def test_killed_process_releases_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "write.lock"
    with another_process_holding(path) as holder:
        holder.kill()
        holder.wait()
        with holding(path, SECONDS):
            assert path.is_file()


def test_a_second_holder_in_the_same_process_is_busy_too(tmp_path: Path) -> None:
    path = tmp_path / "write.lock"
    with holding(path, SECONDS), pytest.raises(Busy), holding(path, SECONDS):
        pytest.fail("one lock was held twice")


def test_a_lock_is_let_go_when_the_work_under_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "write.lock"
    with pytest.raises(ZeroDivisionError), holding(path, SECONDS):
        raise ZeroDivisionError
    with holding(path, SECONDS):
        pass


def test_two_locks_do_not_meet(tmp_path: Path) -> None:
    with holding(tmp_path / "a.lock", SECONDS), holding(tmp_path / "b.lock", SECONDS):
        pass


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
@pytest.mark.usefixtures("open_umask")
def test_the_lock_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "write.lock"
    with holding(path, SECONDS):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_lock_file_is_never_written_to(tmp_path: Path) -> None:
    path = tmp_path / "write.lock"
    path.write_text("kept")
    with holding(path, SECONDS):
        pass
    assert path.read_text() == "kept"


def test_a_file_system_without_locks_is_not_called_another_memem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trying again in a moment would fail for ever."""

    def refuse(*_: object) -> Callable[..., None]:
        raise portalocker.LockException("[Errno 95] Operation not supported")

    monkeypatch.setattr(portalocker.Lock, "acquire", refuse)
    with pytest.raises(MememError) as refusal, holding(tmp_path / "write.lock", SECONDS):
        pytest.fail("a lock was held that does not exist")
    assert not isinstance(refusal.value, Busy)
    assert str(tmp_path / "write.lock") in str(refusal.value)


def test_waiting_process_gets_the_lock_when_its_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "engine.lock"
    with another_process_holding(path) as holder:
        held = threading.Event()
        thread = threading.Thread(target=lambda: in_turn(path, held))
        thread.start()
        assert not held.wait(0.05)
        holder.kill()
        assert held.wait(20)
        thread.join(20)


def in_turn(path: Path, held: threading.Event) -> None:
    with awaiting(path):
        held.set()


def test_awaited_lock_is_exclusive_and_released(tmp_path: Path) -> None:
    path = tmp_path / "engine.lock"
    with awaiting(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(Busy), holding(path, SECONDS):
            pytest.fail("one lock was held twice")
    with holding(path, SECONDS):
        pass


def test_replaced_lock_file_is_waited_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "engine.lock"
    lock, locked = portalocker.lock, []

    def replaced(file: IO[str], flags: portalocker.LockFlags) -> None:
        lock(file, flags)
        locked.append(os.fstat(file.fileno()).st_ino)
        if len(locked) == 1:
            path.rename(tmp_path / "old.lock")

    monkeypatch.setattr(portalocker, "lock", replaced)
    with awaiting(path):
        assert locked == [(tmp_path / "old.lock").stat().st_ino, path.stat().st_ino]


def test_a_file_system_without_locks_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise portalocker.LockException("[Errno 95] Operation not supported")

    monkeypatch.setattr(portalocker, "lock", refuse)
    with pytest.raises(HomeError, match=r"engine\.lock"), awaiting(tmp_path / "engine.lock"):
        pytest.fail("a lock was held that does not exist")


def test_file_replaced_during_the_wait_is_locked_in_its_new_version(tmp_path: Path) -> None:
    marker, new = tmp_path / "marker", tmp_path / "new"
    marker.touch()
    held = locks._lock_current(marker, 1)
    assert held is not None
    new.touch()
    new.replace(marker)
    again = locks._lock_current(marker, 1)
    assert again is not None
    assert os.fstat(again).st_ino == marker.stat().st_ino != os.fstat(held).st_ino
    with pytest.raises(Busy):
        locks._lock_current(marker, 0)
    for descriptor in (held, again):
        os.close(descriptor)


def test_pipe_in_place_of_the_shared_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "marker")
    with locks.sharing(tmp_path / "marker", 0):
        pass
