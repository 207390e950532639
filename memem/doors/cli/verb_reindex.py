"""memem reindex"""

from memem.doors.cli import output
from memem.doors.cli.session import workspace
from memem.flows import reindex


def run(json: output.Json = False) -> None:
    """Throw the index away and read every note again. Also the remedy for a damaged index."""
    with workspace() as ws:
        result = reindex.rebuild(ws)
    if json:
        output.as_json(result)
    else:
        output.say(f"Read {result.changed} of {result.files} files in {ws.settings.vault}.")
