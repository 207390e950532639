"""The import and export commands."""

import argparse

from memem.doors.cli import output
from memem.doors.cli.command import Command
from memem.transfer import export as transfer_export
from memem.transfer import import_
from memem.transfer.import_ import Imported
from memem.transfer.items import DIFFERS, EXISTS, REFUSED, UNREADABLE, ImportedFile
from memem.workspace import Workspace

_SKIPPED = (REFUSED, UNREADABLE, DIFFERS)
MAX_SHOWN_EXISTING = 20
_WOULD = {
    "created": "would save",
    "updated": "would add to",
    "superseded": "would save as a replacement",
    "proposed": "would propose for review",
}


def import_notes(ws: Workspace, options: argparse.Namespace) -> int:
    chosen = {"project": options.project, "format": options.format, "dry_run": options.dry_run}
    with output.progress("Importing (Ctrl-C to stop; you can continue later)", quiet=options.json) as progress:
        result = import_.import_notes(ws, options.paths, **chosen, progress=progress)
    output.emit(result, options, _show_imported)
    return 1 if result.files and result.count(REFUSED, UNREADABLE) == len(result.files) else 0


def _show_imported(result: Imported) -> None:
    if result.turns:
        output.say(f"Read {output.count(result.turns, 'conversation turn')}.")
    if not result.files and not result.tombstones:
        output.aside("Nothing worth saving was found." if result.turns else "There is nothing to import.")
        return
    for item in result.files:
        if item.outcome in _SKIPPED:
            output.quote_aside(f"{item.outcome} {_location(item)}: {output.advice(item.reason)}")
        elif item.outcome != EXISTS:
            reason = f" ({output.advice(item.reason)})" if item.reason else ""
            outcomes = _WOULD if result.dry_run else output.OUTCOMES
            output.say(f"{outcomes.get(item.outcome, item.outcome)} {item.id[:8]}  {item.title}{reason}")
    existing = [item for item in result.files if item.outcome == EXISTS]
    for item in existing[:MAX_SHOWN_EXISTING]:
        output.quote_aside(f"{output.OUTCOMES[EXISTS]}: {_location(item)} as {item.id[:8]}  {item.title}")
    if len(existing) > MAX_SHOWN_EXISTING:
        output.aside(f"and {len(existing) - MAX_SHOWN_EXISTING} more already known; --json lists them all.")
    skipped = result.count(*_SKIPPED)
    if result.files:
        total = output.count(len(result.files), "item" if any(item.place for item in result.files) else "file")
        imported = f"{len(result.files) - len(existing) - skipped} {'would be ' if result.dry_run else ''}imported"
        output.say(f"{total}: {imported}, {len(existing)} already known, {skipped} left out.")
    if result.tombstones:
        tombstones = f"{output.count(result.tombstones, 'tombstone')} {'would be ' if result.dry_run else ''}imported"
        output.say(f"{tombstones}: forgotten notes stay forgotten.")
    if result.batch:
        output.aside(f"`memem undo {result.batch}` reverts this.")


def _location(item: ImportedFile) -> str:
    return f"{item.file} ({item.place})" if item.place else item.file


def export(ws: Workspace, options: argparse.Namespace) -> int:
    with output.progress("Exporting", quiet=options.json) as progress:
        chosen = {"project": options.project, "force": options.force}
        done = transfer_export.export(ws, options.path, **chosen, progress=progress)
    if options.json:
        return output.as_json(done)
    others = ((done.proposals, "proposal"), (done.pages, "page"), (done.tombstones, "tombstone"))
    counts = [output.count(done.notes, "note"), *(output.count(number, noun) for number, noun in others if number)]
    output.say(f"Exported {', '.join(counts)} to {done.path}.")
    for path in done.left:
        output.aside(f"Left out: {path} is too large or cannot be read.")
    output.aside("`memem import` restores an export. Keep it as private as the vault: it is not encrypted.")
    return 0


COMMANDS = {"import": Command(import_notes), "export": Command(export)}
