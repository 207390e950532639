"""What every verb runs in: a workspace that has just scanned the vault, and whose pages are current at the end."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memem.core.errors import InputError
from memem.pages.catch_up import catching_up
from memem.search import find, prescan
from memem.search import refresh as search_refresh
from memem.workspace import Workspace, open_workspace


@contextmanager
def workspace() -> Iterator[Workspace]:
    """The home that the settings name."""
    ws = open_workspace(actor="cli")
    try:
        with catching_up(ws):
            yield ws
    finally:
        ws.close()


@contextmanager
def fresh_workspace(query: str = "") -> Iterator[Workspace]:
    """The same, after a scan: a command that reads sees every edit made before it started.

    The vector of what it is going to ask is computed meanwhile.
    """
    with workspace() as ws:
        if query.strip() and ws.settings.encoder != "none":
            refresh = prescan.refresher(ws)
            find.start_query_vector(ws, query)
            refresh()
        else:
            search_refresh.refresh(ws)
        yield ws


def current_folder() -> Path:
    """The folder the command was started in."""
    try:
        return Path.cwd()
    except OSError:
        raise InputError("The current folder is gone. Change to another one and try again.") from None


def current_project(ws: Workspace) -> str:
    """The project of that folder."""
    return ws.project_of(current_folder()).name
