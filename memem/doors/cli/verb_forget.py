"""memem forget"""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.flows import remember


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the id, or its first characters")
    parser.add_argument("--why", default="", help="a reason for the event log")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with fresh_workspace() as ws:
        result = remember.forget(ws, options.id, why=options.why)
    output.written(result, json=options.json)
    return 0
