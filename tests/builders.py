"""What many tests build: homes, memories, notes written by hand, and calls of the command line."""

from collections.abc import Mapping
from pathlib import Path

import hypothesis

from memem.workspace import Workspace, open_workspace
from tests.fakes import SteppingClock

QUIET: Mapping[str, str] = {"MEMEM_FSYNC": "0", "MEMEM_ENCODER": "none", "MEMEM_BACKGROUND": "0"}
"""Most tests are about words, do without processes in the background, and survive no power cut."""


def open_home(folder: Path, clock: SteppingClock | None = None, environ: Mapping[str, str] | None = None) -> Workspace:
    """Open the memory home in `folder`, whatever the environment of the process is; time stands still."""
    clock = clock or SteppingClock()
    environ = {**QUIET, "HOME": str(folder)} if environ is None else environ
    return open_workspace(
        actor="test",
        home=folder / "home",
        vault=folder / "vault",
        environ=environ,
        clock=clock,
        ticks=clock.ticks,
    )


def examples(number: int) -> int:
    """How many examples a property is tried with: all of them, or its share in a quick run."""
    return max(1, number * hypothesis.settings().max_examples // 100)
