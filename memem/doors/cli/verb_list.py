"""memem list"""

from typing import Annotated

import typer

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.flows import retrieve


def run(
    project: Annotated[str | None, typer.Option("--project", "-p", help="Only this project.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many.")] = 50,
    json: output.Json = False,
) -> None:
    """List memories, the last changed first."""
    with fresh_workspace() as ws:
        found = retrieve.list_memories(ws, project=project, kind=kind, limit=limit)
    if json:
        output.as_json(found)
    elif found:
        output.entries(found)
    else:
        output.note("No memories here yet.")
