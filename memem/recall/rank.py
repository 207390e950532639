"""Order what the index found. Relevance decides; everything else may only nudge it, within bounds."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from memem.core.memory import Hit, Memory
from memem.core.query import Found, Match

SAME_PROJECT = 1.15
PATH_MATCH = 1.10
IMPORTANCE_STEP = 0.03
SET_ASIDE = 0.6
"""Deprecated, stale or superseded: shown when asked for, behind what holds now."""
_MOST = SAME_PROJECT * PATH_MATCH * (1 + 2 * IMPORTANCE_STEP)


def rank(found: Found, project: str, files: Sequence[str] = ()) -> list[Hit]:
    """Hits, best first; ties are broken by id, so that the order never depends on anything else."""
    best = max((match.bm25 for match in found.matches), default=0.0)
    scored = [(_score(match, best, project, files), match) for match in found.matches]
    scored.sort(key=lambda each: (-each[0], each[1].memory.id, each[1].path))
    asked = sum(found.weight(term) for term in found.frequencies)
    return [_hit(match, found, score, asked) for score, match in scored]


def _score(match: Match, best: float, project: str, files: Sequence[str]) -> float:
    relevance = match.bm25 / best if best > 0 else 1.0
    return relevance * _nudge(match.memory, project, files)


def _hit(match: Match, found: Found, score: float, asked: float) -> Hit:
    covered = sum(found.weight(term) for term in match.terms)
    return Hit(
        memory=match.memory,
        path=match.path,
        score=round(score, 4),
        terms=tuple(term.text for term in match.terms),
        coverage=round(covered / asked, 4) if asked else 0.0,
        literal=any(term.literal for term in match.terms),
    )


def _nudge(memory: Memory, project: str, files: Sequence[str]) -> float:
    factor = 1 + IMPORTANCE_STEP * (memory.importance - 3)
    if memory.project == project:
        factor *= SAME_PROJECT
    if any(fnmatchcase(file, pattern) for file in files for pattern in memory.paths):
        factor *= PATH_MATCH
    if memory.status != "active" or memory.superseded_by:
        factor *= SET_ASIDE
    return factor / _MOST  # so that no score exceeds 1
