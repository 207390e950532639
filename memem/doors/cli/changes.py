"""Commands about the past: log, undo, timeline, transcript."""

import argparse
from collections.abc import Sequence

from memem.core.errors import MememError
from memem.doors.cli import output
from memem.doors.cli.command import Command
from memem.notes import history
from memem.notes import undo as notes_undo
from memem.notes.history import Batch
from memem.notes.undo import Undone
from memem.search.timeline import Timeline, timeline
from memem.search.transcripts import sessions
from memem.search.transcripts.sessions import TurnHit
from memem.workspace import Workspace

MAX_SHOWN_NOTES = 3
_TIMELINE = {
    "predecessors": "Replaced",
    "successors": "Replaced by",
    "related": "Related",
    "contradicts": "Contradicts",
    "earlier": "Changed before it",
    "later": "Changed after it",
}


def log(ws: Workspace, options: argparse.Namespace) -> int:
    if options.batch is not None:
        return output.emit([history.find_batch(ws, options.batch)], options, _show_events)
    return output.emit(history.log(ws, options.limit), options, _show_batches)


def _show_events(batches: Sequence[Batch]) -> None:
    rows = [(event.time, event.action, event.id[:8], event.path, event.why) for event in batches[0].events]
    output.table(("time", "action", "id", "path", "why"), rows, optional=("time", "why"))


def _show_batches(batches: Sequence[Batch]) -> None:
    if not batches:
        output.aside("There are no changes yet.")
        return
    rows = []
    for batch in batches:
        counts = f"+{batch.created} ~{batch.changed} -{batch.forgotten}"
        more = batch.created + batch.changed + batch.forgotten - MAX_SHOWN_NOTES
        notes = "; ".join(map(output.title, batch.notes[:MAX_SHOWN_NOTES])) + (f"; and {more} more" if more > 0 else "")
        remark = f" ({batch.because})" if batch.because else ""
        rows.append((output.minute(batch.time), batch.id, batch.what, batch.actor, counts, notes + remark))
    output.table(("time", "batch", "action", "by", "changes", "notes"), rows, optional=("by", "time", "changes"))


def undo(ws: Workspace, options: argparse.Namespace) -> int:
    result = notes_undo.undo(ws, options.batch, dry_run=options.dry_run)
    output.emit(result, options, _show_undone)
    return 0 if _is_done(result) else 1


def _is_done(result: Undone) -> bool:
    return bool(result.undo or result.restored or result.removed or result.tombstones)


def _show_undone(result: Undone) -> None:
    rows = [f"restored {path}" for path in result.restored] + [f"removed  {path}" for path in result.removed]
    for row in rows + [f"left     {note.path}: {note.reason}" for note in result.left]:
        output.say(row)
    if not _is_done(result):
        raise MememError(f"Nothing in batch {result.batch} ({result.what}) could be undone.")
    counts = f"{len(result.restored)} restored, {len(result.removed)} removed, {len(result.left)} left unchanged"
    if result.tombstones:
        counts += f", {output.count(result.tombstones, 'tombstone')} reverted"
    output.say(f"Batch {result.batch} ({result.what}) {'would be' if result.dry_run else 'was'} undone: {counts}.")
    if not result.dry_run and (result.restored or result.removed or result.tombstones):
        output.aside(f"`memem undo {result.undo}` reverts this.")


def show_timeline(ws: Workspace, options: argparse.Namespace) -> int:
    return output.emit(timeline(ws, options.id), options, _show_timeline)


def _show_timeline(result: Timeline) -> None:
    output.whole(result.entry)
    for part, heading in _TIMELINE.items():
        if entries := getattr(result, part):
            output.heading(heading)
            output.entries(entries, with_period=True)


def search_transcripts(ws: Workspace, options: argparse.Namespace) -> int:
    matches = sessions.search(ws, options.query, limit=options.limit, project=options.project)
    return output.emit(matches, options, _show_turns)


def _show_turns(matches: Sequence[TurnHit]) -> None:
    if not matches:
        output.aside("No matches in sessions since mining was switched on.")
    for match in matches:
        output.heading(f"{match.project} · session {match.session} · {match.transcript or 'file deleted'}")
        for mark, turn in (("  ", match.before), (">>", match), ("  ", match.after)):
            if turn:
                output.say(f"{mark} {turn.role}, {output.minute(turn.time)}")
                output.quoted(turn.text, "     ")


COMMANDS = {
    "log": Command(log),
    "undo": Command(undo),
    "timeline": Command(show_timeline, scan=True),
    "transcript": Command(search_transcripts),
}
