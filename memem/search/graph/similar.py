"""Compare all notes of a project with each other, in blocks of a matrix product, and link the closest ones."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memem.search.encoders.interface import Vectors
from memem.search.graph.rules import Clusters, Pair, build_forest, fill_degrees
from memem.search.vectors import View

CANDIDATES_PER_LINK = 2  # more neighbours are considered than a note may link, since those may have better ones
BLOCK_ROWS, BLOCK_CELLS = 512, 8_000_000
BELOW_ANY_COSINE, MIN_NORM = -2.0, 1e-12

Places = NDArray[np.int64]
SimilarPairs = tuple[Places, Places, Vectors]  # pairs of similar notes, and the cosine of each


def link_similar_notes(
    vectors: Vectors, projects: Sequence[str], shared: str, min_cosine: float, max_degree: int
) -> list[Pair]:
    """Link notes within their projects and with the project `shared`; over `max_degree` only to keep projects whole."""
    names = np.array(projects)
    groups = {name: np.flatnonzero(names == name) for name in dict.fromkeys(sorted(projects))}
    clusters, degrees = Clusters(len(vectors)), [0] * len(vectors)
    links: list[Pair] = []
    for group in groups.values():
        pairs = _sort(find_closest(vectors, group, group, min_cosine, CANDIDATES_PER_LINK * max_degree))
        links += fill_degrees(build_forest(pairs, clusters), pairs, degrees, max_degree)
    others = [group for name, group in groups.items() if name != shared] if shared in groups else []
    across = [find_closest(vectors, group, groups[shared], min_cosine, max_degree) for group in others]
    links += fill_degrees((), _sort(_join(across)), degrees, max_degree)
    return links


def average_vectors(
    view: View, passages: Sequence[tuple[bytes, int]], rows: Sequence[int]
) -> tuple[list[int], Vectors]:
    """The rows whose passages all have a vector, in order, and the normalised mean of each."""
    slots = view.slots([key for key, _ in passages])
    missing = {row for key, row in passages if key not in slots}
    encoded = [(row, slots[key]) for key, row in passages if row not in missing]
    usable = {row for row, _ in encoded}
    places = {row: place for place, row in enumerate(row for row in rows if row in usable)}
    sums = np.zeros((len(places), view.rows.shape[1]), np.float32)
    np.add.at(sums, [places[row] for row, _ in encoded], view.rows[[slot for _, slot in encoded]])
    sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), MIN_NORM)
    return list(places), sums


def find_closest(vectors: Vectors, rows: Places, columns: Places, min_cosine: float, limit: int) -> SimilarPairs:
    """For each note of `rows` its closest `limit` notes of `columns` with at least `min_cosine`."""
    pairs: list[SimilarPairs] = []
    against = np.ascontiguousarray(vectors[columns]).T
    step = max(1, min(BLOCK_ROWS, BLOCK_CELLS // max(1, len(columns))))
    for start in range(0, len(rows) if len(columns) else 0, step):
        block = rows[start : start + step]
        cosines: Vectors = vectors[block] @ against
        if rows is columns:
            own = np.arange(len(block))
            cosines[own, start + own] = BELOW_ANY_COSINE
        is_close = cosines >= min_cosine
        crowded = np.flatnonzero(np.count_nonzero(is_close, axis=1) > limit)
        if len(crowded):
            best = np.argpartition(cosines[crowded], -limit, axis=1)[:, -limit:]
            is_close[crowded] = False
            is_close[crowded[:, None], best] = True
        here, there = np.nonzero(is_close)
        pairs.append((block[here], columns[there], cosines[here, there]))
    return _join(pairs)


def _sort(pairs: SimilarPairs) -> list[Pair]:
    """Each pair once, lower place first, the strongest pair first."""
    ones, others, cosines = pairs
    low, high = np.minimum(ones, others), np.maximum(ones, others)
    _, first = np.unique(low * (high.max(initial=0) + 1) + high, return_index=True)
    low, high, cosines = low[first], high[first], cosines[first].round(4)
    order = np.lexsort((high, low, -cosines))
    scores = [round(min(1.0, cosine), 4) for cosine in cosines[order].tolist()]
    return list(zip(low[order].tolist(), high[order].tolist(), scores, strict=True))


def _join(pairs: Sequence[SimilarPairs]) -> SimilarPairs:
    if not pairs:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
    ones, others, cosines = zip(*pairs, strict=True)
    return np.concatenate(ones), np.concatenate(others), np.concatenate(cosines)
