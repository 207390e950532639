"""memem status"""

from memem import __version__
from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.flows import health


def run(json: output.Json = False) -> None:
    """Show where the memory is and what is in it."""
    with workspace() as ws:
        status = health.status(ws)
    if json:
        output.as_json(status)
        return
    projects = ", ".join(f"{name} {count}" for name, count in status.projects.items())
    rows = [
        ["memem", __version__],
        ["home", str(status.home)],
        ["vault", str(status.vault)],
        ["memories", f"{status.memories} ({projects})" if projects else "none yet"],
        ["pinned", str(status.pinned)],
        ["unreadable", f"{status.unreadable}; see `memem check`" if status.unreadable else "none"],
        ["recall", status.recall],
        ["index", f"{status.index_bytes / 1e6:.1f} MB"],
        ["last change", status.last_event or "none yet"],
    ]
    if status.capabilities:
        known = status.capabilities
        rows.append(["set up", f"Python {known.get('python', '?')}, {known.get('installer', '?')}"])
    output.table(["what", "is"], rows)
    if status.problem:
        output.note(status.problem)
