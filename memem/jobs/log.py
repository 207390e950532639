"""`mine_delta.log`: a line for everything that mining did, in a file that does not grow for ever."""

import os
from contextlib import suppress
from pathlib import Path

from memem.core import files

MOST_BYTES = 1_000_000


def add(path: Path, line: str) -> None:
    """Append a line; a log that has grown too long becomes `.1`, in place of the one before it.

    Two may come to that at once, and the disk may be full: nothing fails for the log of it.
    """
    with suppress(OSError):
        files.make_private_folder(path.parent)
        with suppress(FileNotFoundError):
            if path.stat().st_size > MOST_BYTES:
                os.replace(path, path.with_name(f"{path.name}.1"))  # noqa: PTH105 - over an older one, on every system
        files.append_line(path, " ".join(line.split()).encode("utf-8", "replace"), fsync=False)
