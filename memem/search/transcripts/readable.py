"""Read the turns of a session that memem may read: not its own calls, nor projects that opted out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from memem.core import project
from memem.core.dates import moment
from memem.safety.naming import clean_project_name
from memem.transcript import session as transcript_session
from memem.transcript.session import TranscriptStep

if TYPE_CHECKING:
    from memem.workspace import Workspace

MAX_TURN_CHARS, TURN_END_CHARS = 12_000, 3_000  # of a longer turn, mostly pasted text, the middle is left out
_ELLIPSIS = "\n[…]\n"


class OwnCall(Exception):
    """The transcript is that of a model call memem made."""


def read_conversation(file: BinaryIO, start: int, session: str) -> Iterator[TranscriptStep]:
    """Read a session from an offset; a line without a time gets that of the line before. Raises OwnCall."""
    has_turns, time = start > 0, ""
    for step in transcript_session.steps(file, start, session):
        line = step.line
        time = line.time or time
        if line.own and not has_turns:
            raise OwnCall
        turn = None if line.own else line.turn  # later in a session it is a quotation of our call
        has_turns = has_turns or turn is not None
        yield TranscriptStep(replace(line, turn=turn, time=time), step.end)


class Projects:
    """The projects of working folders, and whether they may be mined."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._names: dict[str, str | None] = {}
        self.refusals: dict[str, str] = {}  # folders that may not be mined, and why

    def name(self, cwd: str) -> str | None:
        """The project of a folder; None when it may not be mined. Raises SettingsError when its settings are broken."""
        if cwd not in self._names:
            folder = Path(cwd) if cwd else self._ws.user_home
            if not project.may_be_mined(folder):
                self.refusals[cwd] = f"{folder} opts out of mining ({project.OVERRIDE})."
                self._names[cwd] = None
                return None
            try:
                self._names[cwd] = self._ws.project_of(folder).name
            except (OSError, ValueError):  # not a possible folder name
                self._names[cwd] = clean_project_name(folder.name)
        return self._names[cwd]


def shorten_turn(text: str) -> str:
    if len(text) <= MAX_TURN_CHARS:
        return text
    return text[: MAX_TURN_CHARS - TURN_END_CHARS - len(_ELLIPSIS)] + _ELLIPSIS + text[-TURN_END_CHARS:]


def is_before(time: str, since: datetime | None) -> bool:
    """Whether a turn is older than a moment; one without a time is assumed to be."""
    turn_time = moment(time)
    return since is not None and (turn_time is None or turn_time < since)
