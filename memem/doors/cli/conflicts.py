"""The conflicts command."""

import argparse
from collections.abc import Sequence

from memem.doors.cli import output
from memem.doors.cli.command import ID, PROJECT, Command, argument
from memem.notes import conflicts
from memem.notes.conflicts import Conflict, Resolved
from memem.pages import conflicts as pages_conflicts
from memem.workspace import Workspace


def list_conflicts(ws: Workspace, options: argparse.Namespace) -> int:
    found = conflicts.conflicts(ws, project=options.project)
    pages_conflicts.write_page(ws)
    return output.emit(found, options, _show)


def _show(found: Sequence[Conflict]) -> None:
    if not found:
        output.aside("No memories contradict each other.")
        return
    for conflict in found:
        output.heading(f"{conflict.one.project} · {'; '.join(conflict.differences) or 'in other words'}")
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


_WAYS = "keep: this memory is valid and supersedes the other; both: both are valid"
_RESOLVE = (
    ID,
    argument("way", metavar="keep|both", choices=conflicts.WAYS, help=_WAYS),
    argument("--over", metavar="ID", help="only the conflict with this memory"),
)
COMMANDS = {
    "conflicts": Command(list_conflicts, (PROJECT,), scan=True),
    "conflicts list": Command(list_conflicts, (PROJECT,), scan=True),
    "conflicts resolve": Command(resolve, _RESOLVE, scan=True),
}
