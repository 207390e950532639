"""The index command."""

import argparse
from collections.abc import Sequence

from memem.core import processes
from memem.core.errors import Busy, ModelError
from memem.doors.cli import output
from memem.doors.cli.command import Command
from memem.search import rebuild as search_rebuild
from memem.search.encoders import encode as encoders_encode
from memem.search.encoders import model as encoders_model
from memem.search.encoders.encode import EncodeReport
from memem.search.encoders.model import ModelState
from memem.search.graph import build
from memem.upkeep import status
from memem.upkeep.status import Finding
from memem.workspace import Workspace


def rebuild(ws: Workspace, options: argparse.Namespace) -> int:
    with output.progress("Reading the notes", quiet=options.json):
        result = search_rebuild.rebuild(ws)
    read = f"Read {result.changed} of {output.count(result.files, 'file')} in {ws.settings.vault}."
    output.emit(result, options, lambda _: output.say(read))
    if ws.settings.encoder != "none":
        try:
            encoded = _encode(ws, quiet=options.json)
            if not options.json:
                output.say(f"{_describe_encoded(encoded)} with {encoders_model.model_state(ws).described}.")
        except ModelError as problem:
            output.degraded(str(problem))
        except Busy as problem:
            output.aside(str(problem))
    build.refresh_in_background(ws)
    return 0


def _encode(ws: Workspace, *, quiet: bool) -> EncodeReport:
    try:
        with output.progress("Encoding (Ctrl-C to continue later)", quiet=quiet) as progress:
            return encoders_encode.encode_all(ws, progress, wait=0)
    except KeyboardInterrupt:
        output.aside("Interrupted: finished vectors are kept; run `memem index encode` to continue.")
        raise


def _describe_encoded(result: EncodeReport) -> str:
    return f"Encoded {result.encoded:,} of {output.count(result.passages, 'passage')}"


def encode(ws: Workspace, options: argparse.Namespace) -> int:
    if options.background:
        processes.give_way()
    try:
        result = _encode(ws, quiet=options.background or options.json)
    except Busy:
        if options.background:
            return 0
        raise
    if options.json or not options.background:
        output.emit(result, options, lambda _: output.say(f"{_describe_encoded(result)}; the others were up to date."))
    return 0


def check(ws: Workspace, options: argparse.Namespace) -> int:
    findings = status.check(ws)
    output.emit(findings, options, _show_findings)
    return 1 if any(finding.serious for finding in findings) else 0


def _show_findings(findings: Sequence[Finding]) -> None:
    if findings:
        rows = [[finding.path, finding.problem, output.advice(finding.advice)] for finding in findings]
        output.table(["note", "problem", "fix"], rows)
    else:
        output.say("All notes are fine.")


def model(ws: Workspace, options: argparse.Namespace) -> int:
    if options.what == "path" and not options.json:
        output.say(encoders_model.weights_folder(ws))
        return 0
    if options.what == "fetch":
        with output.progress("Downloading the model", quiet=options.json) as progress:
            folder = encoders_model.fetch(ws, lambda _name, done, total: progress(done, total))
        if not options.json:
            output.say(folder)
            return 0
    return output.emit(encoders_model.model_state(ws), options, _show_model)


def _show_model(state: ModelState) -> None:
    rows = [["encoder", state.encoder], ["model", state.described], ["weights", state.folder], ["source", state.source]]
    rows.append(["vectors", f"{state.encoded:,} of {output.count(state.passages, 'passage')}"])
    if state.unread:
        unread = output.count(state.unread, "memory")
        rows.append(["keywords only", f"{unread} in scripts the model cannot read"])
    output.table(["", ""], [row for row in rows if row[1]])
    for trouble in filter(None, (state.notice, state.problem)):
        output.aside(trouble)


COMMANDS = {
    "index rebuild": Command(rebuild),
    "index encode": Command(encode, scan=True),
    "index check": Command(check, scan=True),
    "index model": Command(model),
}
