"""Shared by the tests of commands: the result of a run, and a person who answers questions."""

import io
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
        assert self.out, self
        return json.loads(self.out)


Run = Callable[..., Outcome]


class Terminal(io.StringIO):
    """A standard input with a person who can be asked."""

    def isatty(self) -> bool:
        return True


def assert_failed(outcome: Outcome, saying: str) -> None:
    """Check that it failed with exactly one clear line on standard error, and nothing on standard output."""
    assert (outcome.code, outcome.out) == (1, "")
    (line,) = outcome.err.splitlines()
    assert line.startswith("memem: ")
    assert saying in line
