"""memem forget"""

import argparse
import sys

from memem.core.errors import InputError
from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.notes import forget
from memem.upkeep import purge
from memem.upkeep.purge import Purged
from memem.workspace import Workspace


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?", default="", help="the id, or its first characters")
    parser.add_argument("--purge", action="store_true", help="for good: also from undo, log, receipts and transcripts")
    parser.add_argument("--yes", action="store_true", help="purge without asking")
    parser.add_argument("--vanished", action="store_true", help="what is gone from the vault was deleted on purpose")
    parser.add_argument("--why", default="", help="a reason for the event log")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    if options.vanished == bool(options.id) or (options.vanished and options.purge):
        raise InputError("Name one memory by its id, or say --vanished alone.")
    with fresh_workspace() as ws:
        if options.vanished:
            return _forget_vanished(ws, options)
        if options.purge:
            return _purge(ws, options)
        result = forget.forget(ws, options.id, why=options.why)
    output.written(result, json=options.json)
    return 0


def _forget_vanished(ws: Workspace, options: argparse.Namespace) -> int:
    buried = forget.forget_vanished(ws, why=options.why)
    if options.json:
        output.as_json(buried)
    elif buried:
        for each in buried:
            output.say(f"forgotten {each.id[:8]}  {each.path}")
        output.aside(
            "`memem undo` lets them be remembered again; it cannot bring back files that memem has no copy of."
        )
    else:
        output.aside("No note is missing.")
    return 0


def _purge(ws: Workspace, options: argparse.Namespace) -> int:
    if not options.yes and not _is_wanted(ws, options.id):
        output.aside("Nothing was purged.")
        return 1
    purged = purge.purge(ws, options.id)
    if options.json:
        output.as_json(purged)
    else:
        _show(purged)
    return 0


def _is_wanted(ws: Workspace, identity: str) -> bool:
    memory = purge.find(ws, identity)
    if sys.stdin is None or not sys.stdin.isatty():
        raise InputError("There is nobody to ask, and a purge cannot be undone. Give --yes to purge it.")
    output.quote_aside(f"{memory.id8}  {memory.project}  {memory.title}")
    output.aside("Remove every word of it, for good? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _show(purged: Purged) -> None:
    output.say(f"purged {purged.id[:8]} from {', '.join(purged.removed)}")
    for place in purged.elsewhere:
        output.aside(f"Still: {place}")
