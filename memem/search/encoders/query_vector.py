"""The vector of a query, computed beside whatever else there is to do, and waited for no longer than agreed."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from memem.core.errors import MememError, ModelError

if TYPE_CHECKING:
    from memem.search.encoders.interface import Encoder, Vectors


class EncodedQuery:
    """One query on its way to a vector. Loading the model counts too: it is most of the time in a new process."""

    def __init__(self, text: str, encoder: "Callable[[], Encoder]") -> None:
        self.text = text
        self._encoder = encoder
        self._begun = time.monotonic()
        self._loaded = threading.Event()
        self._answer: tuple[Encoder, Vectors] | None = None
        self._problem: MememError | None = None
        self._thread = threading.Thread(target=self._compute, name="memem-query", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # the system has no more of them
            self._compute()

    @property
    def has_failed(self) -> bool:
        return self._problem is not None

    def is_loaded(self, seconds: float) -> bool:
        """Whether the encoder is there, `seconds` after the question: what else needs it can begin."""
        return self._loaded.wait(max(0.0, self._begun + seconds - time.monotonic())) and not self._problem

    def wait(self, seconds: float) -> "tuple[Encoder, Vectors] | None":
        """The encoder and the vector; None when they are not there `seconds` after the question. Raises ModelError."""
        if self._thread.ident is not None:
            self._thread.join(max(0.0, self._begun + seconds - time.monotonic()))
        if self._problem:
            raise self._problem
        return self._answer

    def _compute(self) -> None:
        try:
            encoder = self._encoder()
            self._loaded.set()
            self._answer = encoder, encoder.query(self.text)
        except MememError as problem:
            self._problem = problem
        except Exception as problem:  # noqa: BLE001 - nothing may end this thread unsaid, and nobody's search with it
            self._problem = ModelError(f"The encoder failed ({type(problem).__name__}: {problem}).")
            self._problem.__cause__ = problem
        finally:
            self._loaded.set()
