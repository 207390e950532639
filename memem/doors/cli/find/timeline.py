"""memem timeline"""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.search.timeline import Timeline, timeline

HEADINGS = {
    "predecessors": "What it replaced",
    "successors": "What replaced it",
    "related": "Related",
    "contradicts": "Contradicts",
    "earlier": "Changed before it",
    "later": "Changed after it",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="an id, or its first characters")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with fresh_workspace() as ws:
        found = timeline(ws, options.id)
    if options.json:
        output.as_json(found)
    else:
        _show(found)
    return 0


def _show(found: Timeline) -> None:
    output.whole(found.entry)
    for part, heading in HEADINGS.items():
        entries = getattr(found, part)
        if entries:
            output.heading(heading)
            output.entries(entries, held=True)
