"""Hook events waiting for a background process: a file for each session and event, and one lock.

The process that holds the lock takes the events, and checks again after releasing it. A hook that finds the lock taken
only leaves its event. So one process works, however many events arrive. `doors/hook/client.py` writes the files, named
after a digest of its settings, since a process uses its own.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from memem.core import files

LOCK_DESCRIPTOR = 3  # under which a hook passes the lock to the process it starts
EXPIRE_SECONDS = 86_400.0  # older events are dropped: the sweep at session start finds their sessions


class Inbox:
    """The events of one digest of settings in a folder."""

    def __init__(self, folder: Path, name: str, lock: int | None = None) -> None:
        self._folder = folder
        self._name = Path(name).name
        self._lock = lock

    def take_events(self) -> Iterator[tuple[str, Path]]:
        """Yield the name and file of each event, while there are any and no other process takes them."""
        while self._acquire():
            yield from self._waiting()
            if self._lock is not None:
                os.close(self._lock)
            self._lock = None
            if not self._waiting():
                return

    def _waiting(self) -> list[tuple[str, Path]]:
        """The events, oldest first."""
        paths = [((files.stamp(path) or (0,))[0], path) for path in self._folder.glob(f"{self._name}-*.json")]
        return [(path.stem.rpartition("-")[2], path) for _, path in sorted(paths)]

    def _acquire(self) -> bool:
        if self._lock is not None:
            return True
        import fcntl  # missing on Windows, where hooks leave no events

        lock = os.open(self._folder / f"{self._name}.lock", os.O_RDWR | os.O_CREAT, files.PRIVATE_FILE)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # another process has it, and checks again
            os.close(lock)
            return False
        self._lock = lock
        return True


def read_event(path: Path) -> bytes | None:
    """Read an event; None if another process has taken it."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def drop_old(folder: Path, now: float) -> None:
    """Drop expired events and files left by killed hooks."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            if not entry.name.endswith(".lock") and now - entry.stat().st_mtime > EXPIRE_SECONDS:
                files.remove_quietly(Path(entry.path))
