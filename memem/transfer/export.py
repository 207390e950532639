"""Take the vault with you: its notes byte for byte, what waits for review, pages, and tombstones.

No caches, and nothing that belongs to a machine: sessions, receipts, undo copies. What was forgotten is there as hashes
alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from memem import __version__
from memem.core import files
from memem.core.dates import iso
from memem.core.errors import InputError, NoteError
from memem.core.project import normalise
from memem.transfer import export_format
from memem.transfer.export_format import Element, Header, Packed
from memem.vault import restore
from memem.vault.opening import require_vault
from memem.vault.store import RESERVED
from memem.vault.write_lock import writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


JSON = ".json"

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class Exported:
    """Where the export is, and what is in it; `left` are files that were not taken: too large, or not readable."""

    path: str
    notes: int
    proposals: int
    pages: int
    tombstones: int
    left: tuple[str, ...] = ()


def export(
    ws: Workspace,
    target: Path,
    *,
    project: str | None = None,
    force: bool = False,
    progress: Progress = lambda *_: None,
) -> Exported:
    """Export to a folder, or to one file where the name ends in `.json`; with `project`, its notes alone.

    What was forgotten cannot be told apart by project, and is then left out.
    """
    require_vault(ws)
    target = _checked(ws, target.absolute(), force=force)
    only = None if project is None else normalise(project)
    with writing(ws):
        paths = _paths(ws, only)
        lines = ws.tombstones.lines() if only is None else []
        stones = len(ws.tombstones.load().standing) if lines else 0
        header = Header(
            export_format.MARK, export_format.VERSION, __version__, iso(ws.clock()), only or "", len(paths), len(lines)
        )
        left: list[str] = []

        def elements() -> Iterator[Element]:
            yield header
            yield from lines
            for number, path in enumerate(paths):
                progress(number, len(paths))
                packed = _packed(ws, path)
                if packed is None:
                    left.append(path)
                else:
                    yield packed

        write = export_format.write_file if target.suffix.lower() == JSON else export_format.write_folder
        try:
            write(target, elements(), fsync=ws.settings.fsync)
        except OSError as error:
            raise InputError(f"Cannot write {target}: {files.reason(error)}. Nothing was exported.") from None
    progress(len(paths), len(paths))
    return _exported(ws, target, [path for path in paths if path not in left], stones, tuple(left))


def _checked(ws: Workspace, target: Path, *, force: bool) -> Path:
    if target.resolve().is_relative_to(ws.store.paths.ours.resolve()):
        raise InputError(f"{target} is in the vault's own folder. Export to another place.")
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}. Make it, and export again.")
    if not os.path.lexists(target):
        return target
    if not force:
        raise InputError(f"{target} is there already. `--force` replaces it.")
    is_file = target.suffix.lower() == JSON
    if target.is_symlink() or target.is_dir() == is_file:
        raise InputError(f"{target} is not what would take its place: a {'file' if is_file else 'folder'}.")
    if target.is_dir() and not export_format.is_folder(target) and any(target.iterdir()):
        raise InputError(f"{target} is no export of memem, and is left as it is. Export to another place.")
    return target


def _paths(ws: Workspace, project: str | None) -> list[str]:
    """Of everything in the vault's folder that somebody can read; among pages there may be notes, which come once."""
    found = [path for path, _ in ws.store.scan()]
    paged = (ws.store.paths.home_page.name, ws.store.paths.projects.name)
    found += [path for name in sorted((*RESERVED, *paged)) for path in _reserved(ws, name)]
    return sorted(path for path in dict.fromkeys(found) if project is None or _project(ws, path) == project)


def _reserved(ws: Workspace, name: str) -> Iterator[str]:
    place = ws.store.paths.ours / name
    each = [place] if place.is_file() else sorted(place.rglob("*.md"))
    for path in each:
        inside = path.relative_to(ws.store.paths.ours).as_posix()
        hidden = "/." in inside
        if path.is_file() and not hidden and not restore.leads_elsewhere(ws.store, inside):
            yield inside


def _project(ws: Workspace, path: str) -> str | None:
    """The project that a note is of; none of a page, or of what cannot be read."""
    if PurePosixPath(path).parts[0] in RESERVED - {ws.store.paths.review.name} or ws.store.is_page(path):
        return None
    try:
        return ws.store.read(path).memory.project
    except NoteError:
        return None


def _packed(ws: Workspace, path: str) -> Packed | None:
    target = ws.store.absolute(path)
    try:
        status = target.lstat()
        if status.st_size > export_format.MOST_BYTES:
            return None
        return Packed(path, target.read_bytes(), status.st_mtime_ns)
    except OSError:
        return None


def _exported(ws: Workspace, target: Path, paths: list[str], stones: int, left: tuple[str, ...]) -> Exported:
    review = ws.store.paths.review.name
    tops = [PurePosixPath(path).parts[0] for path in paths]
    proposals = tops.count(review)
    pages = sum(top in RESERVED or ws.store.is_page(path) for top, path in zip(tops, paths, strict=True)) - proposals
    shown = str(target).encode("utf-8", "replace").decode()
    return Exported(shown, len(tops) - proposals - pages, proposals, pages, stones, left)
