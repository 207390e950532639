"""memem encode"""

import argparse

from memem.core import processes
from memem.core.errors import Busy
from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.search.encoders import encode


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--background", action="store_true", help="quietly, and not at all if another one is at it")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    if options.background:
        processes.give_way()
    with fresh_workspace() as ws:
        try:
            with output.progress("Encoding", quiet=options.background or options.json) as progress:
                result = encode.encode_all(ws, progress, wait=0)
        except Busy:
            if options.background:
                return 0
            raise
        except KeyboardInterrupt:
            output.aside(output.ENCODING_INTERRUPTED)
            raise
    if options.json:
        output.as_json(result)
    elif not options.background:
        output.say(f"Encoded {result.encoded:,} of {result.passages:,} passages; the others had a vector already.")
    return 0
