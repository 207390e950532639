"""Estimate what mining would cost, without calling a model or changing anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import safe_open
from memem.core.conversation import Chunk, Turn
from memem.core.errors import SettingsError
from memem.mine import ask, drain, session
from memem.mine.chunks import ChunkReader, PendingChunk
from memem.search.transcripts.readable import OwnCall
from memem.state.queue import SmallSession

if TYPE_CHECKING:
    from memem.workspace import Workspace


CHARACTERS_A_TOKEN = 4
# Of a call beside the turns: instructions, schema and memories; and of its answer.
PROMPT_TOKENS, ANSWER_TOKENS = 2_500, 500
PRICED = "haiku"
DOLLARS_READ, DOLLARS_WRITTEN = 1e-6, 5e-6  # per token of that model; other prices are unknown


@dataclass(frozen=True, slots=True)
class Plan:
    """The amount to mine and an estimate of its cost; `dollars` is None for a model of unknown price."""

    sessions: int = 0
    turns: int = 0
    characters: int = 0
    calls: int = 0
    dollars: float | None = 0.0


@dataclass(frozen=True, slots=True)
class _Part:
    """Turns for one call or, when `small`, to be packed with other sessions."""

    session: str
    turns: int
    characters: int
    small: SmallSession | None = None


def plan(
    ws: Workspace,
    paths: Iterable[Path],
    since: datetime | None,
    progress: Callable[[int, int], object],
    *,
    is_one: bool = False,
) -> Plan:
    """Plan the unmined turns of these sessions; a turn in several of them counts once.

    `is_one`: a person asks for this session, so SDK turns and short sessions are included.
    """
    return survey(ws, paths, since, progress, is_one=is_one)[0]


def survey(
    ws: Workspace,
    paths: Iterable[Path],
    since: datetime | None,
    progress: Callable[[int, int], object],
    *,
    is_one: bool = False,
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
    return _plan(ws, [_Part(each.session, len(each.turns), _characters(each.turns)) for each in chunks])


def _plan(ws: Workspace, parts: Sequence[_Part]) -> Plan:
    characters = sum(part.characters for part in parts)
    packs = drain.group_small(part.small for part in parts if part.small)
    calls = len([part for part in parts if not part.small]) + len(packs) if ask.asks_model(ws) else 0
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


def _unmined(ws: Workspace, path: Path, since: datetime | None, seen: set[str], *, is_one: bool) -> list[_Part]:
    """Return the unmined parts of a session, and add their turns to `seen`."""

    def is_known(uuid: str) -> bool:
        return uuid in seen or ws.state.sessions.is_taken(uuid, path.stem)

    parts: list[_Part] = []
    try:
        with safe_open.open_plain(path) as file:
            gatherer = ChunkReader(ws, is_known, since, sdk=is_one or ws.settings.mine_sdk)
            for each in gatherer.read_chunks(file, 0, path.stem):
                seen.update(turn.uuid for turn in each.turns)
                if each.turns:
                    small = None if is_one or not session.is_small(each) else _small(ws, path, each)
                    parts.append(_Part(path.stem, len(each.turns), each.characters, small))
    except (OSError, OwnCall, SettingsError):
        return []  # mining it says what is wrong; the others are planned all the same
    return parts


def _small(ws: Workspace, path: Path, gathered: PendingChunk) -> SmallSession:
    known = ws.state.sessions.get(path.stem)
    failures = known.failures if known else 0
    return SmallSession(path.stem, str(path), gathered.project, gathered.characters, 0, 0, 0.0, failures)


def _characters(turns: Iterable[Turn]) -> int:
    return sum(len(turn.text) for turn in turns)
