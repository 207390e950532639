"""memem edit"""

import argparse
import shlex
import subprocess
from functools import partial
from pathlib import Path

from memem.core.errors import InputError
from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.notes import write


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the id, or its first characters")
    changes = parser.add_argument_group("changes").add_argument
    changes("--text", dest="body", help="a new statement")
    changes("--title", help="a new title")
    changes("-p", "--project", help="another project")
    changes("--kind", help="another kind")
    changes("--layer", type=int, help="0 pinned, 1 conventions, 2 ordinary, 3 archive")
    changes("--importance", type=int, help="1 to 5")
    changes("--status", help="active, deprecated, stale or quarantined")
    changes("--tags", type=output.several, help="all tags, comma-separated")
    changes("--keys", type=output.several, help="all keys, comma-separated")
    changes("--paths", type=output.several, help="all paths, comma-separated")
    parser.add_argument("--why", default="", help="a reason for the event log")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    given = {name: getattr(options, name) for name in write.EDITABLE}
    changes = {name: value for name, value in given.items() if value is not None}
    with fresh_workspace() as ws:
        if changes:
            result = write.edit(ws, options.id, why=options.why, **changes)
        else:
            result = write.edit_by_hand(ws, options.id, partial(_open, ws.editor), why=options.why)
    output.written(result, json=options.json)
    return 0


def _open(editor: str, path: Path) -> None:
    if not editor:
        raise InputError(f"Give options to change (see --help), or set EDITOR to open {path}.")
    try:
        subprocess.run([*shlex.split(editor), str(path)], check=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as problem:
        raise InputError(f"The editor {editor!r} failed: {problem}. The note is {path}.") from None
