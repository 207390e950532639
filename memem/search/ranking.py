"""Rank what the index found by relevance, then by bounded boosts: project, time, path, links, use.

Each number of a blend is a row of the table that `python -m bench ranking` prints, varied by itself.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from memem.core.memory import Hit, Memory, id8_of
from memem.search.dates.query import When, is_within
from memem.search.query import NoteMatch, SearchMatches, Term, is_name

SAME_PROJECT = 1.15
PATH_MATCH = 1.10
RIGHT_TIME = 1.10
LINKED = 1.05
"""Linked, either way, with one of the best; those are so many:"""
BEST = 3
IMPORTANCE_STEP = 0.03
SET_ASIDE = 0.6
"""Deprecated, stale or superseded: shown when asked for, behind what holds now."""
SUPERSEDED_CAP = 0.999
"""How much of its successor's score a superseded memory can have at most."""
_USUAL = SAME_PROJECT * PATH_MATCH * (1 + 2 * IMPORTANCE_STEP)
"""What has all of these scores its relevance; the rest comes on top, up to 1."""


@dataclass(frozen=True, slots=True)
class Boosts:
    """The project and files at hand, the time that is asked about, and factors around 1, by id, for what was used.

    With `as_of`, all that was found held at the time in question: what became of it since counts nothing. `linked` are
    pairs of ids, the lesser first, of memories that the graph holds together besides what their notes say.
    """

    project: str = ""
    files: Sequence[str] = ()
    when: When = field(default_factory=When)
    useful: Mapping[str, float] = field(default_factory=dict)
    as_of: bool = False
    linked: Collection[tuple[str, str]] = frozenset()


NO_BOOSTS = Boosts()


def apply_boosts(scores: Sequence[float], memories: Sequence[Memory], leaning: Boosts) -> list[float]:
    """The scores of memories after all nudges, none above 1; what was superseded never scores above its successor."""
    nudged = [score * _nudge(memory, leaning) for score, memory in zip(scores, memories, strict=True)]
    _raise_linked(nudged, memories, leaning.linked)
    if not leaning.as_of:
        _cap_superseded(nudged, memories)
    return [min(1.0, score) for score in nudged]


def matches_path(memory: Memory, files: Sequence[str]) -> bool:
    """Whether a memory says of itself that it is about one of the files."""
    return any(file == pattern or fnmatchcase(file, pattern) for file in files for pattern in memory.paths)


def _nudge(memory: Memory, leaning: Boosts) -> float:
    factor = leaning.useful.get(memory.id, 1.0) * (1 + IMPORTANCE_STEP * (memory.importance - 3))
    if memory.project == leaning.project:
        factor *= SAME_PROJECT
    if matches_path(memory, leaning.files):
        factor *= PATH_MATCH
    if leaning.when and is_within(leaning.when, memory.valid_from, memory.valid_to, memory.created):
        factor *= RIGHT_TIME
    if (memory.status != "active" or memory.superseded_by) and not (leaning.when.past or leaning.as_of):
        factor *= SET_ASIDE
    return factor / _USUAL


def _raise_linked(scores: list[float], memories: Sequence[Memory], linked: Collection[tuple[str, str]]) -> None:
    """What the best are linked with, in either direction, comes along a little more readily."""
    best = sorted(range(len(scores)), key=lambda place: (-scores[place], memories[place].id))[:BEST]
    pointed = {link for place in best for link in _links(memories[place])}
    names = {memories[place].id8 for place in best}
    ids = {memories[place].id for place in best}
    beside = {id for pair in linked if not ids.isdisjoint(pair) for id in pair}
    for place, memory in enumerate(memories):
        stated = memory.id8 in pointed or not names.isdisjoint(_links(memory))
        if place not in best and (stated or memory.id in beside):
            scores[place] *= LINKED


def _cap_superseded(scores: list[float], memories: Sequence[Memory]) -> None:
    """A memory is behind what replaced it, if that is here; those that replaced each other in a circle are equal."""
    places = {memory.id8: place for place, memory in enumerate(memories)}
    after = {place: places.get(id8_of(memory.superseded_by)) for place, memory in enumerate(memories)}
    chains = [_chain(start, after) for start in after]
    for _, circle in chains:
        for place in circle:
            scores[place] = min(scores[each] for each in circle)
    for chain, _ in chains:
        for older, newer in zip(chain[-2::-1], chain[:0:-1], strict=True):
            scores[older] = min(scores[older], SUPERSEDED_CAP * scores[newer])


def _chain(start: int, after: Mapping[int, int | None]) -> tuple[list[int], list[int]]:
    """The places from one to the last that replaced it, or to the first of a circle; and that circle, if any."""
    chain, place = [start], after[start]
    while place is not None and place not in chain:
        chain.append(place)
        place = after[place]
    if place is None:
        return chain, []
    begin = chain.index(place)
    return chain[: begin + 1], chain[begin:]


def _links(memory: Memory) -> Iterator[str]:
    return map(id8_of, memory.related)


CHANCE = 0.10
"""Without a word in common, a note that is no nearer than this answers by chance. On our labelled set 1 % of what is
wanted lies below, and two thirds of what is not."""
PASSAGE_CHARACTERS = 500
"""About so many of a note get a vector together."""


@dataclass(frozen=True, slots=True)
class Blend:
    """How much of the relevance is meaning; the rest is words. A query with a literal means that word exactly.

    In a script that the encoder does not read, meaning is little more than a guess. Words that are a smaller part of
    what is asked than `least_coverage` say nothing where meaning is known: they stand there by chance. A long note has
    many passages, and so many chances to be near: `length` times the logarithm of their number is taken off its cosine.
    """

    meaning: float = 0.7
    meaning_with_literal: float = 0.5
    meaning_guessed: float = 0.2
    least_coverage: float = 0.35
    length: float = 0.03


FUSED = Blend()
KEYWORDS = Blend(meaning=0.0, meaning_with_literal=0.0, meaning_guessed=0.0, least_coverage=0.0)
COSINE = Blend(meaning=1.0, meaning_with_literal=1.0, meaning_guessed=1.0, length=0.0)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A match, whether the encoder reads it and the query, and how much of what is asked it holds."""

    match: NoteMatch
    understood: bool
    coverage: float


def rank(found: SearchMatches, leaning: Boosts = NO_BOOSTS, blend: Blend = FUSED) -> list[Hit]:
    """Hits, best first; ties are broken by id, so that the order never depends on anything else."""
    weights = {term: found.weight(term) for term in found.frequencies}
    candidates = _candidates(found, weights)
    relevance = _relevance(found, candidates, blend)
    scored = [(score, each) for score, each in zip(relevance, candidates, strict=True) if _answers(each, blend)]
    scores = apply_boosts([score for score, _ in scored], [each.match.memory for _, each in scored], leaning)
    ranked = [
        (-score, each.match.memory.id, each.match.path, each) for score, (_, each) in zip(scores, scored, strict=True)
    ]
    return [_hit(each, found, -score) for score, _, _, each in sorted(ranked, key=lambda row: row[:3])]


def _candidates(found: SearchMatches, weights: Mapping[Term, float]) -> list[_Candidate]:
    asked = found.total_weight
    return [
        _Candidate(match, read, sum(map(weights.__getitem__, match.terms)) / asked if asked else 0.0)
        for match, read in zip(found.matches, found.encoder_reads(), strict=True)
    ]


def _relevance(found: SearchMatches, candidates: Sequence[_Candidate], blend: Blend) -> list[float]:
    """How well each match answers, from 0 to 1: its cosine and its BM25, each over the best of this query.

    What has no vector yet is judged by its words alone.
    """
    literal = any(term.literal for term in found.frequencies)
    share = blend.meaning_with_literal if literal else blend.meaning
    names = {term for term, frequency in found.frequencies.items() if is_name(term, frequency)}
    cosines = [_cosine(each.match, blend) for each in candidates]
    nearest = max(cosines, default=0.0)
    values = []
    for each, cosine, words in zip(candidates, cosines, _by_words(found, names), strict=True):
        if each.match.cosine is None:
            values.append(words)
            continue
        by_chance = each.coverage < blend.least_coverage and each.understood and names.isdisjoint(each.match.terms)
        part = share if each.understood else blend.meaning_guessed
        meaning = cosine / nearest if nearest > 0 else 0.0
        values.append(part * meaning + (1 - part) * (0.0 if by_chance else words))
    return values


def _cosine(match: NoteMatch, blend: Blend) -> float:
    """Of the best passage, without what a long note owes to having many; never below 0."""
    if match.cosine is None:
        return 0.0
    passages = max(1.0, len(match.memory.body) / PASSAGE_CHARACTERS)
    return max(0.0, match.cosine - blend.length * math.log(passages))


def _by_words(found: SearchMatches, names: set[Term]) -> list[float]:
    """The BM25 of each match over the best one; a note that is asked for by a name it holds is as good as that.

    BM25 thinks little of a word in a long note.
    """
    best = max((match.bm25 for match in found.matches), default=0.0)
    if best <= 0:
        return [float(bool(match.terms)) for match in found.matches]
    return [1.0 if names and names <= set(match.terms) else match.bm25 / best for match in found.matches]


def _answers(each: _Candidate, blend: Blend) -> bool:
    """Whether a match is one, by what the blend looks at."""
    said = bool(each.match.terms) or each.match.cosine is None
    near = _is_near(each.match, understood=each.understood or blend == COSINE)
    return (said and blend != COSINE) or (near and blend != KEYWORDS)


def _is_near(match: NoteMatch, *, understood: bool) -> bool:
    return understood and match.cosine is not None and match.cosine >= CHANCE


def _hit(each: _Candidate, found: SearchMatches, score: float) -> Hit:
    match = each.match
    return Hit(
        memory=match.memory,
        path=match.path,
        score=round(score, 4),
        source=_source(match, understood=each.understood),
        cosine=None if match.cosine is None else round(match.cosine, 4),
        understood=each.understood,
        terms=tuple(term.text for term in match.terms),
        coverage=round(each.coverage, 4),
        literal=any(term.literal for term in match.terms),
        named=any(is_name(term, found.frequencies[term]) for term in match.terms),
        degraded=found.degraded,
    )


def _source(match: NoteMatch, *, understood: bool) -> str:
    """What a match was found by; a cosine that is no more than chance has found nothing."""
    if match.terms or match.cosine is None:
        return "both" if _is_near(match, understood=understood) else "keyword"
    return "cosine"
