"""Commands that write memories: save and edit."""

import argparse
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path

from memem.core.errors import InputError
from memem.doors.cli import output
from memem.doors.cli.command import ID, WHY, Command, argument, current_folder, current_project, flag
from memem.notes import save as notes_save
from memem.notes import write
from memem.workspace import Workspace

MAX_STDIN_BYTES = 10_000_000
_KINDS = "decision, convention, preference, fact, lesson or procedure"
_LAYERS = "0 pinned, 1 conventions, 2 ordinary, 3 archive"


def save(ws: Workspace, options: argparse.Namespace) -> int:
    if options.text == "-":
        options.text = _read_stdin()  # only once, even if a damaged index makes the command run again
    result = notes_save.save(
        ws,
        options.text,
        title=options.title,
        project=options.project or current_project(ws),
        kind=options.kind,
        tags=options.tags,
        layer=options.layer,
        importance=options.importance,
        keys=options.keys,
        paths=options.paths,
        why=options.why,
        folder=current_folder(),
        anyway=options.anyway,
    )
    return output.emit(result, options, output.written)


def _read_stdin() -> str:
    data = sys.stdin.buffer.read(MAX_STDIN_BYTES) if sys.stdin is not None else b""
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        raise InputError(f"Standard input is not UTF-8 text (byte {problem.start}); nothing was saved.") from None


def edit(ws: Workspace, options: argparse.Namespace) -> int:
    values = {name: getattr(options, name) for name in write.EDITABLE}
    if changes := {name: value for name, value in values.items() if value is not None}:
        result = write.edit(ws, options.id, why=options.why, **changes)
    else:
        result = write.edit_by_hand(ws, options.id, partial(_open, ws.editor), why=options.why)
    return output.emit(result, options, output.written)


def _open(editor: str, path: Path) -> None:
    if not editor:
        raise InputError(f"Pass options to change (see --help), or set EDITOR to open {path}.")
    try:
        subprocess.run([*shlex.split(editor), str(path)], check=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as problem:
        raise InputError(f"The editor {editor!r} failed: {problem}. The note is {path}.") from None


_SAVE = (
    argument("text", metavar="TEXT", help="the statement to remember; - reads it from standard input"),
    argument("--title", metavar="TEXT", default="", help="one line; default: taken from the statement"),
    argument("-p", "--project", metavar="NAME", default="", help="default: the project of this folder"),
    argument("--kind", default="fact", help=f"{_KINDS} (fact)"),
    argument("--layer", metavar="0-3", type=int, help=_LAYERS),
    argument("--importance", metavar="1-5", type=int, default=3, help="how much it matters (3)"),
    argument("--tags", metavar="A,B", type=output.several, default=(), help="tags"),
    argument("--keys", metavar="A,B", type=output.several, default=(), help="other words to find it by"),
    argument("--paths", metavar="A,B", type=output.several, default=(), help="patterns of the files it is about"),
    flag("--anyway", "save it even if it was forgotten or reads like an instruction"),
    WHY,
)
_EDIT = (
    ID,
    argument("--text", metavar="TEXT", dest="body", help="new statement"),
    argument("--title", metavar="TEXT", help="new title"),
    argument("-p", "--project", metavar="NAME", help="new project"),
    argument("--kind", help=_KINDS),
    argument("--layer", metavar="0-3", type=int, help=_LAYERS),
    argument("--importance", metavar="1-5", type=int, help="how much it matters"),
    argument("--status", help="active, deprecated, stale or quarantined"),
    argument("--tags", metavar="A,B", type=output.several, help="tags, replacing the old ones"),
    argument("--keys", metavar="A,B", type=output.several, help="other words to find it by, replacing the old ones"),
    argument("--paths", metavar="A,B", type=output.several, help="patterns of its files, replacing the old ones"),
    WHY,
)
COMMANDS = {"save": Command(save, _SAVE), "edit": Command(edit, _EDIT, scan=True)}
