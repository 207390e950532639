"""What mining would take: looked at without asking anybody, or changing anything."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memem.flows.gathering import Gathered, Gatherer, OwnCall
from memem.workspace import Workspace

CHARACTERS_A_TOKEN = 4
PROMPT_TOKENS, ANSWER_TOKENS = 2_500, 500
"""What a call reads beside the turns (instructions, schema, the nearest memories), and what it answers."""
DOLLARS_READ, DOLLARS_WRITTEN = 1e-6, 5e-6
"""Of Haiku, a token."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be mined, and about what that takes."""

    sessions: int = 0
    turns: int = 0
    characters: int = 0
    calls: int = 0
    dollars: float = 0.0


def plan(ws: Workspace, paths: Iterable[Path], since: datetime | None, progress: Callable[[int, int], object]) -> Plan:
    """The turns in these sessions that nobody has mined."""
    paths = list(paths)
    chunks: list[tuple[Path, Gathered]] = []
    for number, path in enumerate(paths):
        progress(number, len(paths))
        chunks += [(path, gathered) for gathered in _unmined(ws, path, since)]
    progress(len(paths), len(paths))
    characters = sum(gathered.characters for _, gathered in chunks)
    calls = len(chunks) if ws.settings.extractor == "claude" and ws.claude_command else 0
    read = characters / CHARACTERS_A_TOKEN + calls * PROMPT_TOKENS
    return Plan(
        sessions=len({path for path, _ in chunks}),
        turns=sum(len(gathered.turns) for _, gathered in chunks),
        characters=characters,
        calls=calls,
        dollars=round(read * DOLLARS_READ + calls * ANSWER_TOKENS * DOLLARS_WRITTEN, 2) if calls else 0.0,
    )


def _unmined(ws: Workspace, path: Path, since: datetime | None) -> list[Gathered]:
    def is_known(uuid: str) -> bool:
        return ws.state.sessions.is_known(uuid, path.stem)

    try:
        with path.open("rb") as file:
            found = [each for each in Gatherer(ws, is_known, since).gather(file, 0, path.stem) if each.turns]
    except (OSError, OwnCall):
        return []
    return found
