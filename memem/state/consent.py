"""The opt-in to background mining. Its marker is valid only with the state that knows which turns are mined."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memem.core import files, sqlite
from memem.core.dates import iso
from memem.core.errors import StateTooNew, StateUnusable
from memem.core.home import using_home
from memem.state.tables import STATE

if TYPE_CHECKING:
    from memem.workspace import Workspace


MAX_AHEAD = timedelta(days=1)  # a later opt-in was made by a wrong clock, and is replaced by the current time


def opted_in(ws: Workspace) -> datetime | None:
    """Since when sessions may be mined in the background; None if they may not. Raises StateUnusable."""
    try:
        text = ws.home.opt_in.read_text(encoding="utf-8").strip()
        since = datetime.fromisoformat(text)
    except (OSError, ValueError):
        return None
    if not ws.home.state_file.exists() or ws.state.opt_in_record.since() != text:
        return None
    since = since if since.tzinfo else since.astimezone()
    return _write_opt_in(ws) if since > ws.clock() + MAX_AHEAD else since


def opt_in(ws: Workspace) -> datetime:
    """Mine sessions from now on; earlier turns stay unmined. A damaged state is set aside."""
    try:
        if ws.home.state_file.is_file():
            sqlite.check_integrity(ws.home.state_file, STATE, thorough=False)
        since = opted_in(ws)
    except StateTooNew:
        raise
    except StateUnusable:
        ws.close()
        sqlite.set_aside(ws.home.state_file)
        since = None
    return since or _write_opt_in(ws)


def _write_opt_in(ws: Workspace) -> datetime:
    now = iso(ws.clock())
    with using_home(ws.home):
        ws.state.opt_in_record.put(now)
        files.write_atomic(ws.home.opt_in, f"{now}\n".encode(), fsync=ws.settings.fsync, mode=files.PRIVATE_FILE)
    return datetime.fromisoformat(now)


def opt_out(ws: Workspace) -> None:
    """Stop background mining. Marked sessions stay in the queue."""
    with using_home(ws.home):
        ws.home.opt_in.unlink(missing_ok=True)
