"""Layout and labels of the graph's picture: where dots and titles stand, without overlapping."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LABEL = 11.0
"""The size of the letters of a label."""
MOST_LABELS, LABEL_CHARACTERS = 90, 34
FIRST = 10
"""So many titles stand there even if a dot is below them: a picture in which the largest have no name tells little."""

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Label:
    """A text, the point it stands at, which side of it begins there (start, middle or end), and the room it takes."""

    text: str
    x: float
    y: float
    anchor: str
    box: Box


def set_beside(
    titles: Sequence[str], places: Sequence[Point], radii: Sequence[float], frame: Box, taken: Iterable[Box]
) -> list[tuple[int, Label]]:
    """The titles, the first before the others, each beside its dot, inside the frame: those for which there is room,
    with their number.

    None stands on another, or on what is taken; nor on a dot, but for the first few, which are not to be without one.
    """
    dots = [(x - radius, y - radius, x + radius, y + radius) for (x, y), radius in zip(places, radii, strict=True)]
    boxes = list(taken)
    labels: list[tuple[int, Label]] = []
    for number, (title, place, radius) in enumerate(zip(titles, places, radii, strict=True)):
        text = cut(title, LABEL_CHARACTERS)
        if not text or len(labels) >= MOST_LABELS:
            continue
        free = [
            label
            for label in _around(text, place, radius)
            if _is_within(label.box, frame) and not any(_meet(label.box, other) for other in boxes)
        ]
        covered = [sum(_meet(label.box, dot) for dot in dots) for label in free]
        least = min(covered, default=1)
        if not least or (free and number < FIRST):
            label = free[covered.index(least)]
            boxes.append(label.box)
            labels.append((number, label))
    return labels


def _around(text: str, place: Point, radius: float) -> Iterator[Label]:
    """The places that a label may have, the best first: beside its dot, a bit higher or lower, below and above it."""
    (x, y), width, half = place, width_of(text, LABEL), LABEL * 0.6
    for aside in (0.0, -LABEL * 0.8, LABEL * 0.8):
        right, left, middle = x + radius + 4, x - radius - 4, y + aside
        yield Label(text, right, middle + LABEL * 0.36, "start", (right, middle - half, right + width, middle + half))
        yield Label(text, left, middle + LABEL * 0.36, "end", (left - width, middle - half, left, middle + half))
    for base in (y + radius + LABEL + 1, y - radius - 5):
        for anchor, start in (("middle", x - width / 2), ("start", x - 4), ("end", x - width + 4)):
            at = {"middle": x, "start": start, "end": start + width}[anchor]
            yield Label(text, at, base, anchor, (start, base - LABEL * 0.85, start + width, base + LABEL * 0.3))


def _is_within(box: Box, frame: Box) -> bool:
    return box[0] >= frame[0] + 6 and box[1] >= frame[1] and box[2] <= frame[2] - 6 and box[3] <= frame[3]


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] + 1 and other[0] < one[2] + 1 and one[1] < other[3] and other[1] < one[3]


def cut(text: str, most: int) -> str:
    """One line of at most so many characters, all of which can be seen."""
    seen = (" " if character.isspace() else character for character in text)
    line = " ".join("".join(each for each in seen if unicodedata.category(each)[0] != "C").split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def escaped(text: str) -> str:
    """A text as XML has it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def width_of(text: str, size: float) -> float:
    """How wide a text is, by a guess: a letter is about half as wide as it is high, a Chinese sign is square."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    broad = sum(character in "MWmw@%—…" or character.isupper() for character in text)
    return size * (0.53 * (len(text) - wide - broad) + 0.78 * broad + 1.05 * wide)


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
