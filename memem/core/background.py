"""Start memem as a process of its own, which nobody waits for. Beside the hook client, no module knows how."""

import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import memem
from memem.core import files

MAIN_FILE = Path(memem.__file__).with_name("__main__.py")
"""Started by its path: an environment may still point at an older memem than the one that is running."""
REFRESH_INDEX = ("hook", "SessionStart", "--later")
ENCODE = ("encode", "--background")
FETCH_MODEL = ("model", "fetch")
MINE_HISTORY = ("mine", "--history", "--background")


def mine_arguments(transcript: Path, *, flush: bool) -> tuple[str, ...]:
    """The arguments that have one session mined."""
    wanted = ("mine", "--background", "--session", str(transcript.absolute()))
    return (*wanted, "--flush") if flush else wanted


def start_memem(arguments: Sequence[str], environ: Mapping[str, str], log: Path, *, keep_log: bool = False) -> None:
    """Start memem with these arguments, away from this terminal and its signals; what it says goes to `log`.

    The log is begun anew, unless it is to be kept. Python's own variables mean as much to it as to this process.
    """
    files.make_private_folder(log.parent)
    if not (keep_log and log.exists()):
        files.write_atomic(log, b"", fsync=False, mode=files.PRIVATE_FILE)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-I" if sys.flags.isolated else "-P", MAIN_FILE, *arguments],
            env=dict(environ),
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    # So that it does not stay behind as a dead process of ours, should it end before we do.
    threading.Thread(target=process.wait, daemon=True).start()
