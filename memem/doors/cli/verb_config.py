"""memem config"""

from typing import Annotated

import typer

from memem.core.settings import OPTIONS
from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.flows import configure


def run(
    key: Annotated[str | None, typer.Argument(help="One setting.")] = None,
    value: Annotated[str | None, typer.Argument(help="Its new value, written to config.toml.")] = None,
    json: output.Json = False,
) -> None:
    """Show all settings, one setting, or change one."""
    with workspace() as ws:
        if key is not None and value is not None:
            path = configure.change(ws, key, value)
            output.say(f"{key} = {value} in {path}")
            return
        shown = [configure.show(ws, option.key) for option in OPTIONS if key in (None, option.key)]
        if not shown:
            configure.option(key or "")
    if json:
        output.as_json(shown)
    elif key is not None:
        output.say(shown[0].value)
    else:
        output.table(["key", "value", "from", "variable"], [[s.key, s.value, s.source, s.variable] for s in shown])
