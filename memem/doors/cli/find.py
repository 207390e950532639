"""Commands that find and show memories: search, get, list."""

import argparse
from functools import partial

from memem.doors.cli import output
from memem.doors.cli.command import Command, current_folder
from memem.search import find
from memem.workspace import Workspace


def search(ws: Workspace, options: argparse.Namespace) -> int:
    filters = {"project": options.project, "limit": options.limit, "as_of": options.as_of}
    hits = find.search(ws, options.query, current=ws.project_of(current_folder()).name, **filters)
    output.degraded(hits.degraded)
    return output.emit(hits, options, output.entries)


def get(ws: Workspace, options: argparse.Namespace) -> int:
    entries = [find.get(ws, identity) for identity in options.ids]
    if options.json:
        return output.as_json(entries)
    for number, entry in enumerate(entries):
        if number:
            output.say()
        output.whole(entry)
    return 0


def list_memories(ws: Workspace, options: argparse.Namespace) -> int:
    entries = find.list_memories(ws, project=options.project, kind=options.kind, limit=options.limit)
    return output.emit(entries, options, partial(output.entries, empty="No memories to list."))


COMMANDS = {
    "search": Command(search, scan=True),
    "get": Command(get, scan=True),
    "list": Command(list_memories, scan=True),
}
