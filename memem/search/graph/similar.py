"""Which notes are near each other: all against all of a project, in blocks of a matrix product.

Of each note the nearest ones are candidates. They are thinned to a bounded number of links for each note, but what
nearness connects within a project stays connected.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memem.search.encoders.interface import Vectors
from memem.search.graph.rules import Clusters, Pair, filled, forest
from memem.search.vectors import View

CANDIDATES = 2
"""So many times as many neighbours as a note may have links are looked at: those may have better ones themselves."""
BLOCK_ROWS, BLOCK_NUMBERS = 512, 8_000_000
"""Notes that are compared with all others at once, and cosines that this may give."""
NONE, NOTHING = -2.0, 1e-12
"""Less than any cosine, and than any length: passages that say the opposite may have no middle."""

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Near:
    """Pairs of notes that are near each other, as three arrays; and the notes of which some pairs were left out."""

    ones: Places
    others: Places
    cosines: Vectors
    cut: Places


def links(vectors: Vectors, projects: Sequence[str], shared: str, least: float, most: int) -> list[Pair]:
    """The links between notes, each of them a row of `vectors`, that are at least `least` near: about `most` for each.

    A note is compared with those of its project, and with those of the project `shared`, which belong to everybody. One
    has more than `most` only where some of its project would not be connected without.
    """
    names = np.array(projects)
    groups = {name: np.flatnonzero(names == name) for name in dict.fromkeys(sorted(projects))}
    clusters, degrees = Clusters(len(vectors)), [0] * len(vectors)
    kept: list[Pair] = []
    for group in groups.values():
        near = nearest(vectors, group, group, least, CANDIDATES * most)
        pairs = _strongest_first([near])
        trunk = forest(pairs, clusters)
        trunk += _bridges(vectors, near.cut, clusters, least)
        kept += filled(trunk, pairs, degrees, most)
    others = [group for name, group in groups.items() if name != shared] if shared in groups else []
    across = [nearest(vectors, group, groups[shared], least, most) for group in others]
    kept += filled((), _strongest_first(across), degrees, most)
    return kept


def of_notes(view: View, passages: Sequence[tuple[bytes, int]], rows: Sequence[int]) -> tuple[list[int], Vectors]:
    """Those of the rows, in their order, whose passages all have a vector; and for each the middle between those."""
    slots = view.slots([key for key, _ in passages])
    missing = {row for key, row in passages if key not in slots}
    known = [(row, slots[key]) for key, row in passages if row not in missing]
    here = {row for row, _ in known}
    kept = [row for row in rows if row in here]
    places = {row: place for place, row in enumerate(kept)}
    sums = np.zeros((len(kept), view.rows.shape[1]), np.float32)
    np.add.at(sums, [places[row] for row, _ in known], view.rows[[slot for _, slot in known]])
    sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), NOTHING)
    return kept, sums


def nearest(vectors: Vectors, rows: Places, columns: Places, least: float, most: int) -> Near:
    """For each note of `rows` up to `most` of `columns`, the nearest of those that are at least `least` near."""
    found: list[tuple[Places, Places, Vectors]] = []
    cut: list[Places] = []
    for some, cosines in _blocks(vectors, rows, columns):
        if rows is columns:
            _strike_out_itself(cosines, some.start)
        near = cosines >= least
        many = np.flatnonzero(np.count_nonzero(near, axis=1) > most)
        if len(many):
            best = np.argpartition(cosines[many], -most, axis=1)[:, -most:]
            near[many] = False
            near[many[:, None], best] = True
            cut.append(rows[some][many])
        here, there = np.nonzero(near)
        found.append((rows[some][here], columns[there], cosines[here, there]))
    ones, others, scores = zip(*found, strict=True) if found else ((), (), ())
    return Near(_joined(ones, np.int64), _joined(others, np.int64), _joined(scores, np.float32), _joined(cut, np.int64))


def _bridges(vectors: Vectors, cut: Places, clusters: Clusters, least: float) -> list[Pair]:
    """What connects clusters whose notes had so many near ones that the links between them were left out.

    Only notes that were cut short can be missing a link. Each time every cluster that is left gets its strongest link
    to another, so that at least half of them are gone; a cluster that finds none has no link to find.
    """
    found: list[Pair] = []
    while True:
        labels = np.array([clusters.of(place) for place in cut.tolist()], np.int64)
        if len(np.unique(labels)) < 2:
            return found
        best, cosines = _nearest_elsewhere(vectors, cut, labels)
        ends = np.flatnonzero(cosines >= least)
        order = ends[np.argsort(-cosines[ends], kind="stable")]
        pairs = zip(cut[order].tolist(), cut[best[order]].tolist(), _rounded(cosines[order]), strict=True)
        bridges = forest([(min(one, other), max(one, other), cosine) for one, other, cosine in pairs], clusters)
        if not bridges:
            return found
        found += bridges
        cut = cut[np.isin(labels, np.unique(labels[ends]))]


def _nearest_elsewhere(vectors: Vectors, places: Places, labels: Places) -> tuple[Places, Vectors]:
    """For each place which of the others, under another label, is nearest, and how near."""
    best, cosines = np.zeros(len(places), np.int64), np.full(len(places), NONE, np.float32)
    for some, block in _blocks(vectors, places, places):
        block[labels[some][:, None] == labels] = NONE
        best[some] = block.argmax(axis=1)
        cosines[some] = block[np.arange(len(block)), best[some]]
    return best, cosines


def _blocks(vectors: Vectors, rows: Places, columns: Places) -> Iterator[tuple[slice, Vectors]]:
    """Some of the rows at a time, with their cosines to all columns."""
    if not len(rows) or not len(columns):
        return
    against = np.ascontiguousarray(vectors[columns]).T
    step = max(1, min(BLOCK_ROWS, BLOCK_NUMBERS // len(columns)))
    for start in range(0, len(rows), step):
        some = slice(start, min(start + step, len(rows)))
        yield some, vectors[rows[some]] @ against


def _strike_out_itself(cosines: Vectors, start: int) -> None:
    numbers = np.arange(len(cosines))
    cosines[numbers, start + numbers] = NONE


def _strongest_first(found: Sequence[Near]) -> list[Pair]:
    """Each pair once, the lesser place first; of equal ones those of the first places come first."""
    ones = _joined([each.ones for each in found], np.int64)
    others = _joined([each.others for each in found], np.int64)
    cosines = _joined([each.cosines for each in found], np.float32)
    low, high = np.minimum(ones, others), np.maximum(ones, others)
    _, first = np.unique(low * (high.max(initial=0) + 1) + high, return_index=True)
    low, high, cosines = low[first], high[first], cosines[first].round(4)
    order = np.lexsort((high, low, -cosines))
    return list(zip(low[order].tolist(), high[order].tolist(), _rounded(cosines[order]), strict=True))


def _rounded(cosines: Vectors) -> list[float]:
    return [round(min(1.0, cosine), 4) for cosine in cosines.tolist()]


def _joined(parts: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts) if len(parts) else np.empty(0, dtype)
