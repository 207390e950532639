"""What every encoder gives: a text becomes a vector of length one, so that a dot product is the cosine."""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
"""One vector, or a row for each of several texts."""

QUERY_TOKENS = 128
"""A longer prompt is cut for its vector: what it asks stands at its beginning, and every token costs time."""
PASSAGE_TOKENS = 256


class Encoder(Protocol):
    """A model that is loaded. Vectors are comparable when they were made under one `identity`.

    To one that is not `multilingual`, texts in any script but the Latin one are all alike.
    """

    identity: str
    dimensions: int
    multilingual: bool

    def query(self, text: str) -> Vectors:
        """The vector of a prompt or a question, on one core: a person is waiting, and so are their other programs."""

    def passages(self, texts: Sequence[str]) -> Vectors:
        """A row for each text, on all cores."""
