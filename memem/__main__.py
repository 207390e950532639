"""The console script: the command line, hooks, status line and server."""

import argparse
import sys

if not __package__:  # started by its path, with no folder of its own among those that are searched
    sys.path.insert(0, __file__.rpartition("/memem/")[0])

from memem.doors.cli import main as command_line


def main() -> None:
    sys.exit(command_line(outside={"hook": _hook, "serve": _serve, "statusline": _statusline}))


def _hook(options: argparse.Namespace) -> int:
    from memem.doors.hook.command import run

    return run(options)


def _statusline(_: argparse.Namespace) -> int:
    from memem.doors.hook.statusline import main as show

    show()
    return 0


def _serve(_: argparse.Namespace) -> int:
    from memem.serve import main

    return main([])


if __name__ == "__main__":
    main()
