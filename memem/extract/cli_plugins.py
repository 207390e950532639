"""Have the claude CLI manage its plugins. No model is asked."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from memem.extract.claude import environment

SECONDS = 60


def run(command: str, arguments: Sequence[str], environ: Mapping[str, str], folder: Path | None = None) -> bool:
    """Whether `claude plugin ARGUMENTS` worked; `folder` is that of the project that it is about."""
    try:
        done = subprocess.run(
            [command, "plugin", *arguments],
            cwd=folder,
            env=environment(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
