"""memem edit"""

import os
import shlex
import subprocess
from typing import Annotated, Any

import typer

from memem.core.errors import InputError
from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.flows import reindex, remember, retrieve
from memem.workspace import Workspace


def run(
    id: Annotated[str, typer.Argument(help="The id, or its first characters.")],
    text: Annotated[str | None, typer.Option(help="A new statement.")] = None,
    title: Annotated[str | None, typer.Option(help="A new title.")] = None,
    project: Annotated[str | None, typer.Option("--project", "-p", help="Another project.")] = None,
    kind: Annotated[str | None, typer.Option(help="Another kind.")] = None,
    tags: Annotated[str | None, typer.Option(help="All tags, comma-separated.")] = None,
    layer: Annotated[int | None, typer.Option(help="0 pinned, 1 conventions, 2 ordinary, 3 archive.")] = None,
    importance: Annotated[int | None, typer.Option(help="1 to 5.")] = None,
    keys: Annotated[str | None, typer.Option(help="All keys, comma-separated.")] = None,
    paths: Annotated[str | None, typer.Option(help="All paths, comma-separated.")] = None,
    status: Annotated[str | None, typer.Option(help="active, deprecated, stale or quarantined.")] = None,
    why: Annotated[str, typer.Option(help="A reason for the event log.")] = "",
    json: output.Json = False,
) -> None:
    """Change a memory; without options, open its note in $EDITOR."""
    given = {"body": text, "title": title, "project": project, "kind": kind, "layer": layer}
    given |= {"importance": importance, "status": status}
    lists = {"tags": tags, "keys": keys, "paths": paths}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    changes |= {name: output.several(value) for name, value in lists.items() if value is not None}
    with fresh_workspace() as ws:
        if not changes:
            _open_in_editor(ws, id)
            return
        result = remember.edit(ws, id, why=why, **changes)
    if json:
        output.as_json(result)
    else:
        output.written(result)


def _open_in_editor(ws: Workspace, identity: str) -> None:
    entry = retrieve.get(ws, identity)
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    path = ws.store.absolute(entry.path)
    if not editor:
        raise InputError(f"Give options to change (see --help), or set EDITOR to open {path}.")
    try:
        subprocess.run([*shlex.split(editor), str(path)], check=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as problem:
        raise InputError(f"The editor {editor!r} failed: {problem}. The note is {path}.") from None
    refreshed = reindex.refresh(ws)
    output.say(f"{'edited' if refreshed.changed else 'unchanged'} {entry.memory.id8}  {path}")
