"""memem export"""

import argparse
from pathlib import Path

from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.transfer import export


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", type=Path, help="a folder that is made, or a file that ends in .json")
    parser.add_argument("-p", "--project", help="only its notes and proposals; what was forgotten is left out then")
    parser.add_argument("--force", action="store_true", help="replace an export, or a file, that is there")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws, output.progress("Exporting", quiet=options.json) as progress:
        chosen = {"project": options.project, "force": options.force}
        done = export.export(ws, options.path, **chosen, progress=progress)
    if options.json:
        output.as_json(done)
        return 0
    more = [(done.proposals, "proposals"), (done.pages, "pages"), (done.tombstones, "tombstones")]
    beside = "".join(f", {number} {what}" for number, what in more if number)
    output.say(f"{done.notes} notes{beside} exported to {done.path}.")
    for path in done.left:
        output.aside(f"Left out: {path} is too large, or cannot be read.")
    output.aside("`memem import` brings it back. It is as private as the vault: nothing in it is encrypted.")
    return 0
