"""Restore a file of the vault to earlier bytes, or remove it, if it is still the expected file."""

import glob
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import PurePosixPath

from memem.core import files
from memem.core.errors import InputError, NoteChanged
from memem.vault.store import Store, writing_file


def plain_bytes(store: Store, path: str) -> bytes | None:
    """Read a plain file of the vault; None when it is missing or behind a symbolic link."""
    with suppress(InputError, OSError):
        if store.absolute(path).is_file() and not leads_elsewhere(store, path):
            return store.current_bytes(path)
    return None


def is_taken(store: Store, path: str) -> bool:
    """Tell whether a file exists there, or the path leads elsewhere."""
    with suppress(InputError):
        return os.path.lexists(store.absolute(path)) or leads_elsewhere(store, path)
    return True


def leads_elsewhere(store: Store, path: str) -> bool:
    """Tell whether the path has a symbolic link, which may leave the vault."""
    inside = PurePosixPath(path)
    return any((store.paths.ours / part).is_symlink() for part in (inside, *inside.parents))


def put_back(store: Store, path: str, data: bytes, *, instead_of: bytes | None = None) -> None:
    """Replace the bytes `instead_of` (None: no file) by `data`, unless an interrupted run has. Raises NoteChanged."""
    target = store.absolute(path)
    if plain_bytes(store, path) == data:
        return

    def check() -> None:
        if plain_bytes(store, path) != instead_of or (instead_of is None and os.path.lexists(target)):
            raise NoteChanged(f"{path} changed on disk in the meantime; nothing was written.")

    with writing_file(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = None if instead_of is None else target.stat().st_mode & 0o777
        files.write_atomic(target, data, fsync=store.fsync, mode=mode, just_before=check)


def remove_file(store: Store, path: str, expected: bytes) -> None:
    """Remove a file whose bytes are stored elsewhere. Raises NoteChanged when they are not the expected ones."""
    target = store.absolute(path)
    with writing_file(target):
        if plain_bytes(store, path) != expected:
            raise NoteChanged(f"{path} changed on disk in the meantime and was kept.")
        files.remove(target, fsync=store.fsync)


def move_file(store: Store, path: str, target: str, expected: bytes) -> None:
    """Move a file within the vault. Raises NoteChanged when it has other bytes, or another file is in the way."""
    new = store.absolute(target)
    with writing_file(new):
        if plain_bytes(store, path) != expected or os.path.lexists(new):
            raise NoteChanged(f"{path} changed on disk in the meantime; nothing was written.")
        files.move(store.absolute(path), new, fsync=store.fsync)


def find_set_aside(store: Store, path: str, digests: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Find the copies in `.forgotten/` of a note that was at `path`, by digest."""
    from memem.vault.note import digest

    folder = store.paths.forgotten
    for copy in sorted(folder.glob(f"{glob.escape(PurePosixPath(path).stem)}*.md")):
        inside = copy.relative_to(store.paths.ours).as_posix()
        data = plain_bytes(store, inside)
        if data is not None and digest(data) in digests:
            yield inside, data
