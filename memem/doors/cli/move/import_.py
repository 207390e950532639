"""memem import"""

import argparse
from pathlib import Path

from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.transfer import import_
from memem.transfer.import_ import Imported
from memem.transfer.items import DIFFERS, EXISTS, REFUSED, UNREADABLE, ImportedFile
from memem.transfer.sources import FORMATS

_LEFT = (REFUSED, UNREADABLE, DIFFERS)
MOST_KNOWN = 20
"""How many of those that were known already are told one by one."""


def arguments(parser: argparse.ArgumentParser) -> None:
    what = (
        "files or folders: markdown, CLAUDE.md, conversations of Claude or ChatGPT, a claude-mem.db, an export of memem"
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help=what)
    parser.add_argument("-p", "--project", default="", help="of all of them; default: what each says, or general")
    told = f"read the files as this, whatever they look like: {', '.join(FORMATS)}"
    parser.add_argument("--from", dest="format", metavar="FORMAT", default="", choices=FORMATS, help=told)
    parser.add_argument("--dry-run", action="store_true", help="say what would become of each, and change nothing")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws, output.progress("Importing (Ctrl-C to go on later)", quiet=options.json) as progress:
        chosen = {"project": options.project, "format": options.format, "dry_run": options.dry_run}
        result = import_.import_notes(ws, options.paths, **chosen, progress=progress)
    if options.json:
        output.as_json(result)
    else:
        _show(result)
    return 1 if result.files and result.count(REFUSED, UNREADABLE) == len(result.files) else 0


def _show(result: Imported) -> None:
    if result.turns:
        output.say(f"{result.turns:,} turns of conversations were looked at.")
    if not result.files and not result.tombstones:
        output.aside("There is nothing worth keeping in them." if result.turns else "There is nothing to import there.")
        return
    for each in result.files:
        if each.outcome in _LEFT:
            output.quote_aside(f"{each.outcome} {_where(each)}: {output.advice(each.reason)}")
        elif each.outcome != EXISTS:
            output.say(
                f"{each.outcome} {each.id[:8]}  {each.title}{f' ({output.advice(each.reason)})' if each.reason else ''}"
            )
    _show_known([each for each in result.files if each.outcome == EXISTS])
    known, left = result.count(EXISTS), result.count(*_LEFT)
    would = "would be " if result.dry_run else ""
    items = "items" if any(each.place for each in result.files) else "files"
    brought = len(result.files) - known - left
    if result.files:
        output.say(f"{len(result.files)} {items}: {brought} {would}imported, {known} already known, {left} left out.")
    if result.tombstones:
        output.say(f"{result.tombstones} that were forgotten there {'would be' if result.dry_run else 'are'} here too.")
    if result.batch:
        output.aside(f"`memem undo {result.batch}` takes it back.")


def _show_known(known: list[ImportedFile]) -> None:
    """Which note says it already; of many the first few."""
    for each in known[:MOST_KNOWN]:
        output.quote_aside(f"{EXISTS} {_where(each)}: {each.id[:8]}  {each.title}")
    if len(known) > MOST_KNOWN:
        output.aside(f"and {len(known) - MOST_KNOWN} more that are known; --json lists them all.")


def _where(each: ImportedFile) -> str:
    return f"{each.file} ({each.place})" if each.place else each.file
