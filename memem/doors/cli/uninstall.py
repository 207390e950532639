"""The uninstall command."""

import argparse

from memem.doors.cli import output
from memem.doors.cli.command import Command, is_confirmed
from memem.upkeep import uninstall as upkeep_uninstall
from memem.upkeep.uninstall import UninstallReport
from memem.workspace import Workspace


def uninstall(ws: Workspace, options: argparse.Namespace) -> int:
    found = upkeep_uninstall.plan(ws, vault=options.vault)
    if options.dry_run or (options.json and not options.yes):
        return output.emit(found, options, _show)
    if not options.json:
        _show(found)
    if not options.yes and not _is_wanted(options, found):
        output.aside("Nothing was removed.")
        return 1
    done = upkeep_uninstall.uninstall(ws, vault=options.vault)
    return output.emit(done, options, lambda _: _show_done(done, found))


def _show(found: UninstallReport) -> None:
    """List what is removed in plain rows, also on a terminal, so that no path is cut."""
    if not found.parts:
        output.say("There is nothing to remove.")
    for heading, parts in (("To be removed:", found.parts), ("Kept:", found.kept)):
        if parts:
            output.say(heading)
        for part in parts:
            output.say(f"  {part.path}  {_size(part.bytes)}{part.what}")
    output.aside("`memem export FOLDER` saves all memories first; `memem import` restores them.")


def _size(number: int) -> str:
    if not number:
        return ""
    for unit in ("bytes", "KB", "MB"):
        if number < 1_000:
            return f"({number:.0f} {unit}) "
        number = round(number / 1_000)
    return f"({number:.0f} GB) "


def _is_wanted(options: argparse.Namespace, found: UninstallReport) -> bool:
    if not found.parts or not is_confirmed("Remove everything listed? This cannot be undone."):
        return False
    return not options.vault or is_confirmed("Remove your memories too? There is no other copy of them.")


def _show_done(done: UninstallReport, before: UninstallReport) -> None:
    output.say(
        "Removed, except for what Claude Code installed." if done.to_do else "memem is removed from this machine."
    )
    for part in done.kept:
        if part not in before.kept:
            output.say(f"Left: {part.path}  {part.what}")
    for command in done.to_do:
        output.say(f"Run: {command}")


COMMANDS = {"uninstall": Command(uninstall)}
