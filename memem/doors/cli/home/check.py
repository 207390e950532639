"""memem check"""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.upkeep import status


def arguments(parser: argparse.ArgumentParser) -> None:
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with fresh_workspace() as ws:
        findings = status.check(ws)
    if options.json:
        output.as_json(findings)
    elif findings:
        output.table(
            ["note", "problem", "what to do"], [[f.path, f.problem, output.advice(f.advice)] for f in findings]
        )
    else:
        output.say("All notes are as they should be.")
    return 1 if any(finding.serious for finding in findings) else 0
