"""memem config"""

import argparse

from memem.core.options import OPTIONS
from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.upkeep import config


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", nargs="?", help="one setting")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="its new value, written to config.toml")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        if options.value is not None:
            path = config.change(ws, options.key, options.value)
            output.aside(f"Written to {path}; in force from the next command on.")
            if options.key in ("encoder", "embed_model") and options.value != "none":
                output.aside("`memem reindex` computes the vectors of another model; until then keywords find alone.")
            return 0
        keys = [options.key] if options.key else [option.key for option in OPTIONS]
        shown = [config.show(ws, key) for key in keys]
    if options.json:
        output.as_json(shown)
    elif options.key:
        output.say(shown[0].value)
    else:
        output.table(["key", "value", "from", "variable"], [[s.key, s.value, s.source, s.variable] for s in shown])
    return 0
