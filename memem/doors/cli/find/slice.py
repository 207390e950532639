"""memem slice"""

import argparse
from pathlib import Path

from memem.doors.cli import output
from memem.doors.cli.session import current_folder, fresh_workspace
from memem.inject import slice


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="PROMPT", help="the prompt that Claude is about to read")
    parser.add_argument("--scope", help="the project; default: that of the folder")
    parser.add_argument("--session-id", default="", help="the Claude Code session, to label the result")
    parser.add_argument("--cwd", type=Path, help="the folder to work in; default: this one")
    parser.add_argument("--task-mode", default="", help="debug, build, review ...; default: from the prompt's verbs")
    parser.add_argument("--always", action="store_true", help="show the working state even with nothing to tell")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with fresh_workspace(options.query) as ws:
        result = slice.build_slice(
            ws,
            options.query,
            cwd=options.cwd or current_folder(),
            project=options.scope,
            task_mode=options.task_mode,
            session_id=options.session_id,
            always=options.always,
        )
    output.degraded(result.degraded)
    if options.json:
        output.as_json(result)
    elif result.text:
        output.say(result.text.rstrip("\n"))
    else:
        output.aside(f"(silence: {result.reason})")
    return 0
