"""memem slice"""

from pathlib import Path
from typing import Annotated

import typer

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.flows import retrieve


def run(
    query: Annotated[str, typer.Argument(help="The prompt that Claude is about to read.")],
    scope: Annotated[str | None, typer.Option(help="The project; default: that of the folder.")] = None,
    session_id: Annotated[str, typer.Option(help="The Claude Code session, for the result's label.")] = "",
    cwd: Annotated[Path | None, typer.Option(help="The folder to work in; default: this one.")] = None,
    task_mode: Annotated[str, typer.Option(help="debug, build, review ...; default: from the verbs.")] = "",
    always: Annotated[bool, typer.Option("--always", help="Show the working state even when silent.")] = False,
    json: output.Json = False,
) -> None:
    """Show what Claude would be told for a prompt: often nothing."""
    with fresh_workspace() as ws:
        result = retrieve.slice_for(
            ws,
            query,
            cwd=cwd or Path.cwd(),
            project=scope,
            task_mode=task_mode,
            session_id=session_id,
            always=always,
        )
    if json:
        output.as_json(result)
    elif result.text:
        output.say(result.text.rstrip("\n"))
    else:
        output.note(f"(silence: {result.reason})")
