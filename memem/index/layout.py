"""Where the memories of a graph are drawn: those of a project together, in a disc of their own, linked ones close.

Nothing here is left to chance: it begins on a spiral, in the order that is given; the same graph has the same places.
"""

from collections.abc import Sequence

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


def layout(groups: Sequence[Sequence[int]], links: Sequence[Link], sizes: Sequence[float]) -> list[tuple[float, float]]:
    """A place for each dot, whose radius is its size. Every dot is in one group; the largest lie in the middle."""
    places = np.zeros((len(sizes), 2))
    radii = np.array(sizes, float)
    discs: list[float] = []
    for group in groups:
        mine = {dot: number for number, dot in enumerate(group)}
        inside = [(mine[one], mine[other], weight) for one, other, weight in links if one in mine and other in mine]
        own = _spread(_settled(len(group), inside), radii[list(group)])
        places[list(group)] = own
        discs.append(float((np.hypot(*own.T) + radii[list(group)]).max(initial=0.0)) + RIM)
    centres = _packed(discs)
    home = np.zeros(len(sizes), int)
    for number, group in enumerate(groups):
        home[list(group)] = number
    _turn(groups, [link for link in links if home[link[0]] != home[link[1]]], places, centres, home)
    return [(float(x), float(y)) for x, y in places + centres[home]] if len(sizes) else []


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


def _turn(
    groups: Sequence[Sequence[int]], across: Sequence[Link], places: Points, centres: Points, home: NDArray[np.int_]
) -> None:
    """Turn each disc, or its mirror image, so that what leads to others is short."""
    for number, group in enumerate(groups):
        out = [link if home[link[0]] == number else (link[1], link[0], link[2]) for link in across]
        out = [link for link in out if home[link[0]] == number]
        if not out:
            continue
        mine, theirs = [one for one, _, _ in out], [other for _, other, _ in out]
        targets = places[theirs] + centres[home[theirs]] - centres[number]
        ways = [_rotation(2 * np.pi * turn / TURNS, mirrored) for mirrored in (1, -1) for turn in range(TURNS)]
        lengths = [float(np.hypot(*(places[mine] @ way - targets).T).sum()) for way in ways]
        places[list(group)] = places[list(group)] @ ways[int(np.argmin(np.round(lengths, 6)))]


def _rotation(angle: float, mirrored: int) -> Points:
    return np.array([[np.cos(angle), np.sin(angle)], [-mirrored * np.sin(angle), mirrored * np.cos(angle)]])
