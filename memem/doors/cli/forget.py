"""The forget command."""

import argparse
from collections.abc import Sequence

from memem.core.errors import InputError
from memem.doors.cli import output
from memem.doors.cli.command import WHY, Command, OneOf, argument, flag, is_confirmed
from memem.notes import forget as notes_forget
from memem.search.vanished import MissingNote
from memem.upkeep import purge
from memem.upkeep.purge import Purged
from memem.workspace import Workspace


def forget(ws: Workspace, options: argparse.Namespace) -> int:
    if options.vanished and options.purge:
        raise InputError("--vanished cannot be combined with --purge; purge one memory by its id.")
    if options.vanished:
        return output.emit(notes_forget.forget_vanished(ws, why=options.why), options, _show_vanished)
    if not options.purge:
        return output.emit(notes_forget.forget(ws, options.id, why=options.why), options, output.written)
    if not options.yes:
        memory = purge.find(ws, options.id)
        question = "Remove every word of it for good? This cannot be undone."
        if not is_confirmed(question, about=f"{memory.id8}  {memory.project}  {memory.title}"):
            output.aside("Nothing was purged.")
            return 1
    return output.emit(purge.purge(ws, options.id), options, _show_purged)


def _show_vanished(missing: Sequence[MissingNote]) -> None:
    for note in missing:
        output.say(f"forgotten {note.id[:8]}  {note.path}")
    if missing:
        output.aside("`memem undo` reverts this, but cannot restore files that memem has no copy of.")
    else:
        output.aside("No note is missing.")


def _show_purged(purged: Purged) -> None:
    output.say(f"purged {purged.id[:8]} from {', '.join(purged.removed)}")
    for place in purged.elsewhere:
        output.aside(f"Still there: {place}")


_ID = argument("id", metavar="ID", nargs="?", help="id of a memory, or its first characters")
_ARGUMENTS = (
    OneOf((_ID, flag("--vanished", "forget all notes that were deleted from the vault")), required=True),
    flag("--purge", "remove every trace, also from undo, log and receipts"),
    flag("--yes", "purge without asking"),
    WHY,
)
COMMANDS = {"forget": Command(forget, _ARGUMENTS, scan=True)}
