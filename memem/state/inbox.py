"""Events that hooks have left for a process of its own: a file for each session and event, and one lock for all.

Whoever holds the lock takes up what is there, and looks once more after letting go; a hook that finds the lock held
leaves its letter and starts nobody. So however many events come at once, one process is at them. The hooks' client
writes them (`doors/hook/client.py`), each under the name of what its settings come from: a process works by its own.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from memem.core import files

LOCK_DESCRIPTOR = 3
"""The number under which a process is given the lock by the hook that has started it, which holds it already."""
EXPIRE_SECONDS = 86_400.0
"""What nobody has taken up for so long is dropped: a sweep finds its session by itself."""


class Inbox:
    """Those that one kind of settings has in a folder."""

    def __init__(self, folder: Path, name: str, held: int | None = None) -> None:
        self._folder = folder
        self._name = Path(name).name
        self._held = held

    def take_events(self) -> Iterator[tuple[str, Path]]:
        """Each letter's event and file, for as long as there are any and nobody else is at them."""
        while self._holds():
            yield from self._waiting()
            self._let_go()
            if not self._waiting():
                return

    def _waiting(self) -> list[tuple[str, Path]]:
        """In the order in which they came, as far as the disk tells."""
        found = [(_age(path), path) for path in self._folder.glob(f"{self._name}-*.json")]
        return [(path.stem.rpartition("-")[2], path) for _, path in sorted(found)]

    def _holds(self) -> bool:
        if self._held is not None:
            return True
        import fcntl  # where there are none, hooks leave no letters

        held = os.open(self._folder / f"{self._name}.lock", os.O_RDWR | os.O_CREAT, files.PRIVATE_FILE)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # somebody else is at them, and looks once more
            os.close(held)
            return False
        self._held = held
        return True

    def _let_go(self) -> None:
        if self._held is not None:
            os.close(self._held)
        self._held = None


def read_event(path: Path) -> bytes | None:
    """What a letter says; None when somebody else has taken it."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def drop_old(folder: Path, now: float) -> None:
    """Those that nobody wants any more, and what a killed hook was writing."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            if not entry.name.endswith(".lock") and now - entry.stat().st_mtime > EXPIRE_SECONDS:
                files.remove_quietly(Path(entry.path))


def _age(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
