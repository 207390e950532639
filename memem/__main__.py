"""Picks the door: for now there is one, the command line."""

import sys

if not __package__:  # started by its path, with no folder of its own among those that are searched
    sys.path.insert(0, __file__.rpartition("/memem/")[0])

from memem.doors.cli import main as command_line


def main() -> None:
    """The console script `memem`, and `python -m memem`."""
    sys.exit(command_line())


if __name__ == "__main__":
    main()
