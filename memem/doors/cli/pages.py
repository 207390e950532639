"""The pages command."""

import argparse

from memem.doors.cli import output
from memem.doors.cli.command import Command
from memem.pages import conflicts, refresh
from memem.pages.refresh import Pages
from memem.workspace import Workspace


def pages(ws: Workspace, options: argparse.Namespace) -> int:
    conflicts.write_page(ws)
    return output.emit(refresh.write_pages(ws), options, _show)


def _show(result: Pages) -> None:
    rows = [["written", path] for path in result.written] + [["removed", path] for path in result.removed]
    if rows:
        output.table(["", "page in memem/"], rows)
    for path in result.left:
        output.aside(f"memem/{path} is your own note; rename it to make room for the page.")
    for path in result.linked:
        output.aside(f"memem/{path} is behind a symbolic link and was not written; move the link away.")
    for path in result.busy:
        output.aside(f"memem/{path} was being saved by another program; run `memem pages` again.")
    if not (rows or result.left or result.linked or result.busy):
        output.aside("All pages are up to date. Start with memem/Home.md.")


COMMANDS = {"pages": Command(pages, scan=True)}
