"""memem uninstall"""

import argparse
import sys

from memem.core.errors import InputError
from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.upkeep import uninstall
from memem.upkeep.uninstall import UninstallReport


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--vault", action="store_true", help="also your memories: everything in memem/ in the vault")
    parser.add_argument("--dry-run", action="store_true", help="only list what would be removed")
    parser.add_argument("--yes", action="store_true", help="remove it without asking")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        found = uninstall.plan(ws, vault=options.vault)
        if not (options.json and (options.yes or options.dry_run)):
            _show(found)
        if options.dry_run:
            if options.json:
                output.as_json(found)
            return 0
        if not options.yes and not _is_wanted(options, found):
            output.aside("Nothing was removed.")
            return 1
        done = uninstall.uninstall(ws, vault=options.vault)
    if options.json:
        output.as_json(done)
    else:
        _tell(done, found)
    return 0


def _show(found: UninstallReport) -> None:
    """In plain rows also on a terminal: what is to be removed should be read to its end."""
    output.say("To be removed:" if found.parts else "There is nothing to remove.")
    for part in found.parts:
        output.say(f"  {part.path}  {_size(part.bytes)}{part.what}")
    if found.kept:
        output.say("Kept:")
    for part in found.kept:
        output.say(f"  {part.path}  {_size(part.bytes)}{part.what}")
    output.aside(
        "`memem export FOLDER` writes all that is remembered to a folder first, from which it can be imported again."
    )


def _size(number: int) -> str:
    if not number:
        return ""
    for unit in ("bytes", "KB", "MB"):
        if number < 1_000:
            return f"({number:.0f} {unit}) "
        number = round(number / 1_000)
    return f"({number:.0f} GB) "


def _is_wanted(options: argparse.Namespace, found: UninstallReport) -> bool:
    if not found.parts:
        return False
    if sys.stdin is None or not sys.stdin.isatty():
        raise InputError("There is nobody to ask, and this cannot be undone. Give --yes to remove it.")
    if not _agreed("Remove all that is listed? [y/N]"):
        return False
    return not options.vault or _agreed("Your memories too, for good? No copy of them is kept. [y/N]")


def _agreed(question: str) -> bool:
    output.aside(question)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _tell(done: UninstallReport, before: UninstallReport) -> None:
    output.say(
        "memem is gone from this machine." if not done.to_do else "Removed, but for what Claude Code has installed."
    )
    for part in done.kept:
        if part not in before.kept:
            output.say(f"Left: {part.path}  {part.what}")
    for command in done.to_do:
        output.say(f"To do: {command}")
