"""memem review"""

import argparse

from memem.core.errors import InputError
from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.notes import review
from memem.notes.review import Proposal

LIST, ACCEPT, REJECT = "list", "accept", "reject"
_DECIDE = {ACCEPT: review.accept, REJECT: review.reject}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", default=LIST, choices=(LIST, ACCEPT, REJECT), help="default: list")
    parser.add_argument("id", metavar="ID", nargs="?", default="", help="the id, or its first characters")
    parser.add_argument("--why", default="", help="a reason for the event log")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    if bool(options.id) != (options.what != LIST):
        raise InputError("Say which: `memem review accept ID` or `memem review reject ID`; `memem review` lists them.")
    with fresh_workspace() as ws:
        if options.what != LIST:
            result = _DECIDE[options.what](ws, options.id, why=options.why)
            output.written(result, json=options.json)
            return 0
        found = review.proposals(ws)
    if options.json:
        output.as_json(found)
    elif found:
        _show(found)
    else:
        output.aside("Nothing waits for review.")
    return 0


def _show(found: list[Proposal]) -> None:
    notes = [(each.memory, each.because) for each in found]
    rows = [[note.id8, note.project, note.kind, output.title(note.title), because] for note, because in notes]
    output.table(["id", "project", "kind", "title", "because"], rows)
    output.aside("`memem review accept ID` keeps one, `memem review reject ID` forgets it.")
