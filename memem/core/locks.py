"""Locks between processes. Only writers import this: portalocker takes 90 ms, and readers need no lock."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import portalocker

from memem.core import files
from memem.core.errors import Busy, HomeError


@contextmanager
def holding(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock at `path`; raise Busy if another process still has it after `seconds`."""
    lock = portalocker.Lock(path, mode="a", timeout=seconds, check_interval=0.02)
    try:
        path.touch(mode=files.PRIVATE_FILE)
        lock.acquire()
    except portalocker.AlreadyLocked:
        raise Busy(
            f"Another memem process is writing (it holds the lock {path}). Try again in a moment; nothing was changed."
        ) from None
    except portalocker.LockException as problem:
        raise _unlockable(path, problem) from None
    except OSError as error:
        raise HomeError(f"Cannot use {path}: {files.reason(error)}. Set MEMEM_DIR to use another folder.") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def sharing(path: Path, seconds: float) -> Iterator[None]:
    """Lock a file that is only read, as `holding` does; do nothing if it is missing or its file system has no locks."""
    if os.name != "posix":  # on Windows a lock would keep others from reading it
        yield
        return
    descriptor = _lock_current(path, seconds)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _lock_current(path: Path, seconds: float) -> int | None:
    """Lock the file that has this name, also if it is replaced while we wait."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # should it be a pipe
        except OSError:
            return None
        try:
            _wait_for(descriptor, path, seconds)
        except Busy:
            os.close(descriptor)
            raise
        status = os.fstat(descriptor)
        if files.identity(path) in (None, (status.st_dev, status.st_ino)):
            return descriptor
        os.close(descriptor)


def _wait_for(descriptor: int, path: Path, seconds: float) -> None:
    import fcntl

    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                why = f"Another memem process is writing to this vault (it holds the lock {path})."
                raise Busy(f"{why} Try again in a moment; nothing was changed.") from None
            time.sleep(0.02)
        except OSError:
            return
        else:
            return


@contextmanager
def awaiting(path: Path) -> Iterator[None]:
    """Hold the lock at `path`, however long that takes. The wait cannot be interrupted: call it in a daemon thread."""
    while True:
        path.touch(mode=files.PRIVATE_FILE)
        with path.open("a") as file:
            try:
                portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE)
            except portalocker.LockException as problem:
                raise _unlockable(path, problem) from None
            status = os.fstat(file.fileno())
            if files.identity(path) != (status.st_dev, status.st_ino):
                continue  # deleted while we waited: others use the new file
            yield
            return


def _unlockable(path: Path, problem: Exception) -> HomeError:
    return HomeError(f"{path} cannot be locked: {problem}. Set MEMEM_DIR to a folder on a local disk.")
