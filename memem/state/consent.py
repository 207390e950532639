"""Whether sessions may be mined in the background: only once their user has said so, and from then on.

The marker counts only beside the state that it was made with. Without that state nobody knows any more what is mined:
what was said before is then left alone, rather than kept twice.
"""

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


AHEAD = timedelta(days=1)
"""An opt-in that is further in the future was made by a wrong clock: it counts from when that is seen."""


def opted_in(ws: Workspace) -> datetime | None:
    """Since when sessions may be mined in the background; None when they may not. Raises StateUnusable."""
    try:
        text = ws.home.opt_in.read_text(encoding="utf-8").strip()
        since = datetime.fromisoformat(text)
    except (OSError, ValueError):
        return None
    if not ws.home.state_file.exists() or ws.state.opt_in_record.since() != text:
        return None
    since = since if since.tzinfo else since.astimezone()
    # A clock that was wrong must not keep sessions from being mined until it would have been right.
    return _begin(ws) if since > ws.clock() + AHEAD else since


def opt_in(ws: Workspace) -> datetime:
    """Mine what is said from now on; what was said before stays as it is."""
    since = _agreed(ws)
    return since or _begin(ws)


def _begin(ws: Workspace) -> datetime:
    now = iso(ws.clock())
    with using_home(ws.home):
        ws.state.opt_in_record.put(now)
        data = f"{now}\n".encode()
        files.write_atomic(ws.home.opt_in, data, fsync=ws.settings.fsync, mode=files.PRIVATE_FILE)
    return datetime.fromisoformat(now)


def _agreed(ws: Workspace) -> datetime | None:
    """The same, where the state can be used; one that is damaged is set aside: to opt in is to begin anew."""
    try:
        if ws.home.state_file.is_file():
            sqlite.check_integrity(ws.home.state_file, STATE, thorough=False)
        return opted_in(ws)
    except StateTooNew:
        raise
    except StateUnusable:
        ws.close()
        sqlite.set_aside(ws.home.state_file)
        return None


def opt_out(ws: Workspace) -> None:
    """Mine nothing in the background any more. What is marked waits."""
    with using_home(ws.home):
        ws.home.opt_in.unlink(missing_ok=True)
