"""memem resolve"""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.notes import conflicts


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the id of a memory in a conflict, or its first characters")
    parser.add_argument(
        "way",
        metavar="keep|both",
        choices=conflicts.WAYS,
        help="keep: this one holds, and what contradicts it is superseded by it; both: both hold",
    )
    parser.add_argument("--over", metavar="ID", help="only its conflict with this one")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with fresh_workspace() as ws:
        resolved = conflicts.resolve(ws, options.id, options.way, over=options.over)
    if options.json:
        output.as_json(resolved)
        return 0
    outcome = "superseded" if resolved.way == conflicts.KEEP else "related"
    output.say(f"{resolved.way} {resolved.entry.memory.id8}  {resolved.entry.project}  {resolved.entry.title}")
    for other in resolved.others:
        output.say(f"{outcome} {other.memory.id8}  {other.project}  {other.title}")
    return 0
