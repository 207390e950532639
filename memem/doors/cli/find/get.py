"""memem get"""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.search import find


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="an id, or its first characters")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with fresh_workspace() as ws:
        found = [find.get(ws, each) for each in options.ids]
    if options.json:
        output.as_json(found[0] if len(found) == 1 else found)
        return 0
    for number, entry in enumerate(found):
        if number:
            output.say()
        output.whole(entry)
    return 0
