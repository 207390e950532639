"""Open files that others made or named: what is not a plain file is refused, and nothing is waited for."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_plain(path: Path, *, follow: bool = True) -> BinaryIO:
    """A file, to be read. Raises OSError for anything else: a pipe would block whoever opens it, a device never end.

    Unless told to `follow` it, also for a symbolic link.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no file", str(path))
    return os.fdopen(descriptor, "rb")


def read_small(path: Path, most: int) -> bytes:
    """All of a file that is expected to be small. Raises OSError where it is not, or is none."""
    with open_plain(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
    return data
