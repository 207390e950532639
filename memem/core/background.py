"""Start memem as a background process. Only the hook client does so on its own."""

import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import memem
from memem.core import files

MAIN_FILE = Path(memem.__file__).with_name("__main__.py")  # `-m memem` might start an older installation
REFRESH_INDEX = ("hook", "SessionStart", "--later")
ENCODE = ("index", "encode", "--background")
FETCH_MODEL = ("index", "model", "fetch")
MINE_HISTORY = ("mine", "--history", "--background")


def start_memem(arguments: Sequence[str], environ: Mapping[str, str], log: Path, *, keep_log: bool = False) -> None:
    """Start memem detached from this terminal; its output goes to `log`, which is emptied unless `keep_log`."""
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
    # Reap it, should it end before this process does.
    threading.Thread(target=process.wait, daemon=True).start()
