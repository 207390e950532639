"""Who may speak with whom: the socket is in a folder of ours that is closed to others, and both ends are ours."""

import os
import socket
import stat
import struct
from pathlib import Path

from memem.core import files
from memem.core.errors import HomeError

_XUCRED_LEVEL, _XUCRED_BYTES = 0, 76


def make_folder_of(address: Path) -> None:
    """The folder of a socket, made when it is missing. Raises HomeError when others may be in it."""
    folder = address.parent
    try:
        folder.mkdir(mode=files.PRIVATE_FOLDER, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise HomeError(f"Cannot use {folder}: {files.reason(error)}.") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != own_uid() or status.st_mode & 0o077:
        raise HomeError(
            f"{folder} is a link, somebody else's or open to others: no socket is put there. XDG_RUNTIME_DIR can name "
            "a folder that is yours alone, and MEMEM_DIR one with a shorter path."
        )


def is_our_socket(address: Path) -> bool:
    """Whether there is a socket at this path that we have made, or another process of ours."""
    try:
        status = address.lstat()
    except OSError:
        return False
    return stat.S_ISSOCK(status.st_mode) and status.st_uid == own_uid()


def is_ours(connection: socket.socket) -> bool:
    """Whether the process at the other end is ours; where the system does not tell, the folder's mode says so."""
    try:
        uid = _peer_uid(connection)
    except (OSError, struct.error):
        return False
    return uid in (None, own_uid())


def own_uid() -> int:
    return os.geteuid()


def _peer_uid(connection: socket.socket) -> int | None:
    if hasattr(socket, "SO_PEERCRED"):  # Linux: process, user, group
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", told)[1])
    if hasattr(socket, "LOCAL_PEERCRED"):  # macOS and BSD: a struct that begins with its version and the user
        told = connection.getsockopt(_XUCRED_LEVEL, socket.LOCAL_PEERCRED, _XUCRED_BYTES)
        return int(struct.unpack("2I", told[:8])[1])
    return None
