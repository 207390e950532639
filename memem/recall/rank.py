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
    understood = found.understood()
    relevance = _relevance(found, understood, blend)
    scored = [
        (relevant * _nudge(match.memory, project, files), match, read)
        for match, read, relevant in zip(found.matches, understood, relevance, strict=True)
        if _answers(match, blend, understood=read)
    ]
    scored.sort(key=lambda each: (-each[0], each[1].memory.id, each[1].path))
    asked = sum(found.weight(term) for term in found.frequencies)
    return [_hit(match, found, score, asked, understood=read) for score, match, read in scored]


def _relevance(found: Found, understood: Sequence[bool], blend: Blend) -> list[float]:
    """How well each match answers, from 0 to 1: its cosine and its BM25, each over the best of this query.

    What has no vector yet is judged by its words alone.
    """
    literal = any(term.literal for term in found.frequencies)
    share = blend.meaning_with_literal if literal else blend.meaning
    nearest = max((match.cosine or 0.0 for match in found.matches), default=0.0)
    values = []
    for match, read, words in zip(found.matches, understood, _by_words(found), strict=True):
        if match.cosine is None:
            values.append(words)
        else:
            meaning = max(0.0, match.cosine) / nearest if nearest > 0 else 0.0
            part = share if read else blend.meaning_guessed
            values.append(part * meaning + (1 - part) * words)
    return values


def _by_words(found: Found) -> list[float]:
    """The BM25 of each match over the best one; a note that is asked for by a name it holds is as good as that.

    BM25 thinks little of a word in a long note.
    """
    names = {term for term, frequency in found.frequencies.items() if is_name(term, frequency)}
    best = max((match.bm25 for match in found.matches), default=0.0)
    if best <= 0:
        return [float(bool(match.terms)) for match in found.matches]
    return [1.0 if names and names <= set(match.terms) else match.bm25 / best for match in found.matches]


def _answers(match: Match, blend: Blend, *, understood: bool) -> bool:
    """Whether a match is one, by what the blend looks at."""
    said = bool(match.terms) or match.cosine is None
    near = _is_near(match, understood=understood or blend == COSINE)
    return (said and blend != COSINE) or (near and blend != KEYWORDS)


def _is_near(match: Match, *, understood: bool) -> bool:
    return understood and match.cosine is not None and match.cosine >= CHANCE


def _hit(match: Match, found: Found, score: float, asked: float, *, understood: bool) -> Hit:
    covered = sum(found.weight(term) for term in match.terms)
    return Hit(
        memory=match.memory,
        path=match.path,
        score=round(score, 4),
        source=_source(match, understood=understood),
        cosine=None if match.cosine is None else round(match.cosine, 4),
        understood=understood,
        terms=tuple(term.text for term in match.terms),
        coverage=round(covered / asked, 4) if asked else 0.0,
        literal=any(term.literal for term in match.terms),
        degraded=found.degraded,
    )


def _source(match: Match, *, understood: bool) -> str:
    """What a match was found by; a cosine that is no more than chance has found nothing."""
    if match.terms or match.cosine is None:
        return "both" if _is_near(match, understood=understood) else "keyword"
    return "cosine"


def matches_path(memory: Memory, files: Sequence[str]) -> bool:
    """Whether a memory says of itself that it is about one of the files."""
    return any(file == pattern or fnmatchcase(file, pattern) for file in files for pattern in memory.paths)


def _nudge(memory: Memory, project: str, files: Sequence[str]) -> float:
    factor = 1 + IMPORTANCE_STEP * (memory.importance - 3)
    if memory.project == project:
        factor *= SAME_PROJECT
    if matches_path(memory, files):
        factor *= PATH_MATCH
    if memory.status != "active" or memory.superseded_by:
        factor *= SET_ASIDE
    return factor / _MOST  # so that no score exceeds 1
