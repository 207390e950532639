"""memem get"""

from typing import Annotated

import typer

from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.flows import retrieve


def run(
    ids: Annotated[list[str], typer.Argument(help="Ids, or their first characters.", metavar="ID...")],
    json: output.Json = False,
) -> None:
    """Show memories whole."""
    with fresh_workspace() as ws:
        found = [retrieve.get(ws, each) for each in ids]
    if json:
        output.as_json(found[0] if len(found) == 1 else found)
        return
    for number, entry in enumerate(found):
        if number:
            output.say()
        output.whole(entry)
