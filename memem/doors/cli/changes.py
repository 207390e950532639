"""Commands about changes, made or proposed: log, undo, review, conflicts."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memem.core.dates import get_said_day
from memem.core.errors import MememError
from memem.doors.cli import output
from memem.doors.cli.command import Command
from memem.notes import history
from memem.notes import undo as notes_undo
from memem.workspace import Workspace

if TYPE_CHECKING:
    from memem.upkeep.curate import Curated, Suggestion

MAX_SHOWN_NOTES = 3
_HEADINGS = {
    "merge": "Notes that say the same thing and can be merged",
    "split": "Notes that say several things and can be split",
    "archive": "Notes that were never used and can be archived",
}


def log(ws: Workspace, options: argparse.Namespace) -> int:
    batches = history.log(ws, options.limit) if options.batch is None else [history.find_batch(ws, options.batch)]
    if options.json:
        return output.as_json(batches)
    if options.batch is not None:
        events = [(event.time, event.action, event.id[:8], event.path, event.why) for event in batches[0].events]
        output.table(("time", "action", "id", "path", "why"), events, optional=("time", "why"))
        return 0
    rows = []
    for batch in batches:
        counts = f"+{batch.created} ~{batch.changed} -{batch.forgotten}"
        more = batch.created + batch.changed + batch.forgotten - MAX_SHOWN_NOTES
        notes = "; ".join(map(output.title, batch.notes[:MAX_SHOWN_NOTES])) + (f"; and {more} more" if more > 0 else "")
        remark = f" ({batch.because})" if batch.because else ""
        rows.append((output.minute(batch.time), batch.id, batch.what, batch.actor, counts, notes + remark))
    headings = ("time", "batch", "action", "by", "changes", "notes")
    output.table(headings, rows, optional=("by", "time", "changes"), empty="There are no changes yet.")
    return 0


def undo(ws: Workspace, options: argparse.Namespace) -> int:
    result = notes_undo.undo(ws, options.batch, dry_run=options.dry_run)
    has_changed = bool(result.restored or result.removed or result.tombstones)
    is_done = has_changed or bool(result.undo)
    if options.json:
        output.as_json(result)
        return 0 if is_done else 1
    verbs = (
        ("would restore", "would remove ", "would skip   ") if result.dry_run else ("restored", "removed ", "skipped ")
    )
    restored, removed, skipped = verbs
    rows = [f"{restored} {path}" for path in result.restored] + [f"{removed} {path}" for path in result.removed]
    for row in rows + [f"{skipped} {note.path}: {note.reason}" for note in result.left]:
        output.say(row)
    if not is_done:
        raise MememError(f"Nothing in batch {result.batch} ({result.what}) could be undone.")
    counts = f"{len(result.restored)} restored, {len(result.removed)} removed, {len(result.left)} skipped"
    if result.tombstones:
        counts += f", {output.count(result.tombstones, 'tombstone')} reverted"
    output.say(f"Batch {result.batch} ({result.what}) {'would be' if result.dry_run else 'was'} undone: {counts}.")
    if has_changed and not result.dry_run:
        output.aside(f"`memem undo {result.undo}` reverts this.")
    return 0


def list_proposals(ws: Workspace, options: argparse.Namespace) -> int:
    from memem.notes import review

    proposals = review.proposals(ws)
    if options.json:
        return output.as_json(proposals)
    notes = [(proposal.memory, proposal.because) for proposal in proposals]
    rows = [[note.id8, note.project, note.kind, output.title(note.title), because] for note, because in notes]
    headings, empty = ["id", "project", "kind", "title", "reason"], "Nothing is waiting for review."
    output.table(headings, rows, optional=("kind", "project"), empty=empty)
    if proposals:
        output.aside("`memem review accept ID` accepts a note, `memem review reject ID` rejects it.")
    return 0


def accept(ws: Workspace, options: argparse.Namespace) -> int:
    from memem.notes import review

    return output.emit(review.accept(ws, options.id, why=options.why), options, output.written)


def reject(ws: Workspace, options: argparse.Namespace) -> int:
    from memem.notes import review

    return output.emit(review.reject(ws, options.id, why=options.why), options, output.written)


def suggestions(ws: Workspace, options: argparse.Namespace) -> int:
    from memem.upkeep import curate

    result = curate.curate(ws, project=options.project, apply=options.apply)
    output.emit(result, options, _show_suggestions if options.apply is None else _show_applied)
    failed = bool(options.apply) and not result.applied
    if failed and not options.json:
        raise MememError("Nothing was changed. `memem review suggestions` lists the suggestions.")
    return 1 if failed else 0


def _show_suggestions(result: "Curated") -> None:
    if not result.suggestions:
        output.aside(f"Nothing to tidy among {output.count(result.memories, 'active memory')}.")
        return
    for what, heading in _HEADINGS.items():
        _show_group(heading, [item for item in result.suggestions if item.what == what and not item.yours])
    _show_group("Your own notes, which memem does not change", [item for item in result.suggestions if item.yours])
    every = "`memem review suggestions --apply` applies all of them except those for your own notes"
    output.aside(f"Nothing was changed. {every}; `--apply ID...` applies only those you name.")
    if result.more:
        output.aside("There may be more: run this again afterwards, or for one project with --project.")


def _show_group(heading: str, suggestions: "Sequence[Suggestion]") -> None:
    if suggestions:
        output.heading(f"{heading} ({len(suggestions)})")
    for item in suggestions:
        output.say(f"{item.id}  {item.project}  {item.reason}.")
        output.say(f"          {item.outcome}{f' (not applied automatically: {item.yours})' if item.yours else ''}.")
        for part in item.into if item.what == "split" else ():
            output.quoted(part, "          | ")


def _show_applied(result: "Curated") -> None:
    by_id = {item.id: item for item in result.suggestions}
    for identity in result.applied:
        output.say(f"done     {identity}  {by_id[identity].outcome}.")
    for item in result.left:
        output.say(f"skipped  {item.id}  {item.reason}")
    if result.batch:
        output.aside(f"`memem undo {result.batch}` reverts this.")
    elif not result.left:
        output.aside("Nothing to tidy.")


def list_conflicts(ws: Workspace, options: argparse.Namespace) -> int:
    from memem.notes import conflicts
    from memem.pages import conflicts as pages_conflicts

    contradictions = conflicts.conflicts(ws, project=options.project)
    pages_conflicts.write_page(ws)
    if options.json:
        return output.as_json(contradictions)
    if not contradictions:
        output.aside("No memories contradict each other.")
        return 0
    for conflict in contradictions:
        output.heading(f"{conflict.one.project} · {'; '.join(conflict.differences) or 'different statements'}")
        output.say(f"{conflict.found}{f': {conflict.why}' if conflict.why else ''}")
        for memory in (conflict.one.memory, conflict.other.memory):
            output.say(f"  {memory.id8}  {get_said_day(memory)}  {conflicts.describe_origin(memory)}  {memory.title}")
            output.quoted(memory.body, "    ")
            if memory.evidence:
                output.quoted(memory.evidence, "    > ")
    output.aside("`memem conflicts resolve ID keep` keeps that memory over the other; `both` keeps both.")
    return 0


def resolve(ws: Workspace, options: argparse.Namespace) -> int:
    from memem.notes import conflicts

    resolved = conflicts.resolve(ws, options.id, options.way, over=options.over)
    if options.json:
        return output.as_json(resolved)
    outcome = "superseded" if resolved.way == conflicts.KEEP else "kept"
    output.say(f"kept {resolved.entry.memory.id8}  {resolved.entry.project}  {resolved.entry.title}")
    for other in resolved.others:
        output.say(f"{outcome} {other.memory.id8}  {other.project}  {other.title}")
    return 0


COMMANDS = {
    "log": Command(log),
    "undo": Command(undo),
    "review": Command(list_proposals, scan=True),
    "review list": Command(list_proposals, scan=True),
    "review accept": Command(accept, scan=True),
    "review reject": Command(reject, scan=True),
    "review suggestions": Command(suggestions, scan=True),
    "conflicts": Command(list_conflicts, scan=True),
    "conflicts list": Command(list_conflicts, scan=True),
    "conflicts resolve": Command(resolve, scan=True),
}
