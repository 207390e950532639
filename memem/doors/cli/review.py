"""Commands that ask for decisions: review and conflicts."""

import argparse
from collections.abc import Sequence

from memem.core.errors import MememError
from memem.doors.cli import output
from memem.doors.cli.command import Command
from memem.notes import conflicts, review
from memem.notes.conflicts import Conflict, Resolved
from memem.notes.review import Proposal
from memem.pages import conflicts as pages_conflicts
from memem.upkeep import curate
from memem.upkeep.curate import Curated, Suggestion
from memem.workspace import Workspace

_HEADINGS = {
    "merge": "Notes that say the same thing and can be merged",
    "split": "Notes that say several things and can be split",
    "archive": "Notes that were never used and can be archived",
}


def list_proposals(ws: Workspace, options: argparse.Namespace) -> int:
    return output.emit(review.proposals(ws), options, _show_proposals)


def _show_proposals(proposals: Sequence[Proposal]) -> None:
    if not proposals:
        output.aside("Nothing is waiting for review.")
        return
    notes = [(proposal.memory, proposal.because) for proposal in proposals]
    rows = [[note.id8, note.project, note.kind, output.title(note.title), because] for note, because in notes]
    output.table(["id", "project", "kind", "title", "reason"], rows, optional=("kind", "project"))
    output.aside("`memem review accept ID` accepts a note, `memem review reject ID` forgets it.")


def accept(ws: Workspace, options: argparse.Namespace) -> int:
    return output.emit(review.accept(ws, options.id, why=options.why), options, output.written)


def reject(ws: Workspace, options: argparse.Namespace) -> int:
    return output.emit(review.reject(ws, options.id, why=options.why), options, output.written)


def suggestions(ws: Workspace, options: argparse.Namespace) -> int:
    result = curate.curate(ws, project=options.project, apply=options.apply)
    output.emit(result, options, _show_suggestions if options.apply is None else _show_applied)
    failed = bool(options.apply) and not result.applied
    if failed and not options.json:
        raise MememError("Nothing was changed. `memem review suggestions` lists the suggestions.")
    return 1 if failed else 0


def _show_suggestions(result: Curated) -> None:
    if not result.suggestions:
        output.aside(f"Nothing to tidy among {output.count(result.memories, 'active memory')}.")
        return
    for what, heading in _HEADINGS.items():
        _show_group(heading, [item for item in result.suggestions if item.what == what and not item.yours])
    _show_group("Your own notes, which memem does not change", [item for item in result.suggestions if item.yours])
    every = "`memem review suggestions --apply` applies all of them except those for your own notes"
    output.aside(f"Nothing was changed. {every}, `--apply ID...` some of them.")
    if result.more:
        output.aside("There may be more: run this again afterwards, or for one project with --project.")


def _show_group(heading: str, suggestions: Sequence[Suggestion]) -> None:
    if suggestions:
        output.heading(f"{heading} ({len(suggestions)})")
    for item in suggestions:
        output.say(f"{item.id}  {item.project}  {item.reason}.")
        output.say(f"          {item.outcome}{f' (left to you: {item.yours})' if item.yours else ''}.")
        for part in item.into if item.what == "split" else ():
            output.quoted(part, "          | ")


def _show_applied(result: Curated) -> None:
    by_id = {item.id: item for item in result.suggestions}
    for identity in result.applied:
        output.say(f"done  {identity}  {by_id[identity].outcome}.")
    for item in result.left:
        output.say(f"left  {item.id}  {item.reason}")
    if result.batch:
        output.aside(f"`memem undo {result.batch}` reverts this.")
    elif not result.left:
        output.aside("Nothing to tidy.")


def list_conflicts(ws: Workspace, options: argparse.Namespace) -> int:
    found = conflicts.conflicts(ws, project=options.project)
    pages_conflicts.write_page(ws)
    return output.emit(found, options, _show_conflicts)


def _show_conflicts(found: Sequence[Conflict]) -> None:
    if not found:
        output.aside("No memories contradict each other.")
        return
    for conflict in found:
        output.heading(f"{conflict.one.project} · {'; '.join(conflict.differences) or 'different statements'}")
        output.say(f"{conflict.found}{f': {conflict.why}' if conflict.why else ''}")
        for memory in (conflict.one.memory, conflict.other.memory):
            since = (memory.valid_from or memory.created)[:10]
            output.say(f"  {memory.id8}  {since}  {memory.source_type}, written by {memory.author}  {memory.title}")
            output.quoted(memory.body, "    ")
            if memory.evidence:
                output.quoted(memory.evidence, "    > ")
    output.aside("`memem conflicts resolve ID keep` keeps that memory over the other; `both` keeps both.")


def resolve(ws: Workspace, options: argparse.Namespace) -> int:
    return output.emit(conflicts.resolve(ws, options.id, options.way, over=options.over), options, _show_resolved)


def _show_resolved(resolved: Resolved) -> None:
    outcome = "superseded" if resolved.way == conflicts.KEEP else "related"
    output.say(f"{resolved.way} {resolved.entry.memory.id8}  {resolved.entry.project}  {resolved.entry.title}")
    for other in resolved.others:
        output.say(f"{outcome} {other.memory.id8}  {other.project}  {other.title}")


COMMANDS = {
    "review": Command(list_proposals, scan=True),
    "review list": Command(list_proposals, scan=True),
    "review accept": Command(accept, scan=True),
    "review reject": Command(reject, scan=True),
    "review suggestions": Command(suggestions, scan=True),
    "conflicts": Command(list_conflicts, scan=True),
    "conflicts list": Command(list_conflicts, scan=True),
    "conflicts resolve": Command(resolve, scan=True),
}
