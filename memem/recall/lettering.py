"""The words of the picture: made safe, cut, measured by a guess, and set beside their dots where there is room."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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
