"""A query's vector, computed in a thread and waited for within a limit."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from memem.core.errors import MememError, ModelError

if TYPE_CHECKING:
    from memem.search.encoders.interface import Encoder, Vectors


class EncodedQuery:
    """One query being encoded. Limits count from its creation and include loading the model."""

    def __init__(self, text: str, encoder: "Callable[[], Encoder]") -> None:
        self.text = text
        self._encoder = encoder
        self._started = time.monotonic()
        self._loaded = threading.Event()
        self._answer: tuple[Encoder, Vectors] | None = None
        self.problem: MememError | None = None
        self._thread = threading.Thread(target=self._compute, name="memem-query", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # the system has no more threads
            self._compute()

    def is_loaded(self, seconds: float) -> bool:
        return self._loaded.wait(self._remaining(seconds)) and not self.problem

    def wait(self, seconds: float) -> "tuple[Encoder, Vectors] | None":
        """Wait for the encoder and the vector; None when they are not ready. Raises ModelError."""
        if self._thread.ident is not None:
            self._thread.join(self._remaining(seconds))
        if self.problem:
            raise self.problem
        return self._answer

    def _remaining(self, seconds: float) -> float:
        return max(0.0, self._started + seconds - time.monotonic())

    def _compute(self) -> None:
        try:
            encoder = self._encoder()
            self._loaded.set()
            self._answer = encoder, encoder.query(self.text)
        except MememError as problem:
            self.problem = problem
        except Exception as problem:  # noqa: BLE001 - every failure is reported to the waiting search
            self.problem = ModelError(f"The encoder failed ({type(problem).__name__}: {problem}).")
            self.problem.__cause__ = problem
        finally:
            self._loaded.set()
