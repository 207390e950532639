"""One writer at a time: the lock that every change to the vault, and a rebuild of the index, holds."""

from collections.abc import Iterator
from contextlib import contextmanager

from memem.core import files, locks
from memem.flows.opening import using_home
from memem.workspace import Workspace


@contextmanager
def writing(ws: Workspace) -> Iterator[None]:
    """Hold the home's write lock."""
    with using_home(ws):
        files.make_folder(ws.home.root)
        files.make_private_folder(ws.home.write_lock.parent)
        with locks.holding(ws.home.write_lock, ws.settings.lock_seconds):
            yield
