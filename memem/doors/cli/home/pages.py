"""memem pages"""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.pages import conflicts, refresh


def arguments(parser: argparse.ArgumentParser) -> None:
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with fresh_workspace() as ws:
        conflicts.write_page(ws)
        result = refresh.write_pages(ws)
    if options.json:
        output.as_json(result)
        return 0
    rows = [["written", path] for path in result.written] + [["removed", path] for path in result.removed]
    output.table(["", "page in memem/"], rows)
    for path in result.left:
        output.aside(f"memem/{path} is a note of yours: rename it, and the page gets its place.")
    for path in result.linked:
        output.aside(f"memem/{path} is reached by a symbolic link, and nothing is written there: move the link away.")
    for path in result.busy:
        output.aside(f"memem/{path} was being saved by somebody else: run `memem pages` again.")
    if not (rows or result.left or result.linked or result.busy):
        output.aside("All pages are up to date. Begin at memem/Home.md.")
    return 0
