"""memem serve"""

import argparse

from memem.core.errors import MememError


def arguments(parser: argparse.ArgumentParser) -> None:
    del parser  # it takes none


def run(options: argparse.Namespace) -> int:
    del options
    raise MememError(
        "This version has no MCP server yet. Use the commands `memem save`, `memem search` and `memem slice`."
    )
