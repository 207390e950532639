"""What every verb begins with: a workspace whose index has just looked at the vault."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memem.flows import reindex
from memem.workspace import Workspace, open_workspace


@contextmanager
def workspace() -> Iterator[Workspace]:
    """The home that the settings name."""
    ws = open_workspace(actor="cli")
    try:
        yield ws
    finally:
        ws.close()


@contextmanager
def fresh_workspace() -> Iterator[Workspace]:
    """The same, after a scan: a command that reads sees every edit made before it started."""
    with workspace() as ws:
        reindex.refresh(ws)
        yield ws


def current_project(ws: Workspace) -> str:
    """The project of the folder the command was started in."""
    return ws.project_of(Path.cwd()).name
