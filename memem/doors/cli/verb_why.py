"""memem why"""

import argparse
import textwrap

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.flows import provenance
from memem.flows.provenance import Why

TURN_CHARACTERS = 600


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="an id, or its first characters")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with fresh_workspace() as ws:
        why = provenance.why(ws, options.id)
    if options.json:
        output.as_json(why)
    else:
        _show(why)
    return 0


def _show(why: Why) -> None:
    output.whole(why.entry)
    output.say()
    if why.note:
        output.say(why.note)
        return
    output.say(f"From {why.transcript}:")
    for place, turn in enumerate(why.turns):
        mark = ">>" if place == why.place else "  "
        output.say(f"{mark} {turn.role}, {turn.time[:16].replace('T', ' ')}")
        text = turn.text if len(turn.text) <= TURN_CHARACTERS else turn.text[:TURN_CHARACTERS] + " […]"
        output.say(textwrap.indent(text, "     ", lambda _: True))
