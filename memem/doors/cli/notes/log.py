"""memem log"""

import argparse
from collections.abc import Sequence

from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.notes import history
from memem.notes.history import Batch

SHOWN_NOTES = 3


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH", nargs="?", help="show the events of this one")
    parser.add_argument("-n", "--limit", type=int, default=history.LIMIT, help=f"how many; default {history.LIMIT}")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        if options.batch is not None:
            events = history.events(ws, options.batch)
            rows = [(each.time, each.action, each.id[:8], each.path, each.why) for each in events]
            _show(events, ("time", "action", "id", "path", "why"), rows, json=options.json)
            return 0
        batches = history.log(ws, options.limit)
    if not batches and not options.json:
        output.aside("Nothing was done yet.")
    headings = ("time", "batch", "what", "who", "notes", "which")
    _show(batches, headings, [_row(batch) for batch in batches], json=options.json)
    return 0


def _show(values: object, headings: tuple[str, ...], rows: Sequence[Sequence[str]], *, json: bool) -> None:
    if json:
        output.as_json(values)
    elif rows:
        output.table(headings, rows)


def _row(batch: Batch) -> tuple[str, ...]:
    counts = f"+{batch.created} ~{batch.changed} -{batch.forgotten}"
    more = batch.created + batch.changed + batch.forgotten - SHOWN_NOTES
    which = "; ".join(map(output.title, batch.notes[:SHOWN_NOTES])) + (f"; and {more} more" if more > 0 else "")
    note = f" ({batch.because})" if batch.because else ""
    return batch.time[:16].replace("T", " "), batch.id, batch.what, batch.actor, counts, which + note
