"""Locks between processes. Only writers import this: portalocker takes 90 ms, and readers take no lock."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import portalocker

from memem.core import files
from memem.core.errors import Busy, HomeError


@contextmanager
def holding(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock at `path`, or raise Busy when somebody else still does after `seconds`."""
    path.touch(mode=files.PRIVATE_FILE)
    lock = portalocker.Lock(path, mode="a", timeout=seconds, check_interval=0.02)
    try:
        lock.acquire()
    except portalocker.AlreadyLocked:
        raise Busy(f"Another memem is writing (it holds {path}). Try again in a moment; nothing was changed.") from None
    except portalocker.LockException as problem:
        raise HomeError(f"{path} cannot be locked: {problem}. MEMEM_DIR can name a folder on a local disk.") from None
    try:
        yield
    finally:
        lock.release()
