"""A look at the vault by a child of this process, beside other work: mostly nothing has changed."""

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


LOOK_SECONDS = 30
"""A scan by a child that takes longer is given up, and done here."""


def refresher(ws: Workspace) -> Callable[[], object]:
    """A refresh, to be called when it is needed; where there are cores for it, the look at the vault begins now.

    A scan is mostly Python and so is the import of numpy: two threads would only take turns. So a child of this
    process looks whether anything changed at all, and says so by how it ends; the rest happens here. To be called
    by a process that has one thread and no index open, like a command at its start.
    """
    if not hasattr(os, "fork") or (os.cpu_count() or 1) < 2 or threading.active_count() > 1:
        return lambda: refresh.refresh(ws)
    try:
        child = os.fork()
    except OSError:  # no more processes, no more memory
        return lambda: refresh.refresh(ws)
    if not child:
        code = 1
        try:
            _stand_alone()
            code = 0 if _is_unchanged(ws) else 1
        finally:
            os._exit(code)  # at once: what this process has open is its parent's

    def finish() -> None:
        try:
            unchanged = os.waitpid(child, 0)[1] == 0
        except ChildProcessError:  # whoever started us ignores its children, and so do we: how it ended is lost
            unchanged = False
        if not unchanged:
            refresh.refresh(ws)

    return finish


def _stand_alone() -> None:
    """In a child: nobody waits for what it holds open, nor for a look at a disk that does not answer."""
    import signal

    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LOOK_SECONDS)


def _is_unchanged(ws: Workspace) -> bool:
    """Whether a refresh would find nothing to do."""
    if not refresh.is_filled(ws, require_vault(ws)) or ws.index.meta(verdicts.VERDICTS_META) != verdicts.verdicts_stamp(
        ws.store.paths
    ):
        return False
    known = ws.index.stamps()
    for path, stamp in ws.store.scan():
        if known.pop(path, (None, ""))[0] != stamp:
            return False
    return not known
