"""Commands that explain: slice and why (what Claude sees), timeline and transcript (what came before)."""

import argparse

from memem.doors.cli import output
from memem.doors.cli.command import Command, current_folder
from memem.inject import provenance, receipts
from memem.inject import slice as inject_slice
from memem.search import refresh
from memem.workspace import Workspace

MAX_TURN_CHARACTERS = 600
_TIMELINE = {
    "predecessors": "Replaced",
    "successors": "Replaced by",
    "related": "Related",
    "contradicts": "Contradicts",
    "earlier": "Changed before it",
    "later": "Changed after it",
}


def slice_prompt(ws: Workspace, options: argparse.Namespace) -> int:
    chosen = {name: getattr(options, name) for name in ("project", "task_mode", "session_id", "always")}
    result = inject_slice.build_slice(ws, options.query, cwd=options.cwd or current_folder(), **chosen)
    output.degraded(result.degraded)
    if options.json:
        return output.as_json(result)
    if result.text:
        output.say(result.text.rstrip("\n"))
    else:
        output.aside(f"(nothing shown: {result.reason})")
    return 0


def why(ws: Workspace, options: argparse.Namespace) -> int:
    if options.id is None:
        decision = receipts.last_decision(ws, ws.session)
        result = {"decision": decision, "memory": None}
        return output.emit(result, options, lambda _: output.say("\n".join(decision.words)))
    refresh.refresh(ws)
    proof = provenance.find_provenance(ws, options.id)
    if options.json:
        return output.as_json({"decision": None, "memory": proof})
    output.whole(proof.entry)
    output.say()
    output.say(proof.note or f"From {proof.transcript}:")
    for place, turn in enumerate(() if proof.note else proof.turns):
        output.say(f"{'>>' if place == proof.place else '  '} {turn.role}, {output.minute(turn.time)}")
        more = " […]" if len(turn.text) > MAX_TURN_CHARACTERS else ""
        output.quoted(output.turn(turn.text[:MAX_TURN_CHARACTERS] + more), "     ")
    if not proof.injections:
        return 0
    output.heading("Shown")
    rows = []
    for shown in proof.injections:
        likelihood = "" if shown.confidence is None else f"{round(shown.confidence * 100)}%"
        rows.append([output.minute(shown.time), shown.event, shown.project, shown.session, likelihood, shown.used])
    headings = ["when", "event", "project", "session", "likelihood", "used"]
    output.table(headings, rows, optional=("session", "project", "event"))
    if proof.usefulness.shown:
        used = f"used {_times(proof.usefulness.used)}" if proof.usefulness.used else "never used"
        checks = f"memem checked {_times(proof.usefulness.shown)} whether Claude used it; it was {used}."
        output.say(f"{checks} Its search score is therefore multiplied by {proof.usefulness.multiplier:.2f}.")
    return 0


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def show_timeline(ws: Workspace, options: argparse.Namespace) -> int:
    from memem.search.graph.read import timeline

    result = timeline(ws, options.id)
    if options.json:
        return output.as_json(result)
    output.whole(result.entry)
    for part, heading in _TIMELINE.items():
        if entries := getattr(result, part):
            output.heading(heading)
            output.entries(entries, with_period=True)
    return 0


def search_transcripts(ws: Workspace, options: argparse.Namespace) -> int:
    from memem.search.transcripts import sessions

    matches = sessions.search(ws, options.query, limit=options.limit, project=options.project)
    if options.json:
        return output.as_json(matches)
    if not matches:
        output.aside("No matches in sessions since mining was switched on.")
    for match in matches:
        output.heading(f"{match.project} · session {match.session} · {match.transcript or 'file deleted'}")
        for mark, turn in (("  ", match.before), (">>", match), ("  ", match.after)):
            if turn:
                output.say(f"{mark} {turn.role}, {output.minute(turn.time)}")
                output.quoted(f"(withheld: it {turn.withheld})" if turn.withheld else turn.text, "     ")
    return 0


COMMANDS = {
    "slice": Command(slice_prompt, scan=True),
    "why": Command(why),
    "timeline": Command(show_timeline, scan=True),
    "transcript": Command(search_transcripts),
}
