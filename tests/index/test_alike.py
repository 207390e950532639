"""Notes that are near each other are found exactly, whatever block their passages fall into."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.index import alike as module
from memem.index.alike import alike
from memem.index.encoder import Vectors


def unit(count: int, seed: int) -> Vectors:
    rows: Vectors = np.random.default_rng(seed).normal(size=(count, 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


@given(st.integers(0, 30), st.integers(0, 1_000), st.floats(-0.5, 0.99), st.integers(1, 7))
def test_the_pairs_are_those_that_every_row_beside_every_row_gives(
    count: int, seed: int, least: float, block: int
) -> None:
    rows, owners = unit(count, seed), [number // 2 for number in range(count)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS", block)
        found = alike(rows, owners, least)
    wanted: dict[tuple[int, int], float] = {}
    for one in range(count):
        for other in range(one + 1, count):
            cosine = float(rows[one] @ rows[other])
            pair = (owners[one], owners[other])
            if owners[one] != owners[other] and cosine >= least + 1e-6:
                wanted[pair] = max(cosine, wanted.get(pair, -2.0))
    assert wanted.keys() <= found.keys()
    assert all(found[pair] == pytest.approx(cosine, abs=1e-5) for pair, cosine in wanted.items())
    assert all(cosine >= least - 1e-6 for cosine in found.values())


def test_only_so_many_are_told_of_and_those_are_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = unit(40, 1)
    everything = alike(rows, range(40), -1.0)
    monkeypatch.setattr(module, "MOST", 5)
    monkeypatch.setattr(module, "ROWS", 8)
    assert list(alike(rows, range(40), -1.0)) == list(everything)[:5]
