"""A thread that keeps the index true to the vault, so that no prompt has to wait for a scan or for new vectors."""

import threading
import time
from collections.abc import Callable

from memem.core.dates import Ticks
from memem.inject import statusline
from memem.search import meaning, refresh
from memem.workspace import Workspace

BUSY_SECONDS = 300.0
"""For so long after a request the vault is watched closely."""
IDLE_SHARE = 10
"""Otherwise it is looked at so many times as rarely."""
PORTION = 8
"""Passages encoded at a time: a tenth of a second's work, after which a stop is heeded."""
FAREWELL_SECONDS = 1.0


class Refresher:
    """Begins with the first `touch`: a server that leaves the work to another never looks at the vault itself."""

    def __init__(
        self, open: Callable[[], Workspace], *, log: Callable[[str], object], ticks: Ticks = time.monotonic
    ) -> None:
        self._open = open
        self._log = log
        self._ticks = ticks
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._is_stopped = False
        self._touched = 0.0
        self._cost = 0.0  # what a scan takes when there is little to read
        self._complaint = ""

    def touch(self) -> None:
        """There is a request: whoever asks once may ask again."""
        with self._changed:
            self._touched = self._ticks()
            if self._thread is None and not self._is_stopped:
                self._thread = threading.Thread(target=self._run, name="memem-refresher", daemon=True)
                self._thread.start()
            self._changed.notify()

    def stop(self) -> None:
        """End, and close the workspace; a look at a vault that hangs is left behind."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()
        if self._thread:
            self._thread.join(FAREWELL_SECONDS)

    def _run(self) -> None:
        ws: Workspace | None = None
        while not self._is_stopped:
            began = self._ticks()
            try:
                ws = ws or self._open()
                self._look(ws)
                self._complaint = ""
            except Exception as problem:  # noqa: BLE001 - a vault may be unmounted, broken, back again: we go on
                self._complain(f"{type(problem).__name__}: {problem}")
            self._rest(began)
        if ws:
            ws.close()

    def _look(self, ws: Workspace) -> None:
        before = self._ticks()
        found = refresh.refresh(ws)
        if found.changed * 10 <= found.files:
            self._cost = self._ticks() - before
        if found.changed or found.gone or statusline.is_outdated(ws):
            statusline.update(ws)
        self._encode(ws)

    def _encode(self, ws: Workspace) -> None:
        """Compute the vectors of what is new, else the next prompt would. Many are left to a process of their own."""
        if not ws.has_encoder:
            return  # nobody has asked for meaning yet: the model is not loaded for the sake of this
        missing = meaning.update_pending(ws)
        while 0 < missing <= meaning.MAX_INLINE_PASSAGES and not self._is_stopped:
            meaning.encode_some(ws, PORTION)
            before, missing = missing, meaning.update_pending(ws)
            if missing >= before:
                return  # what is left is in no note any more, or comes as fast as it goes

    def _rest(self, began: float) -> None:
        """Until it is time to look again, which a request may change."""
        interval = max(refresh.RESCAN_SECONDS, refresh.RESCAN_SHARE * self._cost)
        with self._changed:
            while not self._is_stopped:
                now = self._ticks()
                share = 1 if now - self._touched < BUSY_SECONDS else IDLE_SHARE
                left = began + share * interval - now
                if left <= 0:
                    return
                self._changed.wait(left)

    def _complain(self, what: str) -> None:
        """The same trouble is told once, until it is over."""
        if what != self._complaint:
            self._log(f"The index is not being kept up to date: {what}")
        self._complaint = what
