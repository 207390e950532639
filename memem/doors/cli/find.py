"""Commands that find and show memories: search, get, list, timeline, transcript."""

import argparse
from collections.abc import Sequence

from memem.core.memory import Entry
from memem.doors.cli import output
from memem.doors.cli.command import ID, PROJECT, Command, argument, current_project, limit
from memem.search import find
from memem.search.timeline import Timeline, timeline
from memem.search.transcripts import sessions
from memem.search.transcripts.sessions import TurnHit
from memem.workspace import Workspace

_TIMELINE = {
    "predecessors": "Replaced",
    "successors": "Replaced by",
    "related": "Related",
    "contradicts": "Contradicts",
    "earlier": "Changed before it",
    "later": "Changed after it",
}


def search(ws: Workspace, options: argparse.Namespace) -> int:
    filters = {"project": options.project, "limit": options.limit, "as_of": options.as_of}
    hits = find.search(ws, options.query, current=current_project(ws), **filters)
    output.degraded(hits.degraded)
    return output.emit(hits, options, output.entries if hits else lambda _: output.aside("No matches."))


def get(ws: Workspace, options: argparse.Namespace) -> int:
    return output.emit([find.get(ws, identity) for identity in options.ids], options, _show_whole)


def _show_whole(entries: Sequence[Entry]) -> None:
    for number, entry in enumerate(entries):
        if number:
            output.say()
        output.whole(entry)


def list_memories(ws: Workspace, options: argparse.Namespace) -> int:
    entries = find.list_memories(ws, project=options.project, kind=options.kind, limit=options.limit)
    return output.emit(entries, options, output.entries if entries else lambda _: output.aside("No memories here yet."))


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


_QUERY = argument("query", metavar="QUERY", help="a question, words or an identifier")
_IDS = argument("ids", metavar="ID", nargs="+", help="id of a memory, or its first characters")
_KIND = argument("--kind", help="only this kind, such as decision or lesson")
_AS_OF = argument("--as-of", metavar="DATE", help="memories valid on this date: 2026-06-01, a time, 'last march'")
COMMANDS = {
    "search": Command(search, (_QUERY, PROJECT, limit(10), _AS_OF), scan=True),
    "get": Command(get, (_IDS,), scan=True),
    "list": Command(list_memories, (PROJECT, _KIND, limit(50)), scan=True),
    "timeline": Command(show_timeline, (ID,), scan=True),
    "transcript": Command(search_transcripts, (_QUERY, PROJECT, limit(10))),
}
