"""Files are whole or not there: every system call is made to fail in turn, and the old state or the new is found."""

import errno
import itertools
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memem
from memem.core import files
from tests.fakes import FaultyOs

OLD, NEW = b"old " * 50, b"new bytes, more of them " * 50
POSIX = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FaultyOs]:
    """Puts a new faulty `os` under the files module."""

    def install(fail_at: int = -1, error: BaseException | None = None) -> FaultyOs:
        proxy = FaultyOs(fail_at, error)
        monkeypatch.setattr("memem.core.files.os", proxy)
        return proxy

    return install


# --- a file is replaced as a whole --------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()], ids=["full disk", "interrupt"])
@pytest.mark.parametrize("fsync", [True, False], ids=["fsync", "no fsync"])
@pytest.mark.parametrize("old", [OLD, None], ids=["over a file", "a new file"])
def test_a_fault_at_any_step_leaves_the_old_bytes_or_the_new(
    tmp_path: Path, faulty: Callable[..., FaultyOs], old: bytes | None, fsync: bool, error: BaseException
) -> None:
    failed = []
    for step in itertools.count():
        folder = tmp_path / str(step)
        folder.mkdir()
        path = folder / "note.md"
        if old is not None:
            path.write_bytes(old)
        proxy = faulty(step, error)
        try:
            files.write_atomic(path, NEW, fsync=fsync)
        except (OSError, KeyboardInterrupt) as raised:
            assert raised is error
            failed.append(proxy.calls[step])
        replaced = "replace" in proxy.calls[:step]
        expected = {"note.md": NEW if replaced else old}
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
            name: data for name, data in expected.items() if data is not None
        }
        assert not proxy.open_files
        if len(failed) == step:
            break
    before = ["open", "write", "fsync file", "close", "replace", "open", "fsync folder", "close"]
    assert failed == (before if fsync else ["open", "write", "close", "replace"])


def test_a_leftover_that_cannot_be_removed_does_not_hide_the_first_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faulty: Callable[..., FaultyOs]
) -> None:
    path = tmp_path / "note.md"
    path.write_bytes(OLD)
    first = OSError(errno.EIO, "first")
    proxy = faulty(1, first)

    def refuse(_: object) -> None:
        raise PermissionError(errno.EPERM, "second")

    monkeypatch.setattr(proxy, "unlink", refuse, raising=False)
    with pytest.raises(OSError, match="first"):
        files.write_atomic(path, NEW, fsync=True)
    assert path.read_bytes() == OLD
    assert [file.suffix for file in tmp_path.glob(f"{files.TEMPORARY_PREFIX}*")] == [files.TEMPORARY_SUFFIX]


@pytest.mark.parametrize("longest", [1, 7, len(NEW) - 1])
def test_a_short_write_is_continued(tmp_path: Path, faulty: Callable[..., FaultyOs], longest: int) -> None:
    path = tmp_path / "note.md"
    faulty().longest_write = longest
    files.write_atomic(path, NEW, fsync=False)
    assert path.read_bytes() == NEW


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_any_bytes_are_replaced_by_any_bytes(tmp_path: Path, old: bytes, new: bytes) -> None:
    path = tmp_path / "note.md"
    files.write_atomic(path, old, fsync=False)
    files.write_atomic(path, new, fsync=False)
    assert path.read_bytes() == new


def test_a_reader_that_has_the_file_open_keeps_the_old_bytes(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_bytes(OLD)
    with path.open("rb") as reader:
        files.write_atomic(path, NEW, fsync=False)
        assert reader.read() == OLD


# --- on the disk, if asked ----------------------------------------------------------------------------------------


def test_the_bytes_are_on_the_disk_before_the_name_and_the_name_before_it_returns(
    tmp_path: Path, faulty: Callable[..., FaultyOs]
) -> None:
    proxy = faulty()
    files.write_atomic(tmp_path / "note.md", NEW, fsync=True)
    kept = [call for call in proxy.calls if call not in ("open", "close")]
    assert kept == ["write", "fsync file", "replace", "fsync folder"]


def test_an_appended_line_is_on_the_disk_before_it_returns(tmp_path: Path, faulty: Callable[..., FaultyOs]) -> None:
    proxy = faulty()
    files.append_line(tmp_path / "events.jsonl", b"{}", fsync=True)
    assert proxy.calls == ["open", "write", "fsync file", "close"]


def test_a_move_makes_both_folders_durable(tmp_path: Path, faulty: Callable[..., FaultyOs]) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "note.md").write_bytes(OLD)
    proxy = faulty()
    files.move(tmp_path / "note.md", tmp_path / "away" / "note.md", fsync=True)
    assert (tmp_path / "away" / "note.md").read_bytes() == OLD
    assert not (tmp_path / "note.md").exists()
    assert proxy.calls.count("fsync folder") == 2


def test_without_fsync_nothing_waits_for_the_disk(tmp_path: Path, faulty: Callable[..., FaultyOs]) -> None:
    proxy = faulty()
    files.write_atomic(tmp_path / "a", NEW, fsync=False)
    files.append_line(tmp_path / "a", b"line", fsync=False)
    files.move(tmp_path / "a", tmp_path / "b", fsync=False)
    assert not [call for call in proxy.calls if call.startswith("fsync")]


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.EBADF])
def test_a_file_system_that_cannot_sync_a_folder_is_accepted(
    tmp_path: Path, faulty: Callable[..., FaultyOs], code: int
) -> None:
    proxy = faulty(1, OSError(code, "no"))
    files.sync_folder(tmp_path)
    assert not proxy.open_files


def test_a_folder_that_fails_to_sync_is_an_error(tmp_path: Path, faulty: Callable[..., FaultyOs]) -> None:
    proxy = faulty(1, OSError(errno.EIO, "disk"))
    with pytest.raises(OSError, match="disk"):
        files.sync_folder(tmp_path)
    assert not proxy.open_files


# --- lines are added as a whole -----------------------------------------------------------------------------------


def test_lines_follow_one_another(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    for line in (b"one", b"", b"three"):
        files.append_line(path, line, fsync=False)
    assert path.read_bytes() == b"one\n\nthree\n"


def test_a_torn_last_line_does_not_swallow_the_next(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b": ')
    files.append_line(path, b'{"c": 3}', fsync=False)
    assert path.read_bytes() == b'{"a": 1}\n{"b": \n{"c": 3}\n'


def test_a_fault_while_appending_spares_the_lines_before_and_after(
    tmp_path: Path, faulty: Callable[..., FaultyOs]
) -> None:
    for step in range(4):  # open, write, fsync, close
        path = tmp_path / f"{step}.jsonl"
        path.write_bytes(b"first\n")
        proxy = faulty(step)
        with pytest.raises(OSError, match="No space left"):
            files.append_line(path, b"a line that fails", fsync=True)
        assert not proxy.open_files
        faulty()
        files.append_line(path, b"last", fsync=True)
        lines = path.read_bytes().split(b"\n")
        assert lines[0] == b"first"
        assert lines[-2:] == [b"last", b""]
        assert b"a line that fails".startswith(b"".join(lines[1:-2]))


def test_a_short_append_is_continued(tmp_path: Path, faulty: Callable[..., FaultyOs]) -> None:
    faulty().longest_write = 2
    files.append_line(tmp_path / "events.jsonl", b"a line", fsync=False)
    assert (tmp_path / "events.jsonl").read_bytes() == b"a line\n"


APPENDER = """
import sys
from pathlib import Path
from memem.core import files
from tests.fakes import FaultyOs
sys.stdin.readline()
for number in range(100):
    files.append_line(Path(sys.argv[1]), (sys.argv[2] + str(number) + "." * number).encode(), fsync=False)
"""


def test_lines_appended_by_several_processes_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    environ = os.environ | {"PYTHONPATH": str(Path(memem.__file__).parent.parent)}
    writers = "abcd"
    with ExitStack() as stack:
        started = []
        for name in writers:
            command = [sys.executable, "-c", APPENDER, str(path), name]
            process = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, env=environ))
            stack.callback(process.kill)
            started.append(process)
        for process in started:
            assert process.stdin
            process.stdin.write(b"\n")
            process.stdin.flush()
        assert [process.wait(timeout=60) for process in started] == [0] * len(writers)
    expected = sorted(f"{name}{number}{'.' * number}" for name in writers for number in range(100))
    assert sorted(filter(None, path.read_text().split("\n"))) == expected


def test_lines_appended_by_several_threads_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    barrier = threading.Barrier(4)

    def append(name: str) -> None:
        barrier.wait()
        for number in range(50):
            files.append_line(path, f"{name}{number}{'.' * number}".encode(), fsync=False)

    threads = [threading.Thread(target=append, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = sorted(f"{name}{number}{'.' * number}" for name in "abcd" for number in range(50))
    assert sorted(filter(None, path.read_text().split("\n"))) == expected


# --- private ------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@POSIX
@pytest.mark.usefixtures("umask")
def test_a_private_file_is_private_under_every_umask(tmp_path: Path) -> None:
    files.write_atomic(tmp_path / "state.json", NEW, fsync=False, mode=files.PRIVATE_FILE)
    files.append_line(tmp_path / "events.jsonl", b"{}", fsync=False)
    assert mode(tmp_path / "state.json") == mode(tmp_path / "events.jsonl") == 0o600


@POSIX
def test_an_ordinary_file_is_as_open_as_the_umask_lets_it(tmp_path: Path, umask: int) -> None:
    files.write_atomic(tmp_path / "note.md", NEW, fsync=False)
    assert mode(tmp_path / "note.md") == 0o666 & ~umask


@POSIX
@pytest.mark.usefixtures("umask")
def test_a_private_folder_is_made_private_under_every_umask(tmp_path: Path) -> None:
    files.make_private_folder(tmp_path / "state" / "undo")
    assert mode(tmp_path / "state" / "undo") == 0o700


@POSIX
@pytest.mark.parametrize("before", [0o755, 0o777, 0o750, 0o701])
def test_an_open_folder_is_closed_to_others_and_keeps_its_files(tmp_path: Path, before: int) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "kept").write_bytes(OLD)
    folder.chmod(before)
    files.make_private_folder(folder)
    assert mode(folder) == 0o700
    assert (folder / "kept").read_bytes() == OLD


@POSIX
def test_a_folder_that_is_closed_already_is_left_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o500)
    files.make_private_folder(folder)
    assert mode(folder) == 0o500


# --- what went wrong, in words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "what", "advice"),
    [
        (errno.ENOSPC, "the disk is full", "free some space"),
        (errno.EDQUOT, "quota", "free some space"),
        (errno.EROFS, "read-only", "remount it read-write"),
        (errno.EACCES, "permission denied", "check its permissions"),
        (errno.EPERM, "not permitted", "check its permissions"),
        (errno.ENAMETOOLONG, "too long", "a shorter path"),
        (errno.ENOTDIR, "not a folder", ""),
        (errno.EIO, "the disk reported an error", "check the disk"),
    ],
)
def test_common_error_is_explained_with_advice(code: int, what: str, advice: str) -> None:
    told, _, todo = files.reason(OSError(code, os.strerror(code))).partition("; ")
    assert what in told
    assert advice in todo
    assert todo


def test_other_error_uses_the_systems_words() -> None:
    assert files.reason(OSError(errno.EXDEV, "Invalid cross-device link")) == "invalid cross-device link"
    assert files.reason(OSError("something odd")) == "something odd"


# --- removing ------------------------------------------------------------------------------------------------------


def test_removing_quietly_removes_a_file_and_accepts_that_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "leftover").touch()
    for _ in range(2):
        files.remove_quietly(tmp_path / "leftover")
        assert not (tmp_path / "leftover").exists()


def test_removing_quietly_never_removes_a_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    files.remove_quietly(tmp_path / "folder")
    assert (tmp_path / "folder").is_dir()


def test_a_file_is_created_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "key"
    path.parent.mkdir()
    files.create_once(path, b"first", fsync=True)
    files.create_once(path, b"second", fsync=True)
    assert path.read_bytes() == b"first"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]
