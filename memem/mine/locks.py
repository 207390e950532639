"""Locks of miners: one per session, a few for the machine. The kernel releases them when their process ends."""

import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memem.core import files, locks
from memem.core.errors import Busy, HomeError

POOL = 64  # lock files that sessions share, so that none is left per session; two on one file are mined in turn


def lock_of(folder: Path, session: str) -> Path:
    """Return the lock file of a session; its name never becomes a path."""
    return folder / f"session-{zlib.crc32(session.encode('utf-8', 'replace')) % POOL:02}.lock"


@contextmanager
def session_locks(folder: Path, *sessions: str) -> Iterator[bool]:
    """Try to lock all of these sessions without waiting, or else none; yield whether they are locked."""
    paths = sorted({lock_of(folder, session) for session in sessions})
    with _open_stack(folder) as stack:
        is_locked = all(_try_lock(stack, path) for path in paths)
        if not is_locked:
            stack.close()
        yield is_locked


@contextmanager
def miner_slot(folder: Path, slots: int) -> Iterator[bool]:
    """Try to take one of the machine's slots for miners; yield whether there was one."""
    with _open_stack(folder) as stack:
        yield any(_try_lock(stack, folder / f"slot-{number:02}.lock") for number in range(slots))


@contextmanager
def _open_stack(folder: Path) -> Iterator[ExitStack]:
    try:
        files.make_private_folder(folder)
    except OSError as error:
        raise HomeError(f"Cannot use {folder}: {files.reason(error)}. Set MEMEM_DIR to use another folder.") from None
    with ExitStack() as stack:
        yield stack


def _try_lock(stack: ExitStack, path: Path) -> bool:
    try:
        stack.enter_context(locks.holding(path, 0))
    except Busy:
        return False
    return True
