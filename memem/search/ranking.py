"""Rank matches by relevance and bounded boosts; `python -m bench ranking` varies each number of a blend."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from memem.core.memory import Hit, Memory, id8_of
from memem.search.dates.query import When, is_within
from memem.search.query import NoteMatch, SearchMatches, Term, is_name

SAME_PROJECT = 1.15
PATH_MATCH = 1.10
RIGHT_TIME = 1.10
LINKED = 1.05  # linked, either way, with one of the best
BEST = 3
IMPORTANCE_STEP = 0.03
SET_ASIDE = 0.6  # deprecated, stale or superseded
SUPERSEDED_CAP = 0.999  # the highest share of its successor's score that a superseded memory gets
_USUAL = SAME_PROJECT * PATH_MATCH * (1 + 2 * IMPORTANCE_STEP)  # with all of these a memory scores its relevance
CHANCE = 0.10  # without a common word, a lower cosine is chance: 1 % of the wanted notes of our labelled set
PASSAGE_CHARACTERS = 500  # about one passage


@dataclass(frozen=True, slots=True)
class Boosts:
    """Everything besides the query that a score depends on."""

    project: str = ""
    files: Sequence[str] = ()
    when: When = field(default_factory=When)
    useful: Mapping[str, float] = field(default_factory=dict)  # factors around 1, by id
    as_of: bool = False  # all matches were valid at the time in question, whatever their status is now
    linked: Collection[tuple[str, str]] = frozenset()  # pairs of ids that the graph connects, the lesser first


NO_BOOSTS = Boosts()


@dataclass(frozen=True, slots=True)
class Blend:
    """How much of the relevance is meaning; the rest is words."""

    meaning: float = 0.7
    meaning_with_literal: float = 0.5
    meaning_guessed: float = 0.2  # for a script that the encoder does not read
    least_coverage: float = 0.35  # words that are a smaller part of the query count as chance where meaning is known
    length: float = 0.03  # times the logarithm of the number of passages: a long note has more chances to be close


FUSED = Blend()
KEYWORDS = Blend(meaning=0.0, meaning_with_literal=0.0, meaning_guessed=0.0, least_coverage=0.0)
COSINE = Blend(meaning=1.0, meaning_with_literal=1.0, meaning_guessed=1.0, length=0.0)


def rank(results: SearchMatches, boosts: Boosts = NO_BOOSTS, blend: Blend = FUSED) -> list[Hit]:
    """Rank the matches, best first; ties are broken by id and path, so that the order is stable."""
    hits = list(_find_hits(results, blend))
    scores = apply_boosts([hit.score for hit in hits], [hit.memory for hit in hits], boosts)
    ordered = sorted(zip(scores, hits, strict=True), key=lambda pair: (-pair[0], pair[1].memory.id, pair[1].path))
    return [replace(hit, score=round(score, 4)) for score, hit in ordered]


def _find_hits(results: SearchMatches, blend: Blend) -> Iterator[Hit]:
    """Score by cosine and BM25, each relative to the best of this query; words alone count without a vector."""
    literal = any(term.literal for term in results.frequencies)
    share = blend.meaning_with_literal if literal else blend.meaning
    names = {term for term, frequency in results.frequencies.items() if is_name(term, frequency)}
    weights = {term: results.weight(term) for term in results.frequencies}
    total = results.total_weight
    closest = max((_cosine(match, blend) for match in results.matches), default=0.0)
    for match, understood, words in zip(
        results.matches, results.encoder_reads(), _word_scores(results, names), strict=True
    ):
        by_words = bool(match.terms) or match.cosine is None
        is_close = match.cosine is not None and match.cosine >= CHANCE
        by_meaning = is_close and (understood or blend == COSINE)
        if not ((by_words and blend != COSINE) or (by_meaning and blend != KEYWORDS)):
            continue
        coverage = sum(map(weights.__getitem__, match.terms)) / total if total else 0.0
        relevance = words
        if match.cosine is not None:
            by_chance = understood and coverage < blend.least_coverage and names.isdisjoint(match.terms)
            part = share if understood else blend.meaning_guessed
            meaning = _cosine(match, blend) / closest if closest > 0 else 0.0
            relevance = part * meaning + (1 - part) * (0.0 if by_chance else words)
        yield Hit(
            memory=match.memory,
            path=match.path,
            score=relevance,
            source=("both" if understood and is_close else "keyword") if by_words else "cosine",
            cosine=None if match.cosine is None else round(match.cosine, 4),
            understood=understood,
            terms=tuple(term.text for term in match.terms),
            coverage=round(coverage, 4),
            literal=any(term.literal for term in match.terms),
            named=not names.isdisjoint(match.terms),
            degraded=results.degraded,
        )


def _cosine(match: NoteMatch, blend: Blend) -> float:
    if match.cosine is None:
        return 0.0
    passages = max(1.0, len(match.memory.body) / PASSAGE_CHARACTERS)
    return max(0.0, match.cosine - blend.length * math.log(passages))


def _word_scores(results: SearchMatches, names: set[Term]) -> list[float]:
    """BM25 relative to the best; 1 for a note with all the names, which BM25 underrates in long notes."""
    best = max((match.bm25 for match in results.matches), default=0.0)
    if best <= 0:
        return [float(bool(match.terms)) for match in results.matches]
    return [1.0 if names and names <= set(match.terms) else match.bm25 / best for match in results.matches]


def apply_boosts(scores: Sequence[float], memories: Sequence[Memory], boosts: Boosts) -> list[float]:
    """Boost scores, up to 1; a superseded memory never scores above its successor."""
    boosted = [score * _boost(memory, boosts) for score, memory in zip(scores, memories, strict=True)]
    _raise_linked(boosted, memories, boosts.linked)
    if not boosts.as_of:
        _cap_superseded(boosted, memories)
    return [min(1.0, score) for score in boosted]


def matches_path(memory: Memory, files: Sequence[str]) -> bool:
    return any(file == pattern or fnmatchcase(file, pattern) for file in files for pattern in memory.paths)


def _boost(memory: Memory, boosts: Boosts) -> float:
    factor = boosts.useful.get(memory.id, 1.0) * (1 + IMPORTANCE_STEP * (memory.importance - 3))
    if memory.project == boosts.project:
        factor *= SAME_PROJECT
    if matches_path(memory, boosts.files):
        factor *= PATH_MATCH
    if boosts.when and is_within(boosts.when, memory.valid_from, memory.valid_to, memory.created):
        factor *= RIGHT_TIME
    if (memory.status != "active" or memory.superseded_by) and not (boosts.when.past or boosts.as_of):
        factor *= SET_ASIDE
    return factor / _USUAL


def _raise_linked(scores: list[float], memories: Sequence[Memory], linked: Collection[tuple[str, str]]) -> None:
    best = sorted(range(len(scores)), key=lambda place: (-scores[place], memories[place].id))[:BEST]
    targets = {id8_of(link) for place in best for link in memories[place].related}
    names = {memories[place].id8 for place in best}
    ids = {memories[place].id for place in best}
    connected = {id for pair in linked if not ids.isdisjoint(pair) for id in pair}
    for place, memory in enumerate(memories):
        stated = memory.id8 in targets or not names.isdisjoint(map(id8_of, memory.related))
        if place not in best and (stated or memory.id in connected):
            scores[place] *= LINKED


def _cap_superseded(scores: list[float], memories: Sequence[Memory]) -> None:
    """Rank a memory behind its successor; memories that supersede each other in a circle are equal."""
    places = {memory.id8: place for place, memory in enumerate(memories)}
    successors = {place: places.get(id8_of(memory.superseded_by)) for place, memory in enumerate(memories)}
    chains = [_chain(start, successors) for start in successors]
    for _, circle in chains:
        for place in circle:
            scores[place] = min(scores[other] for other in circle)
    for chain, _ in chains:
        for older, newer in zip(chain[-2::-1], chain[:0:-1], strict=True):
            scores[older] = min(scores[older], SUPERSEDED_CAP * scores[newer])


def _chain(start: int, successors: Mapping[int, int | None]) -> tuple[list[int], list[int]]:
    """The places from `start` to its last successor, or to the first of a circle; and that circle."""
    chain, place = [start], successors[start]
    while place is not None and place not in chain:
        chain.append(place)
        place = successors[place]
    if place is None:
        return chain, []
    first = chain.index(place)
    return chain[: first + 1], chain[first:]
