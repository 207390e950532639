"""memem statusline; `memem/doors/hook/statusline.py` prints the line itself."""

import argparse

from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.upkeep import link


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--show-setting", action="store_true", help="print what to add to Claude Code's settings.json for it"
    )


def run(options: argparse.Namespace) -> int:
    """Print the setting; without `--show-setting`, `memem/__main__.py` prints the line itself."""
    del options
    with workspace() as ws:
        output.as_json(link.setting(ws))
    return 0
