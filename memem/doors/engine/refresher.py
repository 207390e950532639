"""A thread that keeps the index up to date, so that no prompt has to wait for a scan or for new vectors."""

import threading
import time
from collections.abc import Callable

from memem.core.dates import Ticks
from memem.doors.engine.election import Log
from memem.inject import statusline
from memem.search import meaning, refresh
from memem.workspace import Workspace

BUSY_SECONDS = 300.0  # after a request, the vault is scanned often for this long
IDLE_FACTOR = 10  # afterwards, scans are this many times rarer
PORTION = 8  # passages encoded at a time, in a tenth of a second
STOP_SECONDS = 1.0


class Refresher:
    """Starts with the first `touch`: a server that does not lead never scans the vault."""

    def __init__(self, open: Callable[[], Workspace], *, log: Log, ticks: Ticks = time.monotonic) -> None:
        self._open, self._log, self._ticks = open, log, ticks
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._is_stopped = False
        self._touched = 0.0
        self._cost = 0.0  # seconds for a scan with few changes
        self._reported = ""  # the last problem, logged once

    def touch(self) -> None:
        """Note a request: more may follow soon."""
        with self._changed:
            self._touched = self._ticks()
            if self._thread is None and not self._is_stopped:
                self._thread = threading.Thread(target=self._run, name="memem-refresher", daemon=True)
                self._thread.start()
            self._changed.notify()

    def stop(self) -> None:
        """Stop, and close the workspace; a scan that hangs is abandoned."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()
        if self._thread:
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        ws: Workspace | None = None
        while not self._is_stopped:
            began = self._ticks()
            try:
                ws = ws or self._open()
                scan = refresh.refresh(ws)
                if scan.changed * 10 <= scan.files:
                    self._cost = self._ticks() - began
                if scan.changed or scan.gone or statusline.is_outdated(ws):
                    statusline.update(ws)
                self._encode(ws)
                self._reported = ""
            except Exception as error:  # noqa: BLE001 - the vault may come back
                problem = f"{type(error).__name__}: {error}"
                if problem != self._reported:
                    self._log(f"The index is not being kept up to date: {problem}")
                self._reported = problem
            self._rest(began)
        if ws:
            ws.close()

    def _encode(self, ws: Workspace) -> None:
        """Encode a few new passages; many are left to a background process."""
        if not ws.has_encoder:
            return  # the model is loaded by the first search
        missing = meaning.update_pending(ws)
        while 0 < missing <= meaning.MAX_INLINE_PASSAGES and not self._is_stopped:
            meaning.encode_some(ws, PORTION)
            before, missing = missing, meaning.update_pending(ws)
            if missing >= before:
                return  # the rest belongs to no note any more, or new passages keep coming

    def _rest(self, began: float) -> None:
        """Wait for the next scan, which a request may bring forward."""
        interval = max(refresh.RESCAN_SECONDS, refresh.RESCAN_SHARE * self._cost)
        with self._changed:
            while not self._is_stopped:
                now = self._ticks()
                share = 1 if now - self._touched < BUSY_SECONDS else IDLE_FACTOR
                left = began + share * interval - now
                if left <= 0:
                    return
                self._changed.wait(left)
