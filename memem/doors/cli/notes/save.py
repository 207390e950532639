"""memem save"""

import argparse
import sys

from memem.core.errors import InputError
from memem.doors.cli import output
from memem.doors.cli.session import current_folder, current_project, workspace
from memem.notes import save

MAX_STDIN = 10_000_000


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="what to remember; - reads it from standard input")
    parser.add_argument("--title", default="", help="one line; taken from the text when absent")
    parser.add_argument("-p", "--project", default="", help="default: the project of this folder")
    parser.add_argument("--kind", default="fact", help="decision, convention, preference, fact, lesson or procedure")
    parser.add_argument("--layer", type=int, help="0 pinned, 1 conventions, 2 ordinary, 3 archive")
    parser.add_argument("--importance", type=int, default=3, help="1 to 5")
    parser.add_argument("--tags", type=output.several, default=(), help="comma-separated")
    parser.add_argument("--keys", type=output.several, default=(), help="other words to find it by, comma-separated")
    parser.add_argument("--paths", type=output.several, default=(), help="files it is about, comma-separated patterns")
    parser.add_argument(
        "--anyway", action="store_true", help="keep it though it was forgotten, or reads like an instruction"
    )
    parser.add_argument("--why", default="", help="a reason for the event log")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    if options.text == "-":
        options.text = _standard_input()  # once, should the command be run again over a damaged index
    with workspace() as ws:
        result = save.save(
            ws,
            options.text,
            title=options.title,
            project=options.project or current_project(ws),
            kind=options.kind,
            tags=options.tags,
            layer=options.layer,
            importance=options.importance,
            keys=options.keys,
            paths=options.paths,
            why=options.why,
            folder=current_folder(),
            anyway=options.anyway,
        )
    output.written(result, json=options.json)
    return 0


def _standard_input() -> str:
    data = sys.stdin.buffer.read(MAX_STDIN) if sys.stdin is not None else b""
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        raise InputError(f"Standard input is not UTF-8 text (byte {problem.start}); nothing was saved.") from None
