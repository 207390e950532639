"""memem save"""

import sys
from typing import Annotated

import typer

from memem.core.errors import InputError
from memem.doors.cli import output
from memem.doors.cli.session import current_project, workspace
from memem.flows import remember

MAX_STDIN = 10_000_000


def run(
    text: Annotated[str, typer.Argument(help="What to remember; - reads it from standard input.")],
    title: Annotated[str, typer.Option(help="One line; taken from the text when absent.")] = "",
    project: Annotated[str, typer.Option("--project", "-p", help="Default: the project of this folder.")] = "",
    kind: Annotated[str, typer.Option(help="decision, convention, preference, fact, lesson or procedure.")] = "fact",
    tags: Annotated[str, typer.Option(help="Comma-separated.")] = "",
    layer: Annotated[int | None, typer.Option(help="0 pinned, 1 conventions, 2 ordinary, 3 archive.")] = None,
    importance: Annotated[int, typer.Option(help="1 to 5.")] = 3,
    keys: Annotated[str, typer.Option(help="Other words it should be found by, comma-separated.")] = "",
    paths: Annotated[str, typer.Option(help="Files it is about, as patterns, comma-separated.")] = "",
    why: Annotated[str, typer.Option(help="A reason for the event log.")] = "",
    json: output.Json = False,
) -> None:
    """Keep a memory as a note in the vault."""
    with workspace() as ws:
        result = remember.save(
            ws,
            _standard_input() if text == "-" else text,
            title=title,
            project=project or current_project(ws),
            kind=kind,
            tags=output.several(tags),
            layer=layer,
            importance=importance,
            keys=output.several(keys),
            paths=output.several(paths),
            why=why,
        )
    if json:
        output.as_json(result)
    else:
        output.written(result)


def _standard_input() -> str:
    data = sys.stdin.buffer.read(MAX_STDIN)
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        raise InputError(f"Standard input is not UTF-8 text (byte {problem.start}); nothing was saved.") from None
