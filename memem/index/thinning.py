"""Keep few of many links between notes, and connected what they connect: a spanning forest, then the strongest."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

Pair = tuple[int, int, float]
"""Two places, and how strong the link between them is."""


@dataclass
class Clusters:
    """Which places are connected so far."""

    size: int
    _parents: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._parents = list(range(self.size))

    def of(self, place: int) -> int:
        """The place that stands for the cluster."""
        parents = self._parents
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    def join(self, one: int, other: int) -> bool:
        """Make one cluster of two; False when they were one already."""
        first, second = self.of(one), self.of(other)
        self._parents[max(first, second)] = min(first, second)
        return first != second

    def all(self) -> list[int]:
        """The cluster of each place."""
        return [self.of(place) for place in range(self.size)]


def forest(pairs: Iterable[Pair], clusters: Clusters) -> list[Pair]:
    """Those of the pairs, which come the strongest first, that connect what was not connected."""
    return [pair for pair in pairs if clusters.join(pair[0], pair[1])]


def filled(kept: Sequence[Pair], others: Iterable[Pair], degrees: list[int], most: int) -> Iterator[Pair]:
    """What is kept, and those of the others, the strongest first, that give neither end more than `most` links.

    `degrees` says how many each place has, and is brought up to date.
    """
    for one, other, _ in kept:
        degrees[one] += 1
        degrees[other] += 1
    yield from kept
    there = {(one, other) for one, other, _ in kept}
    for pair in others:
        one, other, _ = pair
        if degrees[one] < most and degrees[other] < most and (one, other) not in there:
            degrees[one] += 1
            degrees[other] += 1
            yield pair
