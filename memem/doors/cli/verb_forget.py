"""memem forget"""

from typing import Annotated

import typer

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.flows import remember


def run(
    id: Annotated[str, typer.Argument(help="The id, or its first characters.")],
    why: Annotated[str, typer.Option(help="A reason for the event log.")] = "",
    json: output.Json = False,
) -> None:
    """Take a memory out of recall; its note moves to memem/.forgotten/ in the vault."""
    with fresh_workspace() as ws:
        result = remember.forget(ws, id, why=why)
    if json:
        output.as_json(result)
    else:
        output.written(result)
