"""memem search"""

from typing import Annotated

import typer

from memem.doors.cli import output
from memem.doors.cli.session import current_project, fresh_workspace
from memem.flows import retrieve


def run(
    query: Annotated[str, typer.Argument(help="A question, some words, an identifier.")],
    project: Annotated[str | None, typer.Option("--project", "-p", help="Only this project.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many.")] = 10,
    json: output.Json = False,
) -> None:
    """Find memories, in all projects unless one is named."""
    with fresh_workspace() as ws:
        hits = retrieve.search(ws, query, project=project, current=current_project(ws), limit=limit)
    if json:
        output.as_json(hits)
    elif hits:
        output.entries(hits)
    else:
        output.note("Nothing found.")
