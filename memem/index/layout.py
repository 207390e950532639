"""Where the memories of a graph are drawn: those of a project together, in a disc of their own, linked ones close.

Nothing here is left to chance: it begins on a spiral, in the order that is given; the same graph has the same places.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROUNDS = 200
GAP = 9.0
"""Between two dots, at least, in the units of the picture."""
SPACING = 34.0
"""From a dot to the nearest other one, mostly."""
RIM = 26.0
"""Around the dots of a project, to its neighbours."""
WIDE = 1.6
"""How much wider than high the whole should be."""
TURNS = 24
"""So many ways to turn a disc are tried, and as many of its mirror image."""
_GOLDEN = np.pi * (3 - np.sqrt(5))

Points = NDArray[np.float64]
Link = tuple[int, int, float]
"""Two places, and how strongly they are linked."""
Size = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Disc:
    """The dots of a group around their middle, their radii, the size of the name above them, and how far it reaches."""

    points: Points
    radii: Points
    name: Size
    radius: float

    def holds_its_name(self, way: Points) -> bool:
        """Whether the name, above the middle of the dots when they are turned so, is still inside."""
        points = self.points @ way
        middle = float(points[:, 0].min() + points[:, 0].max()) / 2
        top = float((points[:, 1] - self.radii).min()) - self.name[1]
        return float(np.hypot(abs(middle) + self.name[0] / 2, top)) <= self.radius


def layout(
    groups: Sequence[Sequence[int]], links: Sequence[Link], sizes: Sequence[float], names: Sequence[Size]
) -> list[tuple[float, float]]:
    """A place for each dot, whose radius is its size. Every dot is in one group; the largest lie in the middle.

    Above each group there is room for its name, which has this width and height.
    """
    radii = np.array(sizes, float)
    discs = [_disc(group, links, radii[list(group)], name) for group, name in zip(groups, names, strict=True)]
    centres = _packed([disc.radius for disc in discs])
    home = np.zeros(len(sizes), int)
    places = np.zeros((len(sizes), 2))
    for number, (group, disc) in enumerate(zip(groups, discs, strict=True)):
        home[list(group)] = number
        places[list(group)] = disc.points
    across = [(one, other) for one, other, _ in links if home[one] != home[other]]
    for number, (group, disc) in enumerate(zip(groups, discs, strict=True)):
        ends = [(one, other) for pair in across for one, other in (pair, pair[::-1]) if home[one] == number]
        if ends:
            targets = (places + centres[home])[[other for _, other in ends]] - centres[number]
            places[list(group)] = disc.points @ _best_turn(disc, places[[one for one, _ in ends]], targets)
    return [(float(x), float(y)) for x, y in places + centres[home]] if len(sizes) else []


def _disc(group: Sequence[int], links: Sequence[Link], radii: Points, name: Size) -> _Disc:
    mine = {dot: number for number, dot in enumerate(group)}
    inside = [(mine[one], mine[other], weight) for one, other, weight in links if one in mine and other in mine]
    points = _spread(_settled(len(group), inside), radii)
    reach = float((np.hypot(*points.T) + radii).max())
    return _Disc(points, radii, name, max(reach + RIM, float(np.hypot(name[0] / 2, reach + name[1])) + GAP))


def _settled(count: int, links: Sequence[Link]) -> Points:
    """Dots that push each other away, links that pull, and all of it drawn towards the middle, until it rests."""
    steps = np.arange(count)
    radius = np.sqrt(steps + 0.5)
    points = np.stack((radius * np.cos(steps * _GOLDEN), radius * np.sin(steps * _GOLDEN)), axis=1)
    ones = np.array([one for one, _, _ in links], int)
    others = np.array([other for _, other, _ in links], int)
    weights = np.array([weight for _, _, weight in links])
    for round_ in range(ROUNDS if count > 1 else 0):
        apart = points[:, None] - points[None]
        squares = np.einsum("ijk,ijk->ij", apart, apart) + 1e-9
        push = np.einsum("ijk,ij->ik", apart, 1 / squares)
        along = points[ones] - points[others]
        pull = along * (np.hypot(*along.T) * weights)[:, None]
        np.add.at(push, ones, -pull)
        np.add.at(push, others, pull)
        push -= points * 0.08 * np.hypot(*points.T)[:, None]
        length = np.hypot(*push.T)
        most = 0.5 * np.sqrt(count) * (1 - round_ / ROUNDS) ** 1.5 + 1e-3
        points = points + push * (np.minimum(length, most) / np.maximum(length, 1e-9))[:, None]
    return points


def _spread(points: Points, radii: Points) -> Points:
    """The same in the units of the picture, around its own middle, no dot on another."""
    if len(points) < 2:
        return np.zeros_like(points)
    points = points - points.mean(axis=0)
    distances = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    np.fill_diagonal(distances, np.inf)
    points = points * (SPACING / max(float(np.median(distances.min(axis=1))), 1e-6))
    room = radii[:, None] + radii[None] + GAP
    np.fill_diagonal(room, 0.0)
    for _ in range(60):
        apart = points[:, None] - points[None]
        distances = np.hypot(*apart.transpose(2, 0, 1)) + 1e-9
        lack = np.maximum(room - distances, 0.0)
        if not lack.any():
            break
        points = points + 0.5 * np.einsum("ijk,ij->ik", apart, lack / distances)
    middle: Points = (points.min(axis=0) + points.max(axis=0)) / 2
    return np.asarray(points - middle)


def _packed(discs: Sequence[float]) -> Points:
    """The centres of discs, none on another: each as near to the middle as it can be, the largest first."""
    centres = np.zeros((len(discs), 2))
    order = sorted(range(len(discs)), key=lambda number: (-discs[number], number))
    for done, number in enumerate(order):
        if not done:
            continue
        there, radii = centres[order[:done]], np.array([discs[other] for other in order[:done]])
        reach = discs[number] + radii
        angles = np.linspace(0, 2 * np.pi, 120, endpoint=False)
        around = np.stack((np.cos(angles), np.sin(angles)), axis=1)
        spots = (there[:, None] + reach[:, None, None] * around[None]).reshape(-1, 2)
        gaps = np.hypot(*(spots[:, None] - there[None]).transpose(2, 0, 1)) - reach[None]
        free = spots[gaps.min(axis=1) >= -1e-6]
        centres[number] = free[np.argmin(np.hypot(free[:, 0] / WIDE, free[:, 1]).round(6))]
    return centres


def _best_turn(disc: _Disc, ends: Points, targets: Points) -> Points:
    """How to turn a disc, or its mirror image, so that what leads to others is short and its name stays inside."""
    ways = [_rotation(2 * np.pi * turn / TURNS, mirrored) for mirrored in (1, -1) for turn in range(TURNS)]
    ways = [way for way in ways if disc.holds_its_name(way)]
    lengths = [float(np.hypot(*(ends @ way - targets).T).sum()) for way in ways]
    return ways[int(np.argmin(np.round(lengths, 6)))]


def _rotation(angle: float, mirrored: int) -> Points:
    return np.array([[np.cos(angle), np.sin(angle)], [-mirrored * np.sin(angle), mirrored * np.cos(angle)]])
