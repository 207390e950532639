"""Picks the door: for now there is one, the command line."""

import sys

from memem.doors.cli import main as command_line


def main() -> None:
    """The console script `memem`, and `python -m memem`."""
    sys.exit(command_line())


if __name__ == "__main__":
    main()
