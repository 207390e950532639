"""memem status"""

import argparse

from memem import __version__
from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.flows import health
from memem.flows.health import Status


def arguments(parser: argparse.ArgumentParser) -> None:
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        status = health.status(ws)
    if options.json:
        output.as_json(status)
        return 0
    projects = ", ".join(f"{name} {count}" for name, count in status.projects.items())
    rows = [
        ["memem", __version__],
        ["home", str(status.home)],
        ["vault", str(status.vault)],
        ["memories", f"{status.memories} ({projects})" if projects else "none yet"],
        ["pinned", str(status.pinned)],
        ["unreadable", f"{status.unreadable}; see `memem check`" if status.unreadable else "none"],
        ["recall", _recall(status)],
        ["index", f"{status.index_bytes / 1e6:.1f} MB"],
        ["last change", status.last_event or "none yet"],
    ]
    if status.capabilities:
        known = status.capabilities
        rows.append(["set up", f"Python {known.get('python', '?')}, {known.get('installer', '?')}"])
    output.table(["what", "is"], rows)
    if status.problem:
        output.aside(status.problem)
    return 0


def _recall(status: Status) -> str:
    """How memories are found, and what keeps them from being found better."""
    model = status.model
    if model.encoder == "none":
        return "keywords, as MEMEM_ENCODER says"
    if model.problem:
        return f"keywords only: {model.problem}"
    if model.encoded < model.passages:
        return f"{status.recall}; {model.encoded:,} of {model.passages:,} passages are encoded (`memem encode`)"
    return f"{status.recall} ({model.encoder}, {model.passages:,} passages)"
