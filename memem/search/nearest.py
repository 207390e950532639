"""The notes whose meaning is nearest to a query: by the cosine of their best passage, exactly, over all of them."""

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from memem.search.encoders.interface import Vectors
from memem.search.passages import PassageRows
from memem.search.query import Scope
from memem.search.vectors import View

FIRST_LOOK, LOOK_GROWS, DEEPEST_LOOK = 64, 4, 4_096
"""How many of the best passages are looked up at first, and at last, to learn whose they are."""


def find_closest(
    passages: PassageRows, view: View, vector: Vectors, scope: Scope, limit: int, also: Collection[int]
) -> dict[int, float]:
    """The cosines of the `limit` nearest notes in the scope, and of the rows in `also`, whatever theirs are."""
    scores = view.rows @ vector
    if not len(scores):
        return {}
    cosines = _from_the_top(passages, view, scores, scope, limit)
    if len(cosines) < limit and len(scores) > DEEPEST_LOOK:
        # The scope is so small a part of everything that its notes are found faster by themselves.
        cosines = _top(_best(view, scores, passages.in_scope(scope)), limit)
    missing = [row for row in also if row not in cosines]
    return cosines | _best(view, scores, passages.of_rows(missing))


def _from_the_top(passages: PassageRows, view: View, scores: Vectors, scope: Scope, limit: int) -> dict[int, float]:
    """Walk down from the best passage until enough notes are met. A note is met at its best passage."""
    cosines: dict[int, float] = {}
    for slots in _looks(scores):
        keys = view.keys(slots)
        pairs = passages.holders(list(keys), scope)
        for row, cosine in _highest((row, float(scores[keys[key]])) for key, row in pairs).items():
            cosines.setdefault(row, cosine)
        if len(cosines) >= limit:
            break
    return _top(cosines, limit)


def _looks(scores: Vectors) -> Iterator[list[int]]:
    """The slots of the best passages, best first, in portions that grow."""
    depth = min(DEEPEST_LOOK, len(scores))
    best = np.argpartition(-scores, depth - 1)[:depth]
    ordered = best[np.argsort(-scores[best], kind="stable")].tolist()
    start, size = 0, FIRST_LOOK
    while start < depth:
        yield ordered[start : start + size]
        start, size = start + size, size * LOOK_GROWS


def _best(view: View, scores: Vectors, pairs: list[tuple[bytes, int]]) -> dict[int, float]:
    slots = view.slots([key for key, _ in pairs])
    return _highest((row, float(scores[slots[key]])) for key, row in pairs if key in slots)


def _highest(pairs: Iterable[tuple[int, float]]) -> dict[int, float]:
    highest: dict[int, float] = {}
    for row, cosine in pairs:
        if cosine > highest.get(row, -2.0):
            highest[row] = cosine
    return highest


def _top(cosines: dict[int, float], limit: int) -> dict[int, float]:
    ordered = sorted(cosines.items(), key=lambda pair: (-pair[1], pair[0]))
    return dict(ordered[:limit])
