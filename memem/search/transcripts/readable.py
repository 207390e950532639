"""Which turns of a session memem may read: not those of its own calls, nor of projects that refuse it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from memem.core import project
from memem.core.dates import moment
from memem.safety.naming import project_named
from memem.transcript import session as transcript_session
from memem.transcript.session import TranscriptStep

if TYPE_CHECKING:
    from memem.workspace import Workspace


TURN_CHARACTERS = 12_000
TURN_END = 3_000
"""Of a longer turn, mostly something pasted, the beginning is sent and so much of its end."""
_CUT = "\n[…]\n"


class OwnCall(Exception):
    """The transcript is that of a call of ours."""


def conversation(file: BinaryIO, start: int, session: str) -> Iterator[TranscriptStep]:
    """A session from an offset on; what bears no time has that of what is before it. Raises OwnCall."""
    begun, time = start > 0, ""
    for step in transcript_session.steps(file, start, session):
        line = step.line
        time = line.time or time
        if line.own and not begun:
            raise OwnCall
        turn = None if line.own else line.turn  # somebody quotes a call of ours
        begun = begun or turn is not None
        yield TranscriptStep(replace(line, turn=turn, time=time), step.end)


class Projects:
    """The projects of the folders that something was said in, and whether they may be mined."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._names: dict[str, str | None] = {}
        self.refusals: dict[str, str] = {}
        """Folders that may not be mined, and why."""

    def name(self, cwd: str) -> str | None:
        """The name of the project that a folder belongs to; None when it may not be mined."""
        if cwd not in self._names:
            folder = Path(cwd) if cwd else self._ws.user_home
            refusal = self._refusal(folder)
            if refusal:
                self.refusals[cwd] = refusal
            self._names[cwd] = None if refusal else self._named(folder)
        return self._names[cwd]

    def _refusal(self, folder: Path) -> str:
        """Why nothing said in a folder is mined; empty when it is. Raises SettingsError when nobody can tell."""
        return "" if project.may_be_mined(folder) else f"{folder} is not to be mined ({project.OVERRIDE})."

    def _named(self, folder: Path) -> str:
        try:
            return self._ws.project_of(folder).name
        except (OSError, ValueError):  # no folder can have such a name
            return project_named(folder.name)


def cut(text: str) -> str:
    """The beginning and the end of a turn that is too long."""
    if len(text) <= TURN_CHARACTERS:
        return text
    return text[: TURN_CHARACTERS - TURN_END - len(_CUT)] + _CUT + text[-TURN_END:]


def is_before(time: str, since: datetime | None) -> bool:
    """Whether something was said before a moment; of what bears no time that has to be assumed."""
    said = moment(time)
    return since is not None and (said is None or said < since)
