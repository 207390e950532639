"""What nudges a ranking besides relevance: where one is, what is asked of time, what is linked, what proved useful.

Every factor is bounded, so that it cannot overturn relevance.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from memem.core.memory import Memory, id8_of
from memem.recall.when import When, fits

SAME_PROJECT = 1.15
PATH_MATCH = 1.10
RIGHT_TIME = 1.10
LINKED = 1.05
"""Linked, either way, with one of the best; those are so many:"""
BEST = 3
IMPORTANCE_STEP = 0.03
SET_ASIDE = 0.6
"""Deprecated, stale or superseded: shown when asked for, behind what holds now."""
BEHIND = 0.999
"""How much of its successor's score a superseded memory can have at most."""
_USUAL = SAME_PROJECT * PATH_MATCH * (1 + 2 * IMPORTANCE_STEP)
"""What has all of these scores its relevance; the rest comes on top, up to 1."""


@dataclass(frozen=True, slots=True)
class Leaning:
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


NONE = Leaning()


def leaned(scores: Sequence[float], memories: Sequence[Memory], leaning: Leaning) -> list[float]:
    """The scores of memories after all nudges, none above 1; what was superseded never scores above its successor."""
    nudged = [score * _nudge(memory, leaning) for score, memory in zip(scores, memories, strict=True)]
    _raise_linked(nudged, memories, leaning.linked)
    if not leaning.as_of:
        _cap_superseded(nudged, memories)
    return [min(1.0, score) for score in nudged]


def matches_path(memory: Memory, files: Sequence[str]) -> bool:
    """Whether a memory says of itself that it is about one of the files."""
    return any(file == pattern or fnmatchcase(file, pattern) for file in files for pattern in memory.paths)


def _nudge(memory: Memory, leaning: Leaning) -> float:
    factor = leaning.useful.get(memory.id, 1.0) * (1 + IMPORTANCE_STEP * (memory.importance - 3))
    if memory.project == leaning.project:
        factor *= SAME_PROJECT
    if matches_path(memory, leaning.files):
        factor *= PATH_MATCH
    if leaning.when.is_set and fits(leaning.when, memory.valid_from, memory.valid_to, memory.created):
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
            scores[older] = min(scores[older], BEHIND * scores[newer])


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
