"""Estimate what mining would cost, without calling a model or changing anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memem.core import safe_open
from memem.core.conversation import Chunk
from memem.core.errors import SettingsError
from memem.mine import ask, drain, session
from memem.mine.chunks import ChunkReader, PendingChunk
from memem.search.transcripts.readable import OwnCall
from memem.state.queue import SmallSession

if TYPE_CHECKING:
    from memem.workspace import Workspace

Progress = Callable[[int, int], object]
CHARACTERS_PER_TOKEN = 4
PROMPT_TOKENS, ANSWER_TOKENS = 2_500, 500  # of a call without its turns: instructions, schema, memories; the answer
PRICED_MODEL = "haiku"
READ_DOLLARS, WRITTEN_DOLLARS = 1e-6, 5e-6  # per token of that model; other prices are unknown


@dataclass(frozen=True, slots=True)
class Plan:
    """The amount to mine and its estimated cost; `dollars` is None for a model of unknown price."""

    sessions: int = 0
    turns: int = 0
    characters: int = 0
    calls: int = 0
    dollars: float | None = 0.0


class _Part(NamedTuple):
    """Turns for one call or, when `small`, to be packed with other sessions."""

    session: str
    turns: int
    characters: int
    small: SmallSession | None = None


def plan(
    ws: Workspace, paths: Iterable[Path], since: datetime | None, progress: Progress, *, is_one: bool = False
) -> Plan:
    """Plan the unmined turns of these sessions. `is_one`: a person asks for it, so SDK and few turns count too."""
    return survey(ws, paths, since, progress, is_one=is_one)[0]


def survey(
    ws: Workspace, paths: Iterable[Path], since: datetime | None, progress: Progress, *, is_one: bool = False
) -> tuple[Plan, frozenset[str]]:
    """Return the plan, and the sessions that have something to mine."""
    paths = list(paths)
    parts: list[_Part] = []
    seen: set[str] = set()
    for number, path in enumerate(paths):
        progress(number, len(paths))
        parts += _unmined(ws, path, since, seen, is_one=is_one)
    progress(len(paths), len(paths))
    return _plan(ws, parts), frozenset(part.session for part in parts)


def plan_retry(ws: Workspace) -> Plan:
    chunks = [Chunk.from_json(record.chunk) for record in ws.state.journal.dead_letters()]
    return _plan(ws, [_Part(each.session, len(each.turns), sum(len(t.text) for t in each.turns)) for each in chunks])


def _plan(ws: Workspace, parts: Sequence[_Part]) -> Plan:
    characters = sum(part.characters for part in parts)
    packs = drain.group_small(part.small for part in parts if part.small)
    calls = sum(not part.small for part in parts) + len(packs) if ask.asks_model(ws) else 0
    dollars = None
    if not calls:
        dollars = 0.0
    elif ws.settings.model == PRICED_MODEL:
        tokens = characters / CHARACTERS_PER_TOKEN + calls * PROMPT_TOKENS
        dollars = round(tokens * READ_DOLLARS + calls * ANSWER_TOKENS * WRITTEN_DOLLARS, 2)
    return Plan(len({part.session for part in parts}), sum(part.turns for part in parts), characters, calls, dollars)


def _unmined(ws: Workspace, path: Path, since: datetime | None, seen: set[str], *, is_one: bool) -> list[_Part]:
    """Return the unmined parts of a session, and add their turns to `seen`: a turn in several sessions counts once."""

    def is_taken(uuid: str) -> bool:
        return uuid in seen or ws.state.sessions.is_taken(uuid, path.stem)

    parts: list[_Part] = []
    try:
        with safe_open.open_plain(path) as file:
            reader = ChunkReader(ws, is_taken, since, sdk=is_one or ws.settings.mine_sdk)
            for pending in reader.read_chunks(file, 0, path.stem):
                seen.update(turn.uuid for turn in pending.turns)
                if pending.turns:
                    small = None if is_one or not session.is_small(pending) else _small(ws, path, pending)
                    parts.append(_Part(path.stem, len(pending.turns), pending.characters, small))
    except (OSError, OwnCall, SettingsError):
        return []  # mining it reports the problem
    return parts


def _small(ws: Workspace, path: Path, pending: PendingChunk) -> SmallSession:
    record = ws.state.sessions.get(path.stem)
    failures = record.failures if record else 0
    return SmallSession(path.stem, str(path), pending.project, pending.characters, 0, 0, 0.0, failures)
