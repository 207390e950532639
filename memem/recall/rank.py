"""Order what the index found. Relevance decides; everything else may only nudge it, within bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from memem.core.memory import Hit, Memory
from memem.core.query import Found, Match, is_name

SAME_PROJECT = 1.15
PATH_MATCH = 1.10
IMPORTANCE_STEP = 0.03
SET_ASIDE = 0.6
"""Deprecated, stale or superseded: shown when asked for, behind what holds now."""
CHANCE = 0.10
"""Without a word in common, a note that is no nearer than this answers by chance. On our labelled set 1 % of what is
wanted lies below, and two thirds of what is not."""
_MOST = SAME_PROJECT * PATH_MATCH * (1 + 2 * IMPORTANCE_STEP)


@dataclass(frozen=True, slots=True)
class Blend:
    """How much of the relevance is meaning; the rest is words. A query with a literal means that word exactly.

    In a script that the encoder does not read, meaning is little more than a guess.
    """

    meaning: float = 0.7
    meaning_with_literal: float = 0.5
    meaning_guessed: float = 0.2


FUSED = Blend()
KEYWORDS = Blend(0.0, 0.0, 0.0)
COSINE = Blend(1.0, 1.0, 1.0)


def rank(found: Found, project: str, files: Sequence[str] = (), blend: Blend = FUSED) -> list[Hit]:
    """Hits, best first; ties are broken by id, so that the order never depends on anything else."""
    relevance = _relevance(found, blend)
    scored = [
        (relevant * _nudge(match.memory, project, files), match)
        for relevant, match in zip(relevance, found.matches, strict=True)
        if _answers(match, blend, guessed=not found.understood)
    ]
    scored.sort(key=lambda each: (-each[0], each[1].memory.id, each[1].path))
    asked = sum(found.weight(term) for term in found.frequencies)
    return [_hit(match, found, score, asked) for score, match in scored]


def _relevance(found: Found, blend: Blend) -> list[float]:
    """How well each match answers, from 0 to 1: its cosine and its BM25, each on the scale of this query's best.

    What has no vector yet is judged by its words alone. BM25 thinks little of a word in a long note; a note that is
    asked for by a name it holds is as good as the best.
    """
    literal = any(term.literal for term in found.frequencies)
    names = {term for term, frequency in found.frequencies.items() if is_name(term, frequency)}
    share = blend.meaning_with_literal if literal else blend.meaning
    if not found.understood:
        share = blend.meaning_guessed
    best = max((match.bm25 for match in found.matches), default=0.0)
    floor = found.floor or 0.0
    nearest = max((match.cosine for match in found.matches if match.cosine is not None), default=floor)
    values = []
    for match in found.matches:
        words = match.bm25 / best if best > 0 else float(bool(match.terms))
        if names and names <= set(match.terms):
            words = 1.0
        if match.cosine is None:
            values.append(words)
        else:
            meaning = (match.cosine - floor) / (nearest - floor) if nearest > floor else 1.0
            values.append(share * meaning + (1 - share) * words)
    return values


def _answers(match: Match, blend: Blend, *, guessed: bool) -> bool:
    """Whether a match is one, by what the blend looks at."""
    said = bool(match.terms) or match.cosine is None
    near = match.cosine is not None and match.cosine >= CHANCE and not (guessed and blend == FUSED)
    return (said and blend != COSINE) or (near and blend != KEYWORDS)


def _hit(match: Match, found: Found, score: float, asked: float) -> Hit:
    covered = sum(found.weight(term) for term in match.terms)
    return Hit(
        memory=match.memory,
        path=match.path,
        score=round(score, 4),
        source=_source(match),
        cosine=None if match.cosine is None else round(match.cosine, 4),
        understood=found.understood,
        terms=tuple(term.text for term in match.terms),
        coverage=round(covered / asked, 4) if asked else 0.0,
        literal=any(term.literal for term in match.terms),
        degraded=found.degraded,
    )


def _source(match: Match) -> str:
    if match.cosine is None:
        return "keyword"
    return "both" if match.terms else "cosine"


def _nudge(memory: Memory, project: str, files: Sequence[str]) -> float:
    factor = 1 + IMPORTANCE_STEP * (memory.importance - 3)
    if memory.project == project:
        factor *= SAME_PROJECT
    if any(fnmatchcase(file, pattern) for file in files for pattern in memory.paths):
        factor *= PATH_MATCH
    if memory.status != "active" or memory.superseded_by:
        factor *= SET_ASIDE
    return factor / _MOST  # so that no score exceeds 1
