"""A disk that fails: every operation that changes a file, and every statement that changes a database, is counted, and
one of them goes wrong.

    ended = run(folder, lambda: act(ws), Fault("tear", 7))

It runs in a child, where `os` and `sqlite3` themselves are wrapped: whichever module writes, and however it does, it is
met. Three things can go wrong with the operation that has the number of the fault, and those after it:

    fail   it alone fails, by turns for want of space and by an error of the disk; a write leaves the first half
    full   it fails for want of space, and so does whatever needs some from then on
    tear   a write leaves the first half, and the process is gone, as by `kill -9`: nothing is cleaned up
"""

import errno
import json
import os
import sqlite3
import stat
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

FAIL, FULL, TEAR = MODES = ("fail", "full", "tear")
TORN = 86
"""The exit code of a process that a fault has ended."""
NEVER = -1

_BY_PATH = ("replace", "rename", "link", "symlink", "unlink", "remove", "mkdir", "rmdir", "truncate", "chmod", "utime")
_BY_FILE = ("write", "pwrite", "fsync", "fdatasync", "ftruncate", "fchmod")
_NEED_ROOM = ("write", "pwrite", "mkdir", "open", "link", "symlink")
"""Operations that a full disk refuses; removing is always possible."""
_SETTING = ("pragma synchronous",)
"""A statement that says something of a connection alone."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and the operation it strikes, counted from 0."""

    mode: str
    at: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended.

    `operations` names those that were counted. `problem` is what was raised, in words, and `kind` the names of its
    class and of those it is made from.
    """

    torn: bool
    operations: tuple[str, ...] = ()
    problem: str = ""
    kind: tuple[str, ...] = ()
    told: Any = None


@dataclass
class Disk:
    """Counts what is changed below `folder`, and fails as the fault says."""

    folder: Path
    fault: Fault
    watching: Callable[[str, Path], object] = lambda *_: None
    operations: list[str] = field(default_factory=list)
    is_armed: bool = True
    _real: dict[str, Callable[..., Any]] = field(default_factory=dict)
    _files: dict[int, str] = field(default_factory=dict)

    def install(self) -> None:
        """For the rest of this process."""
        for name in ("open", "close", *_BY_PATH, *_BY_FILE):
            self._real[name] = getattr(os, name)
        setattr(os, "open", self._open)  # noqa: B010 - mypy knows that nobody should
        setattr(os, "close", self._close)  # noqa: B010
        for name in _BY_PATH:
            setattr(os, name, self._by_path(name))
        for name in _BY_FILE:
            setattr(os, name, self._by_file(name))
        _install_connections(self)

    def reached(self, what: str, tear: Callable[[], object] = lambda: None, *, needs_room: bool = True) -> str:
        """Count an operation; how it is to fail, if it is: for want of `space`, or by the `disk`."""
        if not self.is_armed:
            return ""
        number = len(self.operations)
        self.operations.append(what)
        if self.fault.mode == FULL and 0 <= self.fault.at <= number:
            return "space" if needs_room else ""
        if number != self.fault.at:
            return ""
        tear()
        if self.fault.mode == TEAR:
            self._end()
        return "space" if number % 2 else "disk"

    def _end(self) -> NoReturn:
        os._exit(TORN)

    def _is_ours(self, path: object) -> bool:
        try:
            return str(Path(os.fsdecode(path)).absolute()).startswith(f"{self.folder}{os.sep}")  # type: ignore[arg-type]
        except TypeError:
            return path in self._files

    def _open(self, path: Any, flags: int, *more: Any, **named: Any) -> int:
        changes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        ours = "dir_fd" not in named and self._is_ours(path)
        if ours and changes:
            _raise(self.reached(f"open {_shown(path)}"), path)
        descriptor: int = self._real["open"](path, flags, *more, **named)
        if ours:
            self._files[descriptor] = _shown(path)
        return descriptor

    def _close(self, descriptor: int) -> None:
        self._files.pop(descriptor, None)
        self._real["close"](descriptor)

    def _by_path(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            if named.get("dir_fd") is not None or named.get("src_dir_fd") is not None or self._is_ours(args[0]):
                self.watching(name, Path(os.fsdecode(args[0])) if not isinstance(args[0], int) else Path())
                _raise(self.reached(f"{name} {_shown(args[0])}", needs_room=name in _NEED_ROOM), args[0])
            return self._real[name](*args, **named)

        return call

    def _by_file(self, name: str) -> Callable[..., Any]:
        def call(descriptor: int, *args: Any, **named: Any) -> Any:
            known = self._files.get(descriptor)
            if known is None:
                return self._real[name](descriptor, *args, **named)

            def half() -> None:
                if name in ("write", "pwrite"):
                    data = bytes(args[0])
                    self._real[name](descriptor, data[: len(data) // 2], *args[1:])

            kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
            what = f"{name} {kind if name.endswith('sync') else ''} {known}"
            _raise(self.reached(" ".join(what.split()), half, needs_room=name in _NEED_ROOM), known)
            return self._real[name](descriptor, *args, **named)

        return call


def _install_connections(disk: Disk) -> None:
    """Every connection that is opened from now on counts what it changes."""
    real = sqlite3.connect

    class Counted(sqlite3.Connection):
        def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
            self._count(sql)
            return super().execute(sql, *given)

        def executemany(self, sql: str, *given: Any) -> sqlite3.Cursor:
            self._count(sql)
            return super().executemany(sql, *given)

        def _count(self, sql: str) -> None:
            words = " ".join(sql.split())
            if _only_reads(words.lower()):
                return
            needs_room = not words.lower().startswith(("begin", "rollback"))
            failing = disk.reached(f"sql {words[:60]}", needs_room=needs_room)
            if not failing:
                return
            if failing == "space" and self.in_transaction:
                super().execute("ROLLBACK")  # SQLite does so by itself when the disk is full
            code = sqlite3.SQLITE_FULL if failing == "space" else sqlite3.SQLITE_IOERR
            error = sqlite3.OperationalError("database or disk is full" if failing == "space" else "disk I/O error")
            error.sqlite_errorcode = code
            raise error

    def connect(database: Any, *given: Any, **named: Any) -> sqlite3.Connection:
        opened: sqlite3.Connection = real(database, *given, **{**named, "factory": Counted})
        return opened

    sqlite3.connect = connect  # type: ignore[assignment]


def _only_reads(words: str) -> bool:
    if words.startswith("pragma"):
        return "=" not in words or words.startswith(_SETTING)
    return words.startswith(("select", "with", "explain"))


def _raise(failing: str, path: object) -> None:
    if failing == "space":
        raise OSError(errno.ENOSPC, "No space left on device", str(path))
    if failing == "disk":
        raise OSError(errno.EIO, "Input/output error", str(path))


def _shown(path: object) -> str:
    return Path(os.fsdecode(path)).name if not isinstance(path, int) else str(path)  # type: ignore[arg-type]


def run(
    folder: Path,
    work: Callable[[Disk], Any],
    fault: Fault = Fault(FAIL, NEVER),  # noqa: B008 - frozen
    watching: Callable[[str, Path], object] = lambda *_: None,
) -> Ended:
    """Do the work in a child on a disk with this fault. What it returns, as JSON, is told, if it was not torn."""
    reading, writing = os.pipe()
    child = _fork()
    if not child:
        os.close(reading)
        _as_a_child(writing, Disk(folder, fault, watching), work)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == TORN:
        return Ended(torn=True)
    if code or not said:
        raise AssertionError(f"A child with {fault} ended with {code}: {said.decode()}")
    told = json.loads(said)
    return Ended(False, tuple(told["operations"]), told["problem"], tuple(told["kind"]), told["told"])


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads that the tests' own runner has
        return os.fork()


def _as_a_child(writing: int, disk: Disk, work: Callable[[Disk], Any]) -> NoReturn:
    code = 1
    try:
        told: dict[str, Any] = {"problem": "", "kind": (), "told": None}
        real_write = os.write
        disk.install()
        try:
            told["told"] = work(disk)
        except Exception as problem:  # noqa: BLE001 - that is what is asked for
            told["problem"] = str(problem) or repr(problem)
            told["kind"] = [each.__name__ for each in type(problem).__mro__]
            told["trace"] = traceback.format_exc()
        disk.is_armed = False
        data = json.dumps({**told, "operations": disk.operations}).encode()
        while data:
            data = data[real_write(writing, data) :]
        code = 0
    except BaseException:  # noqa: BLE001 - a child never goes on where its parent does
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
    finally:
        os._exit(code)


@contextmanager
def unarmed(disk: Disk) -> Iterator[None]:
    """Exclude the operations within from counting and failing."""
    disk.is_armed = False
    try:
        yield
    finally:
        disk.is_armed = True
