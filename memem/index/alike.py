"""Which of many notes are near each other: by the cosine of their nearest passages, exactly, block by block."""

from collections.abc import Sequence

import numpy as np

from memem.index.encoder import Vectors

ROWS = 1_024
"""So many passages at a time are held beside all others: a block of 10,000 is 40 MB."""
MOST = 20_000
"""So many pairs, the nearest, are told of."""


def alike(rows: Vectors, owners: Sequence[int], least: float) -> dict[tuple[int, int], float]:
    """The pairs of owners of which two rows are at least so near, the smaller one first, with the highest cosine."""
    whose = np.asarray(owners)
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(rows), ROWS):
        cosines = rows[start : start + ROWS] @ rows[start:].T
        near, far = np.nonzero(np.triu(cosines >= least, 1))
        if len(near) > MOST:
            best = np.argpartition(-cosines[near, far], MOST)[:MOST]
            near, far = near[best], far[best]
        for one, other, cosine in zip(
            whose[start + near].tolist(), whose[start + far].tolist(), cosines[near, far].tolist(), strict=True
        ):
            pair = (min(one, other), max(one, other))
            if one != other and cosine > found.get(pair, -2.0):
                found[pair] = cosine
    nearest = sorted(found.items(), key=lambda each: (-each[1], each[0]))
    return dict(nearest[:MOST])
