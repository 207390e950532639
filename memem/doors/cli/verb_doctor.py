"""memem doctor"""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.flows import doctor


def arguments(parser: argparse.ArgumentParser) -> None:
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        found = doctor.diagnose(ws)
    if options.json:
        output.as_json(found)
    else:
        output.table(["what", "is", "detail"], [[each.what, each.state, each.detail] for each in found])
    return 1 if any(each.state == doctor.BROKEN for each in found) else 0
