"""Open files that others created or named. Anything but a plain file is refused, without waiting."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


class ForeignFile(OSError):
    """The file belongs to another user."""


def is_foreign(path: Path) -> bool:
    """Whether a file, or the link itself, belongs to someone other than the user and root."""
    try:
        return not _is_trusted(path.lstat())
    except OSError:
        return False


def _is_trusted(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid in (0, os.geteuid())


def open_plain(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a file for reading; raise OSError for a pipe, which might block, a device, or a link not to `follow`."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    return os.fdopen(descriptor, "rb")


def read_small(path: Path, most: int, *, own: bool = False) -> bytes:
    """Read a file of at most `most` bytes; raise OSError if it is larger, not a file, or not `own`."""
    with open_plain(path) as file:
        if own and (is_foreign(path) or not _is_trusted(os.fstat(file.fileno()))):
            raise ForeignFile(errno.EPERM, "it belongs to another user", str(path))
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
    return data
