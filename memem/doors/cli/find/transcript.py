"""memem transcript"""

import argparse
import textwrap

from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.search.transcripts import sessions
from memem.search.transcripts.sessions import TurnContext, TurnHit


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="some words, an identifier, a question")
    parser.add_argument("-p", "--project", help="only this project")
    parser.add_argument("-n", "--limit", type=int, default=10, help="at most so many (default: 10)")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        found = sessions.search(ws, options.query, limit=options.limit, project=options.project)
    if options.json:
        output.as_json(found)
    elif not found:
        output.aside("Nothing found in what was said since mining was switched on.")
    for said in [] if options.json else found:
        _show(said)
    return 0


def _show(said: TurnHit) -> None:
    """A turn between its neighbours."""
    output.heading(f"{said.project} · session {said.session} · {said.transcript or 'its file is gone'}")
    for mark, turn in (("  ", said.before), (">>", said), ("  ", said.after)):
        if turn:
            _show_turn(mark, turn)


def _show_turn(mark: str, turn: TurnHit | TurnContext) -> None:
    output.say(f"{mark} {turn.role}, {turn.time[:16].replace('T', ' ')}")
    output.say(textwrap.indent(turn.text, "     ", lambda _: True))
