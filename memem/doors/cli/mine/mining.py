"""memem mining"""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.mine.status import mining_state
from memem.state import consent


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("switch", metavar="on|off", nargs="?", choices=("on", "off"), help="without: how it stands")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        if options.switch == "on":
            consent.opt_in(ws)
        elif options.switch == "off":
            consent.opt_out(ws)
        if options.json:
            output.as_json(mining_state(ws))
            return 0
        since = consent.opted_in(ws)
    if since:
        said = f"{since:%Y-%m-%d %H:%M}"
        message = f"Mining is on for what is said in Claude Code since {said}; `memem mine --all` mines it."
    else:
        message = "Mining is off. `memem mining on` is for what is said from then on."
    output.say(output.advice(message))
    return 0
