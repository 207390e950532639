"""`memem hook EVENT`: the same as the client does, for whoever calls it by its name; `--later` is the client's own."""

import argparse
import sys

from memem.core.errors import MememError
from memem.doors.hook import client
from memem.doors.hook.later import take_up, work
from memem.workspace import open_workspace


def run(options: argparse.Namespace) -> int:
    """Always 0: a hook that fails must not be in the way."""
    if not options.later:
        client.main(["hook", options.event])
        return 0
    try:
        ws = open_workspace(actor="hook")
        try:
            if options.letters:
                take_up(ws, options.letters)
            else:
                work(ws, options.event, sys.stdin.buffer.read())
        finally:
            ws.close()
    except Exception as problem:  # noqa: BLE001 - the outermost function of a door; nobody is there to be told
        client.log(options.event, str(problem) if isinstance(problem, MememError) else repr(problem))
    return 0
