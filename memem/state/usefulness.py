"""How often a memory was shown and used, and its boost in ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memem.state.tables import UNUSABLE

if TYPE_CHECKING:
    from memem.workspace import Workspace


# Use is only a hint, so it decides between memories of about equal relevance and never overturns relevance.
MAX_BOOST = 0.08
HALF_EFFECT_USES = 4.0  # this many uses give half of the maximum boost
UNUSED_WEIGHT = 0.25  # no trace of use says less than a trace


def multiplier(shown: int, used: int) -> float:
    """The boost of a memory by its use; 1 if none is recorded."""
    unused = UNUSED_WEIGHT * (shown - used)
    return 1 + MAX_BOOST * (used - unused) / (used + unused + HALF_EFFECT_USES)


@dataclass(frozen=True, slots=True)
class Usefulness:
    """How often a memory was shown and judged, how often it was used, and its boost."""

    shown: int = 0
    used: int = 0
    multiplier: float = 1.0


UNSEEN = Usefulness()


def boosts(ws: Workspace, ids: Sequence[str]) -> dict[str, float]:
    return {identity: multiplier(*counts) for identity, counts in tally(ws, ids).items()}


def usefulness_of(ws: Workspace, identity: str) -> Usefulness:
    counts = tally(ws, [identity]).get(identity, (0, 0))
    return Usefulness(*counts, round(multiplier(*counts), 4))


def tally(ws: Workspace, ids: Sequence[str]) -> Mapping[str, tuple[int, int]]:
    if ids and ws.home.contexts_file.exists():
        with suppress(*UNUSABLE):
            return ws.contexts.receipts.tally(ids)
    return {}


def prompts(ws: Workspace) -> list[tuple[str, float]]:
    if ws.home.contexts_file.exists():
        with suppress(*UNUSABLE):
            return ws.contexts.receipts.prompts()
    return []


def forget(ws: Workspace, identity: str) -> None:
    """Remove a forgotten memory from receipts and counts, if the record can be used."""
    if ws.home.contexts_file.exists():
        with suppress(*UNUSABLE):
            ws.contexts.receipts.forget_memory(identity)
