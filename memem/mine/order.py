"""Mine the oldest conversations first, so that later statements replace earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import safe_open
from memem.core.conversation import Turn
from memem.core.dates import moment
from memem.search.transcripts.sessions import OwnCall, is_before, read_conversation
from memem.transcript import session

if TYPE_CHECKING:
    from memem.workspace import Workspace


def sort_unmined(ws: Workspace, paths: Iterable[Path], since: datetime | None) -> list[Path]:
    """Sort session files by their first unmined turn. Reading stops there."""
    paths = list(paths)
    return sort_sessions(paths, {path.stem: _find_first_time(ws, path, since) for path in paths})


def sort_sessions(paths: Iterable[Path], times: Mapping[str, float | None]) -> list[Path]:
    """Sort session files by these times, in seconds, or by the file's own time if a session's is unknown."""

    def get_time(path: Path) -> float:
        time = times.get(path.stem)
        return get_change_time(path) if time is None else time

    return sorted(paths, key=get_time)


def get_change_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # gone meanwhile
        return 0.0


def get_turn_time(turn: Turn) -> float | None:
    """Return the time of a turn in seconds; None if it has none that can be read."""
    time = moment(turn.time)
    return time.timestamp() if time else None


def _find_first_time(ws: Workspace, path: Path, since: datetime | None) -> float | None:
    record = ws.state.sessions.get(path.stem)
    with suppress(OSError, OwnCall), safe_open.open_plain(path) as file:
        is_continued = record is not None and (since is not None or record.whole)
        start = session.start_of(file, record.cursor) if record and is_continued else 0
        for step in read_conversation(file, start, path.stem):
            turn = step.line.turn
            if turn and not is_before(step.line.time, since) and not ws.state.sessions.is_taken(turn.uuid, path.stem):
                return get_turn_time(turn)
    return None
