"""Commands about the installation: config and uninstall."""

import argparse
from collections.abc import Sequence

from memem.core.options import OPTIONS
from memem.doors.cli import output
from memem.doors.cli.command import Command, is_confirmed, workspace
from memem.upkeep import config as upkeep_config
from memem.upkeep import link as upkeep_link
from memem.upkeep import uninstall as upkeep_uninstall
from memem.upkeep.config import Setting
from memem.upkeep.link import Link
from memem.upkeep.uninstall import UninstallReport
from memem.workspace import Workspace


def config(options: argparse.Namespace) -> int:
    if options.value is not None:
        with workspace() as ws:
            path = upkeep_config.change(ws, options.key, options.value)
        output.aside(f"Written to {path}; it takes effect with the next command.")
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
    state = work(ws)
    output.emit(state, options, lambda _: output.say(_describe(state, options)))
    return 1 if options.check and not state.works else 0


def _describe(state: Link, options: argparse.Namespace) -> str:
    if options.remove:
        return f"Removed {state.path}." + (f" `memem` now starts {state.target}." if state.works else "")
    linked = f"{state.path} is linked to {state.target}."
    if not options.check:
        return f"{linked} `memem` works in every terminal." if state.works else f"{linked} {state.advice}".rstrip()
    if state.works:
        return f"`memem` starts this installation, {state.target}."
    if state.advice:
        return f"{linked} {state.advice}"
    other = f"`memem` starts {state.found}, not this installation" if state.found else "`memem` is not on your PATH"
    return output.advice(f"{other}; `memem config link` links it to {state.path}.")


def statusline(ws: Workspace, _: argparse.Namespace) -> int:
    output.as_json(upkeep_link.setting(ws))
    return 0


def uninstall(ws: Workspace, options: argparse.Namespace) -> int:
    found = upkeep_uninstall.plan(ws, vault=options.vault)
    if options.dry_run or (options.json and not options.yes):
        return output.emit(found, options, _show_plan)
    if not options.json:
        _show_plan(found)
    if not options.yes:
        wanted = bool(found.parts) and is_confirmed("Remove everything listed? This cannot be undone.")
        if wanted and options.vault:
            wanted = is_confirmed("Remove your memories too? There is no other copy of them.")
        if not wanted:
            output.aside("Nothing was removed.")
            return 1
    done = upkeep_uninstall.uninstall(ws, vault=options.vault)
    return output.emit(done, options, lambda _: _show_done(done, found))


def _show_plan(found: UninstallReport) -> None:
    """List what is removed in plain rows, also on a terminal, so that no path is cut."""
    if not found.parts:
        output.say("There is nothing to remove.")
    for heading, parts in (("To be removed:", found.parts), ("Kept:", found.kept)):
        if parts:
            output.say(heading)
        for part in parts:
            size = f"({max(1, round(part.bytes / 1_000)):,} KB) " if part.bytes else ""
            output.say(f"  {part.path}  {size}{part.what}")
    output.aside("`memem export FOLDER` saves all memories first; `memem import` restores them.")


def _show_done(done: UninstallReport, before: UninstallReport) -> None:
    partly = "Removed, except for the parts that Claude Code installed."
    output.say(partly if done.to_do else "memem was removed from this machine.")
    for part in done.kept:
        if part not in before.kept:
            output.say(f"Left: {part.path}  {part.what}")
    for command in done.to_do:
        output.say(f"Run: {command}")


COMMANDS = {
    "config": Command(config, opens=False),
    "config link": Command(link),
    "config statusline": Command(statusline),
    "uninstall": Command(uninstall),
}
