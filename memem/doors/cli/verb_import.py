"""memem import"""

import argparse
from pathlib import Path

from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.flows import importing
from memem.flows.importing import Imported

_FAILED = (importing.REFUSED, importing.UNREADABLE)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="markdown files, or folders of them")
    parser.add_argument("-p", "--project", default="", help="of all of them; default: what each file says, or general")
    parser.add_argument("--dry-run", action="store_true", help="say what would become of each file, and change nothing")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws, output.progress("Importing (Ctrl-C to go on later)", quiet=options.json) as progress:
        chosen = {"project": options.project, "dry_run": options.dry_run}
        result = importing.import_notes(ws, options.paths, **chosen, progress=progress)
    if options.json:
        output.as_json(result)
    else:
        _show(result)
    return 1 if result.files and result.count(*_FAILED) == len(result.files) else 0


def _show(result: Imported) -> None:
    if not result.files:
        output.aside("There are no markdown files there.")
        return
    for each in result.files:
        if each.outcome in _FAILED:
            output.aside(f"{each.outcome} {each.file}: {each.reason}")
        elif each.outcome != importing.EXISTS:
            output.say(f"{each.outcome} {each.id[:8]}  {each.title}")
    known, failed = result.count(importing.EXISTS), result.count(*_FAILED)
    brought = len(result.files) - known - failed
    would = "would be " if result.dry_run else ""
    output.say(f"{len(result.files)} files: {brought} {would}imported, {known} already known, {failed} left out.")
    if result.batch:
        output.aside(f"`memem undo {result.batch}` takes it back.")
