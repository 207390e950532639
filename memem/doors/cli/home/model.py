"""memem model"""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.search.encoders import model


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=("fetch", "path"), help="fetch the weights, or print their folder")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        if options.what == "path":
            output.say(model.weights_folder(ws))
            return 0
        if options.what == "fetch":
            with output.progress("Fetching the model", quiet=options.json) as progress:
                where = model.fetch(ws, lambda _name, here, total: progress(here, total))
            if not options.json:
                output.say(where)
                return 0
        state = model.model_state(ws)
    if options.json:
        output.as_json(state)
        return 0
    rows = [["encoder", state.encoder], ["model", state.described], ["weights", state.folder], ["from", state.source]]
    rows.append(["vectors", f"{state.encoded:,} of {state.passages:,} passages"])
    if state.unread:
        rows.append(["not read", f"{state.unread:,} memories in other scripts; keywords find them"])
    output.table(["what", "is"], [row for row in rows if row[1]])
    for trouble in filter(None, (state.notice, state.problem)):
        output.aside(trouble)
    return 0
