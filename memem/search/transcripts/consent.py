"""The opt-in to background mining: since when sessions may be read, and from where in each file.

Clocks can be wrong, so the date alone decides nothing: bytes that a session file had at the opt-in are never read in
the background. The opt-in is valid only with the state that knows which turns are mined.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO

from memem.core import files, safe_open, sqlite
from memem.core.conversation import Cursor
from memem.core.dates import iso
from memem.core.errors import StateTooNew, StateUnusable
from memem.core.home import using_home
from memem.state.tables import STATE
from memem.transcript.session import cursor_at, find_sessions

if TYPE_CHECKING:
    from memem.workspace import Workspace


MAX_AHEAD = timedelta(days=1)  # an opt-in further in the future was made by a wrong clock, or is read by one


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
    last_write = ws.state.opt_in_record.last_write()
    if last_write is None:  # recorded by an older version
        last_write = _record(ws, text, since, lambda mtime: mtime < since.timestamp())
    # Whichever clock was wrong, nothing that was written before the opt-in may be read, also not in a copy.
    earlier = datetime.fromtimestamp(last_write, since.tzinfo)
    if is_ahead(ws, earlier):
        return since
    return earlier if is_ahead(ws, since) else max(since, earlier)


def is_ahead(ws: Workspace, since: datetime) -> bool:
    """Whether an opt-in is so far in the future that one of two clocks must be wrong."""
    return since > ws.clock() + MAX_AHEAD


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
    if since and not is_ahead(ws, since):
        return since
    now = iso(ws.clock())
    with using_home(ws.home):
        _record(ws, now, datetime.fromisoformat(now), lambda _: True)
        files.write_atomic(ws.home.opt_in, f"{now}\n".encode(), fsync=ws.settings.fsync, mode=files.PRIVATE_FILE)
    return datetime.fromisoformat(now)


def opt_out(ws: Workspace) -> None:
    """Stop background mining. Marked sessions stay in the queue."""
    with using_home(ws.home):
        ws.home.opt_in.unlink(missing_ok=True)


def allowed_from(ws: Workspace, file: BinaryIO, session: str) -> int:
    """Return the offset at which a session file may be read in the background.

    It is 0 for a file that did not exist at the opt-in, and for one that was rewritten: there the date decides alone.
    """
    end = ws.state.opt_in_record.end_of(session)
    return end.offset if end and cursor_at(file, end.offset).digest == end.digest else 0


def _record(ws: Workspace, text: str, since: datetime, is_included: Callable[[float], bool]) -> float:
    """Record an opt-in with the ends of the session files whose time of change is included."""
    ends, last_write = dict[str, Cursor](), 0.0
    for path in find_sessions(ws.session_folders):
        try:
            with safe_open.open_plain(path) as file:
                status = os.fstat(file.fileno())
                if is_included(status.st_mtime):
                    ends[path.stem] = cursor_at(file, status.st_size)
                    last_write = max(last_write, status.st_mtime)
        except OSError:
            continue  # deleted meanwhile, or unreadable: it cannot be mined either
    last_write = last_write or since.timestamp()
    ws.state.opt_in_record.put(text, last_write, ends)
    return last_write
