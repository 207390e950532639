"""memem check"""

import typer

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.flows import health


def run(json: output.Json = False) -> None:
    """List notes that cannot be read, share an id or need attention. Exit 1 when a serious one is found."""
    with fresh_workspace() as ws:
        findings = health.check(ws)
    if json:
        output.as_json(findings)
    elif findings:
        output.table(["note", "problem", "what to do"], [[f.path, f.problem, f.advice] for f in findings])
    else:
        output.say("All notes are as they should be.")
    if any(finding.serious for finding in findings):
        raise typer.Exit(1)
