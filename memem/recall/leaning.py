"""What nudges a ranking besides relevance: where one is, what is asked of time, what is linked, what proved useful.

Every factor is bounded, so that it cannot overturn relevance.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from memem.core.memory import ID8, Memory
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
_USUAL = SAME_PROJECT * PATH_MATCH * (1 + 2 * IMPORTANCE_STEP)
"""What has all of these scores its relevance; the rest comes on top, up to 1."""


@dataclass(frozen=True, slots=True)
class Leaning:
    """The project and files at hand, the time that is asked about, and factors around 1, by id, for what was used."""

    project: str = ""
    files: Sequence[str] = ()
    when: When = field(default_factory=When)
    useful: Mapping[str, float] = field(default_factory=dict)


NONE = Leaning()


def leaned(scores: Sequence[float], memories: Sequence[Memory], leaning: Leaning) -> list[float]:
    """The scores of memories after all nudges, none above 1; what was superseded never scores above its successor."""
    nudged = [score * _nudge(memory, leaning) for score, memory in zip(scores, memories, strict=True)]
    _raise_linked(nudged, memories)
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
    if (memory.status != "active" or memory.superseded_by) and not leaning.when.past:
        factor *= SET_ASIDE
    return factor / _USUAL


def _raise_linked(scores: list[float], memories: Sequence[Memory]) -> None:
    """What the best are linked with, in either direction, comes along a little more readily."""
    best = sorted(range(len(scores)), key=lambda place: -scores[place])[:BEST]
    pointed = {link for place in best for link in _links(memories[place])}
    names = {memories[place].id8 for place in best}
    for place, memory in enumerate(memories):
        if place not in best and (memory.id8 in pointed or not names.isdisjoint(_links(memory))):
            scores[place] *= LINKED


def _cap_superseded(scores: list[float], memories: Sequence[Memory]) -> None:
    """From the newest of a chain to the oldest: a memory is at most as good as what replaced it, if that is here."""
    places = {memory.id8: place for place, memory in enumerate(memories)}
    for start in range(len(memories)):
        chain = [start]
        while (after := places.get(id8_of(memories[chain[-1]].superseded_by))) is not None and after not in chain:
            chain.append(after)
        for newer, older in zip(chain[::-1], chain[-2::-1], strict=False):
            scores[older] = min(scores[older], scores[newer])


def _links(memory: Memory) -> Iterator[str]:
    return map(id8_of, memory.related)


def id8_of(link: str) -> str:
    """The beginning of the id that a link to a note ends in; empty when there is no link."""
    return link.removesuffix("]]").split("|")[0].removesuffix(".md")[-ID8:] if link else ""
