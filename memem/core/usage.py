"""What asking a model costs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call of a model cost. `dollars` is None where nobody tells."""

    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0


FREE = Usage()
UNTOLD = Usage(dollars=None)
