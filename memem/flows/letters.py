"""Take up what hooks have left for a process of its own (`jobs/letters.py`), letter by letter."""

from collections.abc import Callable
from pathlib import Path

from memem.core import files
from memem.core.errors import MememError
from memem.jobs.letters import HELD, Letters, read
from memem.workspace import Workspace

Reading = Callable[[str, bytes], object]
"""Given an event and its envelope."""


def take_up(ws: Workspace, name: str, first: Reading, then: Reading) -> list[str]:
    """Do both with every letter of this name, as the process that was started for them; what was wrong with some.

    A letter goes after the first: whatever ends us during the second, it is not in the way of those behind it.
    """
    problems: list[str] = []
    for event, path in Letters(ws.home.letters, name, HELD).taking_turns():
        try:
            _taken_up(event, path, first, then)
        except MememError as problem:
            problems.append(str(problem))
    return problems


def _taken_up(event: str, path: Path, first: Reading, then: Reading) -> None:
    letter, envelope = files.identity(path), read(path)
    if envelope is None:
        return
    try:
        first(event, envelope)
    finally:
        if files.identity(path) == letter:  # else it is the next one of this session, which nobody has read
            path.unlink(missing_ok=True)
        then(event, envelope)
