"""Everything that memem has put into a vault, for whoever wants that gone: notes, pages and its own records."""

import os
from collections.abc import Iterator
from pathlib import Path

from memem.core import belongings, files
from memem.core.home import VaultPaths


def of_memem(paths: VaultPaths) -> list[Path]:
    """The files in `memem/`: what is markdown, also when it was set aside, and what memem keeps beside it.

    Pictures, canvases and links that somebody put there are theirs, and so are hidden folders of other programs.
    """
    return sorted(path for path in _plain_files(paths) if path.suffix == ".md" or _is_a_record(paths, path))


def remove(paths: VaultPaths) -> list[Path]:
    """Remove them for good, and the folders that are empty then; returns what stays in `memem/`."""
    for path in of_memem(paths):
        path.unlink()
    if paths.ours.is_symlink():
        return [paths.ours]
    for folder, _, _ in sorted(os.walk(paths.ours), reverse=True):
        belongings.remove_empty(Path(folder))
    return sorted(_everything(paths.ours))


def _is_a_record(paths: VaultPaths, path: Path) -> bool:
    temporary = path.name.startswith(files.TEMPORARY_PREFIX) and path.name.endswith(files.TEMPORARY_SUFFIX)
    return temporary or path == paths.marker or (path.parent == paths.ours and _is_a_list(paths, path.name))


def _is_a_list(paths: VaultPaths, name: str) -> bool:
    """What was forgotten, or said in a review; also in a copy that a sync has made of it."""
    return any(name.startswith(each.stem) and name.endswith(each.suffix) for each in (paths.tombstones, paths.reviewed))


def _plain_files(paths: VaultPaths) -> Iterator[Path]:
    if paths.ours.is_symlink():
        return
    for path in _everything(paths.ours):
        folders = path.relative_to(paths.ours).parts[:-1]
        foreign = any(name.startswith(".") for name in folders if name != paths.forgotten.name)
        if path.is_file() and not path.is_symlink() and not foreign:
            yield path


def _everything(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)
