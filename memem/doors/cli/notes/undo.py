"""memem undo"""

import argparse

from memem.core.errors import MememError
from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.notes import undo
from memem.notes.undo import Undone


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "batch", metavar="BATCH", nargs="?", help="as `memem log` shows it; default: the last that is not undone"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be taken back, and change nothing")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        result = undo.undo(ws, options.batch, dry_run=options.dry_run)
    if options.json:
        output.as_json(result)
        return 0 if _is_done(result) else 1
    _show(result)
    return 0


def _is_done(result: Undone) -> bool:
    return bool(result.undo or result.restored or result.removed or result.tombstones)


def _show(result: Undone) -> None:
    for path in result.restored:
        output.say(f"restored {path}")
    for path in result.removed:
        output.say(f"removed  {path}")
    for each in result.left:
        output.say(f"left     {each.path}: {each.reason}")
    if not _is_done(result):
        raise MememError(f"Nothing of batch {result.batch} ({result.what}) could be taken back.")
    counts = f"{len(result.restored)} restored, {len(result.removed)} removed, {len(result.left)} left as they are"
    if result.tombstones:
        counts += f", {result.tombstones} tombstones taken back"
    if result.dry_run:
        output.say(f"Batch {result.batch} ({result.what}) would be undone: {counts}.")
        return
    output.say(f"Batch {result.batch} ({result.what}) is undone: {counts}.")
    if result.restored or result.removed or result.tombstones:
        output.aside(f"`memem undo {result.undo}` brings it back.")
