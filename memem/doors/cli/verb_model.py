"""memem model"""

import argparse

from memem.core.errors import ModelError
from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.flows import model


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=("fetch", "path"), help="fetch the weights, or print their folder")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        if options.what == "fetch" and ws.settings.encoder == "minilm":
            with output.progress("Fetching the model", quiet=options.json) as progress:
                model.fetch(ws, lambda _name, here, total: progress(here, total))
        state = model.state(ws)
    if state.encoder != "minilm" and options.what:
        output.aside(f"The encoder {state.encoder} uses no weights of ours: there is nothing to fetch.")
        return 0 if options.what == "fetch" else 1
    if options.what and state.problem:
        raise ModelError(state.problem)
    if options.json:
        output.as_json(state)
    elif options.what == "path":
        output.say(state.folder)
    else:
        rows = [["encoder", state.encoder], ["model", state.model], ["weights", state.folder], ["from", state.source]]
        rows.append(["vectors", f"{state.encoded:,} of {state.passages:,} passages"])
        output.table(["what", "is"], [row for row in rows if row[1]])
        for trouble in filter(None, (state.notice, state.problem)):
            output.aside(trouble)
    return 0
