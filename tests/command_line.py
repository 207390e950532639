"""What a command printed, and how it ended."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Outcome(NamedTuple):
    """The exit code, and both outputs."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Outcome]
