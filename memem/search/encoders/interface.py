"""The interface of encoders: a text becomes a vector of length one, so that a dot product is the cosine."""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]  # one vector, or a row for each text
QUERY_TOKENS = 128  # a longer prompt is cut: its question is at its beginning, and every token costs time
PASSAGE_TOKENS = 256


class Encoder(Protocol):
    identity: str  # vectors of the same identity are comparable
    dimensions: int
    multilingual: bool  # otherwise texts in any script but the Latin one are all alike

    def query(self, text: str) -> Vectors:
        """Encode a prompt or question on one core."""

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, a row for each, on all cores."""
