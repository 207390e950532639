"""A workspace that threads use one at a time."""

import threading
from collections.abc import Callable
from typing import TypeVar

from memem.core.errors import Busy
from memem.workspace import Workspace

STOP_SECONDS = 2.0

T = TypeVar("T")


class SharedWorkspace:
    """Opened on first use, and again if that failed."""

    def __init__(self, open: Callable[[], Workspace]) -> None:
        self._open = open
        self._ws: Workspace | None = None
        self._turn = threading.RLock()
        self._stopped = threading.Event()

    def do(self, work: Callable[[Workspace], T], seconds: float | None = None) -> T:
        """Do `work` in the calling thread. Raises Busy if its turn does not come within `seconds`."""
        if not self._turn.acquire(timeout=-1 if seconds is None else seconds):
            raise Busy(f"Other work is taking longer than {seconds:g} s. Try again in a moment.")
        try:
            if self._stopped.is_set():
                raise Busy("memem is shutting down; nothing was done.")
            if self._ws is None:
                self._ws = self._open()
            return work(self._ws)
        finally:
            if self._stopped.is_set():
                self._close()
            self._turn.release()

    def stop(self) -> None:
        """Refuse further work, and close the workspace after the work in progress, unless that hangs."""
        self._stopped.set()
        if self._turn.acquire(timeout=STOP_SECONDS):
            try:
                self._close()
            finally:
                self._turn.release()

    def _close(self) -> None:
        if self._ws:
            self._ws.close()
        self._ws = None
