"""A command: the function that runs it in a workspace, and its arguments, which `commands.toml` lists."""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from memem.core.errors import InputError
from memem.doors.cli import output
from memem.pages.catch_up import catching_up
from memem.search import find
from memem.search import refresh as search_refresh
from memem.workspace import Workspace, open_workspace


class Command(NamedTuple):
    """A command: `run` gets the options and, if it `opens` one, a workspace, whose vault `scan` reads first."""

    run: Callable[..., int]
    scan: bool = False
    opens: bool = True

    def invoke(self, options: argparse.Namespace) -> int:
        if not self.opens:
            return self.run(options)
        with workspace() as ws:
            if self.scan and getattr(options, "query", "").strip() and ws.settings.encoder != "none":
                refresh = search_refresh.refresher(ws)
                ws.encode_query(find.truncate_query(options.query))  # computed while the vault is read
                refresh()
            elif self.scan:
                search_refresh.refresh(ws)
            return self.run(ws, options)


@contextmanager
def workspace() -> Iterator[Workspace]:
    """Open the home from the settings; update its pages at the end."""
    with closing(open_workspace(actor="cli")) as ws, catching_up(ws):
        yield ws


def current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError:
        raise InputError("The current folder no longer exists. Change to another one and try again.") from None


def is_confirmed(question: str, *, about: str = "") -> bool:
    """Ask a yes-no question, `about` a memory; raise InputError if there is no terminal to ask on."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise InputError("Not running interactively; pass --yes.")
    output.flush()
    if about:
        output.quote_aside(about)
    output.aside(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
