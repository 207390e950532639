"""memem link"""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.upkeep import link
from memem.upkeep.link import Link


def arguments(parser: argparse.ArgumentParser) -> None:
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true", help="only say whether `memem` starts this installation")
    choice.add_argument("--remove", action="store_true", help="remove the link")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        work = link.look if options.check else link.remove if options.remove else link.create
        found = work(ws)
    if options.json:
        output.as_json(found)
    elif options.remove:
        output.say(f"{found.path} is removed." if not found.works else f"Removed; `memem` is {found.target}.")
    else:
        output.say(output.advice(_checked(found)) if options.check else _created(found))
    return 1 if options.check and not found.works else 0


def _checked(found: Link) -> str:
    """Describe the link in one line."""
    if found.works:
        return f"`memem` starts this installation, {found.target}."
    if found.advice:
        return f"{found.path} is linked to {found.target}. {found.advice}"
    other = f"`memem` starts {found.found}, not this installation" if found.found else "`memem` is not on your PATH"
    return f"{other}; `memem link` links it to {found.path}."


def _created(found: Link) -> str:
    linked = f"{found.path} is linked to {found.target}."
    return f"{linked} `memem` works in every terminal." if found.works else f"{linked} {found.advice}".rstrip()
