"""memem why"""

import argparse
import textwrap

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace, workspace
from memem.inject import provenance, receipts
from memem.inject.provenance import Provenance
from memem.state.usefulness import Usefulness

TURN_CHARACTERS = 600


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", metavar="ID", nargs="?", help="an id, or its first characters; default: the last decision"
    )
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    if options.id is None:
        return _last_decision(json=options.json)
    with fresh_workspace() as ws:
        why = provenance.why(ws, options.id)
    if options.json:
        output.as_json(why)
    else:
        _show(why)
    return 0


def _last_decision(*, json: bool) -> int:
    """Of the session that this is called in, if it is called in one."""
    with workspace() as ws:
        decision = receipts.last_decision(ws, ws.session)
    if json:
        output.as_json(decision)
    else:
        for line in decision.words:
            output.say(line)
    return 0


def _show(why: Provenance) -> None:
    output.whole(why.entry)
    output.say()
    _show_proof(why)
    if why.injections:
        _show_injections(why)


def _show_injections(why: Provenance) -> None:
    output.heading("Shown")
    rows = []
    for shown in why.injections:
        sure = "" if shown.confidence is None else f"{round(shown.confidence * 100)} %"
        when = shown.time[:16].replace("T", " ")
        rows.append([when, shown.event, shown.project, shown.session, sure, shown.used])
    output.table(["when", "for", "project", "session", "sure", "used"], rows)
    if why.usefulness.shown:
        output.say(f"{_fared(why.usefulness)}; in ranking it counts {why.usefulness.multiplier:.2f} times.")


def _fared(fared: Usefulness) -> str:
    if fared.shown == 1:
        return f"The one time that could be judged it was {'used' if fared.used else 'not seen to be used'}"
    times = f"of the {fared.shown} times that could be judged"
    if not fared.used:
        return f"In none {times} it was seen to be used"
    return f"It was used in {'all' if fared.used == fared.shown else fared.used} {times}"


def _show_proof(why: Provenance) -> None:
    if why.note:
        output.say(why.note)
        return
    output.say(f"From {why.transcript}:")
    for place, turn in enumerate(why.turns):
        mark = ">>" if place == why.place else "  "
        output.say(f"{mark} {turn.role}, {turn.time[:16].replace('T', ' ')}")
        text = turn.text if len(turn.text) <= TURN_CHARACTERS else turn.text[:TURN_CHARACTERS] + " […]"
        output.say(textwrap.indent(text, "     ", lambda _: True))
