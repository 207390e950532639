"""What mining would take: looked at without asking anybody, or changing anything."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memem.core import plain
from memem.core.errors import SettingsError
from memem.core.mining import Chunk, Turn
from memem.flows.gathering import Gatherer, OwnCall
from memem.workspace import Workspace

CHARACTERS_A_TOKEN = 4
PROMPT_TOKENS, ANSWER_TOKENS = 2_500, 500
"""What a call reads beside the turns (instructions, schema, the nearest memories), and what it answers."""
PRICED = "haiku"
DOLLARS_READ, DOLLARS_WRITTEN = 1e-6, 5e-6
"""Of that model, a token. What others cost we do not know."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be mined, and about what that takes; `dollars` is None for a model whose price we do not know."""

    sessions: int = 0
    turns: int = 0
    characters: int = 0
    calls: int = 0
    dollars: float | None = 0.0


@dataclass(frozen=True, slots=True)
class _Part:
    """What one call is about."""

    session: str
    turns: int
    characters: int


def plan(ws: Workspace, paths: Iterable[Path], since: datetime | None, progress: Callable[[int, int], object]) -> Plan:
    """The turns in these sessions that nobody has mined; one that stands in several of them counts once."""
    paths = list(paths)
    parts: list[_Part] = []
    seen: set[str] = set()
    for number, path in enumerate(paths):
        progress(number, len(paths))
        parts += _unmined(ws, path, since, seen)
    progress(len(paths), len(paths))
    return _plan(ws, parts)


def plan_retry(ws: Workspace) -> Plan:
    """The dead letters."""
    chunks = [Chunk.from_json(record.chunk) for record in ws.state.journal.dead()]
    return _plan(ws, [_Part(each.session, len(each.turns), _characters(each.turns)) for each in chunks])


def _plan(ws: Workspace, parts: Sequence[_Part]) -> Plan:
    characters = sum(part.characters for part in parts)
    calls = len(parts) if ws.settings.extractor == "claude" and ws.claude_command else 0
    return Plan(
        sessions=len({part.session for part in parts}),
        turns=sum(part.turns for part in parts),
        characters=characters,
        calls=calls,
        dollars=_dollars(characters, calls) if not calls or ws.settings.model == PRICED else None,
    )


def _dollars(characters: int, calls: int) -> float:
    read = characters / CHARACTERS_A_TOKEN + calls * PROMPT_TOKENS
    return round(read * DOLLARS_READ + calls * ANSWER_TOKENS * DOLLARS_WRITTEN, 2) if calls else 0.0


def _unmined(ws: Workspace, path: Path, since: datetime | None, seen: set[str]) -> list[_Part]:
    """What is to be asked about a session; its turns join those that were `seen`."""

    def is_known(uuid: str) -> bool:
        return uuid in seen or ws.state.sessions.is_known(uuid, path.stem)

    found: list[_Part] = []
    try:
        with plain.open_plain(path) as file:
            for each in Gatherer(ws, is_known, since).gather(file, 0, path.stem):
                seen.update(turn.uuid for turn in each.turns)
                if each.turns:
                    found.append(_Part(path.stem, len(each.turns), each.characters))
    except (OSError, OwnCall, SettingsError):
        return []  # mining it says what is wrong; the others are planned all the same
    return found


def _characters(turns: Iterable[Turn]) -> int:
    return sum(len(turn.text) for turn in turns)
