"""memem reindex"""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.flows import rebuild


def arguments(parser: argparse.ArgumentParser) -> None:
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        result = rebuild.rebuild(ws)
    if options.json:
        output.as_json(result)
    else:
        output.say(f"Read {result.changed} of {result.files} files in {ws.settings.vault}.")
    return 0
