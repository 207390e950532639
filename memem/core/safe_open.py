"""Open files that others created or named. Anything but a plain file is refused, without waiting."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


class ForeignFile(OSError):
    """The file belongs to another user."""


def owner_of(folder: Path) -> int | None:
    """Return the other user that a folder belongs to, if the user is root: in a container all may be another's."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    try:
        return folder.stat().st_uid or None
    except OSError:
        return None


def is_foreign(path: Path, owner: int | None = None) -> bool:
    """Whether a file, or the link itself, belongs to someone other than the user, root and an accepted `owner`."""
    try:
        return not _is_trusted(path.lstat(), owner)
    except OSError:
        return False


def _is_trusted(status: os.stat_result, owner: int | None) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid in (0, os.geteuid(), owner)


def open_plain(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a file for reading; raise OSError for a pipe, which might block, a device, or a link not to `follow`."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    return os.fdopen(descriptor, "rb")


def read_own(path: Path, most: int, owner: int | None) -> bytes:
    """Read a small file that belongs to the user, root or `owner`. Raises ForeignFile."""
    with open_plain(path) as file:
        if is_foreign(path, owner) or not _is_trusted(os.fstat(file.fileno()), owner):
            raise ForeignFile(errno.EPERM, "it belongs to another user", str(path))
        return _read(file, path, most)


def read_small(path: Path, most: int) -> bytes:
    """Read a file of at most `most` bytes; raise OSError if it is larger or not a file."""
    with open_plain(path) as file:
        return _read(file, path, most)


def _read(file: BinaryIO, path: Path, most: int) -> bytes:
    data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
    return data
