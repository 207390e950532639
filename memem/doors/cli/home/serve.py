"""memem serve: only its arguments, of which there are none; `memem/__main__.py` hands it to the doors it needs."""

import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    del parser
