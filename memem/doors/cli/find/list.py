"""memem list"""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.search import find


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-p", "--project", help="only this project")
    parser.add_argument("--kind", help="only this kind")
    parser.add_argument("-n", "--limit", type=int, default=50, help="at most so many (default: 50)")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with fresh_workspace() as ws:
        found = find.list_memories(ws, project=options.project, kind=options.kind, limit=options.limit)
    output.listed(found, json=options.json, nothing="No memories here yet.")
    return 0
