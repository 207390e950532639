"""memem hook: only its arguments; `memem/__main__.py` hands it to the door of that name."""

import argparse

EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "Stop", "PreCompact", "SessionEnd")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("event", choices=EVENTS, metavar="EVENT", help=f"one of {', '.join(EVENTS)}")
    parser.add_argument("--later", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--letters", default="", help=argparse.SUPPRESS)
