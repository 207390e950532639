"""memem reindex"""

import argparse

from memem.core.errors import Busy, ModelError
from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.search import rebuild
from memem.search.encoders import encode, model
from memem.search.graph import build
from memem.workspace import Workspace


def arguments(parser: argparse.ArgumentParser) -> None:
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with workspace() as ws:
        with output.progress("Reading the notes", quiet=options.json):
            result = rebuild.rebuild(ws)
        if options.json:
            output.as_json(result)
        else:
            output.say(f"Read {result.changed} of {result.files} files in {ws.settings.vault}.")
        _encode(ws, quiet=options.json)
        build.refresh_in_background(ws)
    return 0


def _encode(ws: Workspace, *, quiet: bool) -> None:
    """The vectors of what is new, and all of them for another model; those of unchanged text are still there."""
    if ws.settings.encoder == "none":
        return
    try:
        with output.progress("Encoding (Ctrl-C to go on later)", quiet=quiet) as progress:
            result = encode.encode_all(ws, progress, wait=0)
    except ModelError as problem:
        output.degraded(str(problem))
    except Busy as problem:
        output.aside(str(problem))
    except KeyboardInterrupt:
        output.aside(output.ENCODING_INTERRUPTED)
        raise
    else:
        if not quiet:
            used = model.model_state(ws).described
            output.say(f"Encoded {result.encoded:,} of {result.passages:,} passages; the model is {used}.")
