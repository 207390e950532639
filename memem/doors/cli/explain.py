"""Commands that explain what Claude sees: slice and why."""

import argparse

from memem.doors.cli import output
from memem.doors.cli.command import Command, current_folder
from memem.inject import provenance, receipts
from memem.inject import slice as inject_slice
from memem.inject.provenance import Provenance
from memem.search import refresh
from memem.workspace import Workspace

MAX_TURN_CHARACTERS = 600


def slice_prompt(ws: Workspace, options: argparse.Namespace) -> int:
    chosen = {name: getattr(options, name) for name in ("project", "task_mode", "session_id", "always")}
    result = inject_slice.build_slice(ws, options.query, cwd=options.cwd or current_folder(), **chosen)
    output.degraded(result.degraded)
    if options.json:
        output.as_json(result)
    elif result.text:
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
    return output.emit({"decision": None, "memory": proof}, options, lambda _: _show_why(proof))


def _show_why(why: Provenance) -> None:
    output.whole(why.entry)
    output.say()
    output.say(why.note or f"From {why.transcript}:")
    for place, turn in enumerate(() if why.note else why.turns):
        output.say(f"{'>>' if place == why.place else '  '} {turn.role}, {output.minute(turn.time)}")
        more = " […]" if len(turn.text) > MAX_TURN_CHARACTERS else ""
        output.quoted(turn.text[:MAX_TURN_CHARACTERS] + more, "     ")
    if not why.injections:
        return
    output.heading("Shown")
    rows = []
    for shown in why.injections:
        likelihood = "" if shown.confidence is None else f"{round(shown.confidence * 100)} %"
        rows.append([output.minute(shown.time), shown.event, shown.project, shown.session, likelihood, shown.used])
    headings = ["when", "event", "project", "session", "likelihood", "used"]
    output.table(headings, rows, optional=("session", "project", "event"))
    if why.usefulness.shown:
        judged, used = output.count(why.usefulness.shown, "time"), output.count(why.usefulness.used, "time")
        output.say(f"Judged {judged}, used {used}; its rank is multiplied by {why.usefulness.multiplier:.2f}.")


COMMANDS = {"slice": Command(slice_prompt, scan=True), "why": Command(why)}
