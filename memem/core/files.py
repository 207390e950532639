"""Read and write files safely: atomic writes, private folders, appended lines, bounded logs, JSON and TOML."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
TEMPORARY_PREFIX = ".memem-"
TEMPORARY_SUFFIX = ".tmp"
_BINARY = getattr(os, "O_BINARY", 0)

MAX_LOG_BYTES = 1_000_000

Stamp = tuple[int, int, int]  # a file's mtime, ctime and size, which change with its content

_REASONS = {
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EROFS: "the file system is read-only; remount it read-write and try again",
    errno.EACCES: "permission denied; check its permissions and try again",
    errno.EPERM: "operation not permitted; check its permissions and try again",
    errno.ENAMETOOLONG: "the path is too long; use a folder with a shorter path",
    errno.ENOTDIR: "part of the path is a file, not a folder; move the file or use another path",
    errno.EMFILE: "too many files are open; raise the limit (`ulimit -n`) and try again",
    errno.ENFILE: "too many files are open on this machine; close some programs and try again",
    errno.EISDIR: "it is a folder, not a file; move it or use another path",
    errno.EIO: "the disk reported an error; check the disk and try again",
    errno.ELOOP: "it is a symbolic link, which memem does not follow here; replace it with the file or folder itself",
}


def reason(error: OSError) -> str:
    """Explain an operating system error in words, with what to do."""
    return _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()


def identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file; None when there is none."""
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


def stamp(path: Path) -> Stamp | None:
    with suppress(OSError):
        status = path.stat()
        return status.st_mtime_ns, status.st_ctime_ns, status.st_size
    return None


def make_folder(folder: Path) -> None:
    """Create a folder for its owner alone; an existing one, which may not be ours, stays as it is."""
    if not folder.parent.exists():
        make_folder(folder.parent)
    folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)


def make_private_folder(folder: Path) -> None:
    """Create a folder of ours for its owner alone; close an existing one to others."""
    make_folder(folder)
    if os.name == "posix" and folder.stat().st_mode & 0o077:
        folder.chmod(PRIVATE_FOLDER)


def write_atomic(
    path: Path,
    data: bytes,
    *,
    fsync: bool,
    mode: int | None = None,  # None: the user's umask decides
    just_before: Callable[[], object] = lambda: None,  # may raise to prevent the replacement
) -> None:
    """Replace or create `path` so that readers, also after a crash, find the old bytes or the new, never a mixture."""
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}{TEMPORARY_SUFFIX}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode or 0o666)
    try:
        with _closing(descriptor, fsync=fsync):
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
            _write_all(descriptor, data)
        just_before()
        os.replace(temporary, path)  # noqa: PTH105 - one layer of os calls, so that faults can be injected
    except BaseException:
        remove_quietly(temporary)  # a failure to remove it must not hide the first error
        raise
    if fsync:
        sync_folder(path.parent)


def append_line(path: Path, line: bytes, *, fsync: bool, mode: int = PRIVATE_FILE) -> None:
    """Append one line in one write. A torn line that a crash left is ended first."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, mode)
    with _closing(descriptor, fsync=fsync):
        size = os.fstat(descriptor).st_size
        if size:
            os.lseek(descriptor, size - 1, os.SEEK_SET)
            if os.read(descriptor, 1) != b"\n":
                line = b"\n" + line
        _write_all(descriptor, line + b"\n")


def write_at(path: Path, offset: int, data: bytes | memoryview, *, fsync: bool, mode: int = PRIVATE_FILE) -> None:
    """Write at an offset that nobody reads yet; create the file if it is missing."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | _BINARY, mode)
    with _closing(descriptor, fsync=fsync):
        os.lseek(descriptor, offset, os.SEEK_SET)
        _write_all(descriptor, data)


def write_new(path: Path, pieces: Iterable[bytes], *, fsync: bool, mode: int = PRIVATE_FILE) -> None:
    """Write a new file piece by piece, so that it is never in memory as a whole."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
    with _closing(descriptor, fsync=fsync):
        for piece in pieces:
            _write_all(descriptor, piece)


def create_once(path: Path, data: bytes, *, fsync: bool) -> None:
    """Create a private file as a whole, unless there is one, also if several processes try at the same time."""
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}{TEMPORARY_SUFFIX}")
    try:
        write_new(temporary, [data], fsync=fsync)
        try:
            os.link(temporary, path)  # noqa: PTH - see write_atomic
        except FileExistsError:
            return
        except OSError:  # a file system without links
            with suppress(FileExistsError):
                write_new(path, [data], fsync=fsync)
        if fsync:
            sync_folder(path.parent)
    finally:
        remove_quietly(temporary)


@contextmanager
def _closing(descriptor: int, *, fsync: bool) -> Iterator[None]:
    try:
        yield
        if fsync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def move(source: Path, target: Path, *, fsync: bool) -> None:
    """Move a file within one file system to an existing folder."""
    os.replace(source, target)  # noqa: PTH105 - see write_atomic
    if fsync:
        sync_folder(target.parent)
        sync_folder(source.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network and FUSE file systems cannot sync a folder.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)


def remove(path: Path, *, fsync: bool) -> None:
    os.unlink(path)  # noqa: PTH108 - see write_atomic
    if fsync:
        sync_folder(path.parent)


def remove_quietly(path: Path) -> None:
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108 - see write_atomic


def _write_all(descriptor: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock for the milliseconds a small file takes to change; `core/locks.py` takes longer to import."""
    try:
        import fcntl
    except ImportError:  # without such locks two processes rarely meet, and see the same
        yield
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


_TOO_DEEP = "it is nested too deeply"


def from_json(data: str | bytes) -> Any:
    """Parse JSON; raise ValueError if it is invalid."""
    import json  # most importers of this module parse nothing

    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def from_toml(text: str) -> dict[str, Any]:
    """Parse TOML; raise ValueError, with the reason, if it is invalid."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def append_log(path: Path, line: str) -> None:
    """Append a line; a log that is too long is renamed to `.1`, and replaces the previous one. Never raises OSError."""
    with suppress(OSError):
        make_private_folder(path.parent)
        with suppress(FileNotFoundError):
            if path.stat().st_size > MAX_LOG_BYTES:
                os.replace(path, path.with_name(f"{path.name}.1"))  # noqa: PTH105 - over an older one, on every system
        append_line(path, " ".join(line.split()).encode("utf-8", "replace"), fsync=False)
