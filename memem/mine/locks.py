"""One miner for a session, a few for the machine. The locks are the kernel's: they end with their holder."""

import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memem.core import files, locks
from memem.core.errors import Busy, HomeError

POOL = 64
"""Sessions share so many lock files: two that meet on one are mined in turn, and no file is left for each session."""


def lock_of(folder: Path, session: str) -> Path:
    """The lock of a session; whatever its name is, it never becomes a path."""
    return folder / f"session-{zlib.crc32(session.encode('utf-8', 'replace')) % POOL:02}.lock"


@contextmanager
def session_lock(folder: Path, session: str) -> Iterator[bool]:
    """Whether this session is ours for as long as the block lasts."""
    with session_locks(folder, [session]) as held:
        yield held


@contextmanager
def session_locks(folder: Path, sessions: Iterable[str]) -> Iterator[bool]:
    """Whether all of these sessions are ours for as long as the block lasts; if one is not, none is."""
    wanted = sorted({lock_of(folder, session) for session in sessions})
    with _prepared(folder) as stack:
        held = all(_takes(stack, path) for path in wanted)
        if not held:
            stack.close()
        yield held


@contextmanager
def miner_slot(folder: Path, slots: int) -> Iterator[bool]:
    """Whether there is room for one more miner on this machine, and it is ours."""
    with _prepared(folder) as stack:
        yield any(_takes(stack, folder / f"slot-{number:02}.lock") for number in range(slots))


@contextmanager
def _prepared(folder: Path) -> Iterator[ExitStack]:
    """A stack for locks in a folder, which is made if need be."""
    try:
        files.make_private_folder(folder)
    except OSError as error:
        raise HomeError(f"Cannot use {folder}: {files.reason(error)}. MEMEM_DIR can name another folder.") from None
    with ExitStack() as stack:
        yield stack


def _takes(stack: ExitStack, path: Path) -> bool:
    try:
        stack.enter_context(locks.holding(path, 0))
    except Busy:
        return False
    return True
