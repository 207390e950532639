"""Which notes hold the same rare key, or are about the same files: what connects them where meaning is not known."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from memem.core.edge import KEY, PATH
from memem.core.memory import GENERAL, Memory

RARE = 4
"""A key or pattern that more notes hold says little about any two of them."""


def share(memories: Sequence[Memory]) -> Iterator[tuple[int, int, float, str]]:
    """Pairs of one project, or of one and none in particular, by their places, the strongest first: how strong, by
    what. Each pair once."""
    holders: dict[tuple[str, str], list[int]] = {}
    for place, memory in enumerate(memories):
        for origin, words in ((KEY, memory.keys), (PATH, memory.paths)):
            for word in dict.fromkeys(word.strip().casefold() for word in words):
                holders.setdefault((origin, word), []).append(place)
    found: dict[tuple[int, int], tuple[float, str]] = {}
    for (origin, _), places in holders.items():
        if 2 <= len(places) <= RARE:
            score = round(0.4 + 0.4 / (len(places) - 1), 4)
            for pair in combinations(places, 2):
                if _may_meet(memories, *pair):
                    found[pair] = max(found.get(pair, (0.0, "")), (score, origin))
    ordered = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))
    return ((*pair, score, origin) for pair, (score, origin) in ordered)


def _may_meet(memories: Sequence[Memory], one: int, other: int) -> bool:
    projects = {memories[one].project, memories[other].project}
    return len(projects) == 1 or GENERAL in projects
