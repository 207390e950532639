"""The lock of every change to the vault and of a rebuild of the index, and the event of each change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memem.core import files, locks
from memem.core.home import using_home
from memem.safety.gate import clean_line
from memem.vault.note import digest
from memem.vault.store import Change

if TYPE_CHECKING:
    from memem.workspace import Workspace


@contextmanager
def writing(ws: Workspace) -> Iterator[None]:
    """Lock the home and the vault's marker: another home on this machine may use the same vault."""
    with using_home(ws.home):
        for folder in (ws.home.root, ws.home.cache, ws.home.write_lock.parent):
            files.make_private_folder(folder)
        seconds = ws.settings.lock_seconds
        with locks.holding(ws.home.write_lock, seconds), locks.sharing(ws.store.paths.marker, seconds):
            yield


def record_change(ws: Workspace, action: str, identity: str, change: Change, why: str) -> None:
    """Record a change that has happened, or that an undo is about to make."""
    ws.events.record(
        action,
        id=identity,
        path=change.path,
        why=clean_line(why),
        before=digest(change.before) if change.before is not None else "",
        after=digest(change.after) if change.after is not None else "",
        vault=ws.store.vault_id(),
    )
