"""The config command: settings, the link in ~/.local/bin, the status line."""

import argparse
from collections.abc import Sequence

from memem.core.options import OPTIONS
from memem.doors.cli import output
from memem.doors.cli.command import Command, workspace
from memem.upkeep import config as upkeep_config
from memem.upkeep import link as upkeep_link
from memem.upkeep.config import Setting
from memem.upkeep.link import Link
from memem.workspace import Workspace


def config(options: argparse.Namespace) -> int:
    if options.value is not None:
        with workspace() as ws:
            path = upkeep_config.change(ws, options.key, options.value)
        output.aside(f"Written to {path}; it applies from the next command on.")
        if options.key in ("encoder", "embed_model") and options.value != "none":
            output.aside(
                "`memem index rebuild` computes the new model's vectors; until then search uses keywords only."
            )
        if not options.json:
            return 0
    with workspace() as ws:
        settings = [
            upkeep_config.show(ws, key) for key in ([options.key] if options.key else [item.key for item in OPTIONS])
        ]
    if options.key:
        return output.emit(settings, options, lambda _: output.say(settings[0].value))
    return output.emit(settings, options, _show_settings)


def _show_settings(settings: Sequence[Setting]) -> None:
    rows = [[setting.key, setting.value, setting.source, setting.variable] for setting in settings]
    output.table(["key", "value", "source", "variable"], rows, optional=("variable", "source"))


def link(ws: Workspace, options: argparse.Namespace) -> int:
    work = upkeep_link.look if options.check else upkeep_link.remove if options.remove else upkeep_link.create
    describe = _describe if options.check else _describe_removed if options.remove else _describe_created
    state = work(ws)
    output.emit(state, options, lambda _: output.say(describe(state)))
    return 1 if options.check and not state.works else 0


def _describe_removed(state: Link) -> str:
    return f"Removed {state.path}." + (f" `memem` now starts {state.target}." if state.works else "")


def _describe(state: Link) -> str:
    if state.works:
        return f"`memem` starts this installation, {state.target}."
    if state.advice:
        return f"{state.path} is linked to {state.target}. {state.advice}"
    other = f"`memem` starts {state.found}, not this installation" if state.found else "`memem` is not on your PATH"
    return output.advice(f"{other}; `memem config link` links it to {state.path}.")


def _describe_created(state: Link) -> str:
    linked = f"{state.path} is linked to {state.target}."
    return f"{linked} `memem` works in every terminal." if state.works else f"{linked} {state.advice}".rstrip()


def statusline(ws: Workspace, options: argparse.Namespace) -> int:
    del options
    output.as_json(upkeep_link.setting(ws))
    return 0


COMMANDS = {
    "config": Command(config, opens=False),
    "config link": Command(link),
    "config statusline": Command(statusline),
}
