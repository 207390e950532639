"""How often a memory was shown and used, and what that counts in ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memem.state.tables import UNUSABLE

if TYPE_CHECKING:
    from memem.workspace import Workspace


MAX_BOOST = 0.08
"""How far use can lift or lower a memory. It is a hint: what was used may have been used for nothing, and what left no
trace may have helped. So it decides between two that are about as relevant, and never overturns relevance."""
HALF_EFFECT_USES = 4.0
"""How much has to be seen before it counts: so many uses bring half of what use can bring at all."""
UNUSED_WEIGHT = 0.25
"""To leave no trace says less than to leave one."""


def multiplier(shown: int, used: int) -> float:
    """What a memory's use counts in ranking: 1 as long as nothing is known, and never far from it."""
    unused = UNUSED_WEIGHT * (shown - used)
    return 1 + MAX_BOOST * (used - unused) / (used + unused + HALF_EFFECT_USES)


@dataclass(frozen=True, slots=True)
class Usefulness:
    """How often a memory's use was judged, how often it was used, and what that counts in ranking."""

    shown: int = 0
    used: int = 0
    multiplier: float = 1.0


UNSEEN = Usefulness()


def boosts(ws: Workspace, ids: Sequence[str]) -> dict[str, float]:
    """What the use of memories counts in their ranking; of those without any, nothing."""
    return {identity: multiplier(*counted) for identity, counted in tally(ws, ids).items()}


def usefulness_of(ws: Workspace, identity: str) -> Usefulness:
    """How one memory fared."""
    counted = tally(ws, [identity]).get(identity, (0, 0))
    return Usefulness(*counted, round(multiplier(*counted), 4))


def tally(ws: Workspace, ids: Sequence[str]) -> Mapping[str, tuple[int, int]]:
    """Of each memory, how often its use was judged, and how often it was used; nothing of the others."""
    if ids and ws.home.contexts_file.exists():
        with suppress(*UNUSABLE):
            return ws.contexts.receipts.tally(ids)
    return {}


def prompts(ws: Workspace) -> list[tuple[str, float]]:
    """The project and the time of every prompt of which a receipt is kept, the oldest first."""
    if ws.home.contexts_file.exists():
        with suppress(*UNUSABLE):
            return ws.contexts.receipts.prompts()
    return []


def forget(ws: Workspace, identity: str) -> None:
    """A memory was forgotten: as far as that can be done, receipts no longer tell of it, nor what it was good for."""
    if ws.home.contexts_file.exists():
        with suppress(*UNUSABLE):
            ws.contexts.receipts.forget_memory(identity)
