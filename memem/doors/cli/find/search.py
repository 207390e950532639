"""memem search"""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import current_project, fresh_workspace
from memem.search import find


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="a question, some words, an identifier")
    parser.add_argument("-p", "--project", help="only this project")
    parser.add_argument("-n", "--limit", type=int, default=10, help="at most so many (default: 10)")
    parser.add_argument("--as-of", metavar="DATE", help="what was held true then: 2026-06-01, a time, or 'last march'")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with fresh_workspace(options.query) as ws:
        current = current_project(ws)
        asked = {"project": options.project, "limit": options.limit, "as_of": options.as_of}
        hits = find.search(ws, options.query, current=current, **asked)
    output.degraded(hits.degraded)
    output.listed(hits, json=options.json, nothing="Nothing found.")
    return 0
