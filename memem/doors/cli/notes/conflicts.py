"""memem conflicts"""

import argparse
import textwrap

from memem.core.memory import Entry
from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.notes import conflicts
from memem.notes.conflicts import Conflict
from memem.pages import conflicts as pages_conflicts


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-p", "--project", help="only this project")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with fresh_workspace() as ws:
        found = conflicts.conflicts(ws, project=options.project)
        pages_conflicts.write_page(ws)
    if options.json:
        output.as_json(found)
    elif not found:
        output.aside("No two memories contradict each other.")
    else:
        for conflict in found:
            _show(conflict)
        output.aside("`memem resolve ID keep` keeps the one with that id and ends the other; `both`: both hold.")
    return 0


def _show(conflict: Conflict) -> None:
    why = f": {conflict.why}" if conflict.why else ""
    output.heading(f"{conflict.one.project} · {'; '.join(conflict.differences) or 'in other words'}")
    output.say(f"{conflict.found}{why}")
    for side in (conflict.one, conflict.other):
        _show_side(side)


def _show_side(entry: Entry) -> None:
    memory = entry.memory
    since = (memory.valid_from or memory.created)[:10]
    output.say(f"  {memory.id8}  {since}  {memory.source_type}, written by {memory.author}  {memory.title}")
    output.say(textwrap.indent(memory.body, "    "))
    if memory.evidence:
        output.say(textwrap.indent(memory.evidence, "    > ", lambda _: True))
