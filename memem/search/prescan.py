"""Scan the vault in a child process, beside other work: mostly nothing has changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from memem.search import refresh
from memem.vault import verdicts
from memem.vault.opening import require_vault

if TYPE_CHECKING:
    from memem.workspace import Workspace


MAX_SCAN_SECONDS = 30  # a slower scan is given up and done by the parent


def refresher(ws: Workspace) -> Callable[[], object]:
    """Return a function that refreshes the index. The caller must have one thread and no index open.

    Where there are cores, a child scans meanwhile, and its exit code says whether anything changed: two threads would
    only take turns with the import of numpy.
    """
    if not hasattr(os, "fork") or (os.cpu_count() or 1) < 2 or threading.active_count() > 1:
        return lambda: refresh.refresh(ws)
    try:
        child = os.fork()
    except OSError:  # no more processes, no more memory
        return lambda: refresh.refresh(ws)
    if not child:
        import signal

        code = 1
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(null, stream)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(MAX_SCAN_SECONDS)
            code = 0 if _is_unchanged(ws) else 1
        finally:
            os._exit(code)  # at once: open files belong to the parent

    def finish() -> None:
        try:
            unchanged = os.waitpid(child, 0)[1] == 0
        except ChildProcessError:  # SIGCHLD is ignored, so the exit code is lost
            unchanged = False
        if not unchanged:
            refresh.refresh(ws)

    return finish


def _is_unchanged(ws: Workspace) -> bool:
    stamp = verdicts.verdicts_stamp(ws.store.paths)
    if not refresh.is_filled(ws, require_vault(ws)) or ws.index.meta(verdicts.VERDICTS_META) != stamp:
        return False
    indexed = {path: stamp for path, (stamp, _) in ws.index.stamps().items()}
    return indexed == dict(ws.store.scan())
