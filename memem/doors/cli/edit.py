"""Commands that change memories: save, edit, forget."""

import argparse
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memem.core import files
from memem.core.errors import InputError
from memem.doors.cli import output
from memem.doors.cli.command import Command, current_folder, is_confirmed
from memem.notes import forget as notes_forget
from memem.notes import save as notes_save
from memem.notes import write
from memem.upkeep import purge
from memem.workspace import Workspace

MAX_STDIN_BYTES = 10_000_000


def save(ws: Workspace, options: argparse.Namespace) -> int:
    if options.text == "-":  # read only once, even if a damaged index makes the command run again
        data = sys.stdin.buffer.read(MAX_STDIN_BYTES) if sys.stdin is not None else b""
        try:
            options.text = data.decode()
        except UnicodeDecodeError as problem:
            raise InputError(f"Standard input is not UTF-8 text (byte {problem.start}); nothing was saved.") from None
    names = ("title", "kind", "tags", "layer", "importance", "keys", "paths", "why", "anyway")
    properties = {name: getattr(options, name) for name in names}
    project = options.project or ws.project_of(current_folder()).name
    result = notes_save.save(ws, options.text, project=project, folder=current_folder(), **properties)
    return output.emit(result, options, output.written)


def edit(ws: Workspace, options: argparse.Namespace) -> int:
    values = {name: getattr(options, name) for name in write.EDITABLE}
    if changes := {name: value for name, value in values.items() if value is not None}:
        result = write.edit(ws, options.id, why=options.why, **changes)
    else:
        result = write.edit_by_hand(ws, options.id, partial(_open, ws.editor), why=options.why)
    return output.emit(result, options, output.written)


def _open(editor: str, path: Path) -> None:
    if not editor:
        raise InputError(f"Pass at least one option (see --help), or set EDITOR to open {path}.")
    try:
        subprocess.run([*shlex.split(editor), str(path)], check=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as problem:
        reason = files.reason(problem) if isinstance(problem, OSError) else str(problem)
        if isinstance(problem, subprocess.CalledProcessError):
            reason = f"exit code {problem.returncode}"
        raise InputError(
            f"The editor {editor!r} failed: {reason}. Set EDITOR to another editor, or open the note directly: {path}."
        ) from None


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """A memory that was forgotten or purged; keys of --json."""

    outcome: str
    id: str
    title: str = ""
    path: str = ""
    time: str = ""
    removed: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()


def forget(ws: Workspace, options: argparse.Namespace) -> int:
    if options.vanished and options.purge:
        raise InputError("--vanished cannot be combined with --purge; purge one memory by its id.")
    if options.vanished:
        missing = notes_forget.forget_vanished(ws, why=options.why)
        vanished = [ForgetResult("forgotten", note.id, path=note.path, time=note.time) for note in missing]
        if options.json:
            return output.as_json(vanished)
        for note in vanished:
            output.say(f"forgotten {note.id[:8]}  {note.path}")
        reverted = "`memem undo` reverts this, but cannot restore files that memem has no copy of."
        output.aside(reverted if vanished else "No note is missing.")
        return 0
    if not options.purge:
        written = notes_forget.forget(ws, options.id, why=options.why)
        result = ForgetResult(written.outcome, written.memory.id, written.memory.title, written.path)
        return output.emit([result], options, lambda _: output.written(written))
    if not options.yes:
        memory = purge.find(ws, options.id)
        question = "Remove every trace of it permanently? This cannot be undone."
        if not is_confirmed(question, about=f"{memory.id8}  {memory.project}  {memory.title}"):
            output.aside("Nothing was purged.")
            return 1
    purged = purge.purge(ws, options.id)
    result = ForgetResult("purged", purged.id, purged.title, removed=purged.removed, elsewhere=purged.elsewhere)
    if options.json:
        return output.as_json([result])
    places = ("the records of what Claude was shown" if place == "receipts" else place for place in purged.removed)
    output.say(f"purged {purged.id[:8]} from {', '.join(places)}")
    for place in purged.elsewhere:
        output.aside(f"Not removed: {place}")
    return 0


COMMANDS = {"save": Command(save), "edit": Command(edit, scan=True), "forget": Command(forget, scan=True)}
