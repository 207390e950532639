"""Open files that others created or named. Anything but a plain file is refused, without waiting."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_plain(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a file for reading; raise OSError for a pipe, which might block, a device, or a link not to `follow`."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    return os.fdopen(descriptor, "rb")


def read_small(path: Path, most: int) -> bytes:
    """Read a file of at most `most` bytes; raise OSError if it is larger or not a file."""
    with open_plain(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
    return data
