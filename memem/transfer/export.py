"""Export the vault: notes byte for byte, proposals, pages and tombstones; nothing else of this machine."""

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
from memem.transfer.export_format import Element, Header, PackedFile
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
    path: str
    notes: int
    proposals: int
    pages: int
    tombstones: int
    left: tuple[str, ...] = ()  # files that are too large or cannot be read


def export(
    ws: Workspace,
    target: Path,
    *,
    project: str | None = None,
    force: bool = False,
    progress: Progress = lambda *_: None,
) -> Exported:
    """Export to a folder, or to one file if the name ends in `.json`; with `project`, only its notes."""
    require_vault(ws)
    target = target.absolute()
    _check_target(ws, target, force=force)
    project = None if project is None else normalise(project)
    left: list[str] = []
    with writing(ws):
        paths = _list_paths(ws, project)
        lines = ws.tombstones.lines() if project is None else []
        tombstones = len(ws.tombstones.load().standing) if lines else 0
        mark, version, created = export_format.MARK, export_format.VERSION, iso(ws.clock())
        header = Header(mark, version, __version__, created, project or "", len(paths), len(lines))

        def elements() -> Iterator[Element]:
            yield header
            yield from lines
            for number, path in enumerate(paths):
                progress(number, len(paths))
                packed = _pack(ws.store.absolute(path), path)
                if packed:
                    yield packed
                else:
                    left.append(path)

        write = export_format.write_file if target.suffix.lower() == JSON else export_format.write_folder
        try:
            write(target, elements(), fsync=ws.settings.fsync)
        except OSError as error:
            raise InputError(f"Cannot write {target}: {files.reason(error)}. Nothing was exported.") from None
    progress(len(paths), len(paths))
    exported = [path for path in paths if path not in left]
    tops = [PurePosixPath(path).parts[0] for path in exported]
    proposals = tops.count(ws.store.paths.review.name)
    pages = sum(top in RESERVED or ws.store.is_page(path) for top, path in zip(tops, exported, strict=True)) - proposals
    shown = str(target).encode("utf-8", "replace").decode()
    return Exported(shown, len(exported) - proposals - pages, proposals, pages, tombstones, tuple(left))


def _check_target(ws: Workspace, target: Path, *, force: bool) -> None:
    if target.resolve().is_relative_to(ws.store.paths.ours.resolve()):
        raise InputError(f"{target} is inside memem's folder in the vault. Export to another place.")
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}. Create it and export again.")
    if not os.path.lexists(target):
        return
    if not force:
        raise InputError(f"{target} already exists. Use `--force` to replace it.")
    is_file = target.suffix.lower() == JSON
    if target.is_symlink() or target.is_dir() == is_file:
        raise InputError(
            f"{target} is not a {'file' if is_file else 'folder'} and cannot be replaced by one. Use another path."
        )
    if target.is_dir() and not export_format.is_folder(target) and any(target.iterdir()):
        raise InputError(f"{target} is not a memem export and was left unchanged. Export to another place.")


def _list_paths(ws: Workspace, project: str | None) -> list[str]:
    """Every note, proposal and page in memem's folder of the vault, or the notes of one project."""
    store = ws.store
    found = [path for path, _ in store.scan()]
    for name in sorted((*RESERVED, store.paths.home_page.name, store.paths.projects.name)):
        place = store.paths.ours / name
        for path in [place] if place.is_file() else sorted(place.rglob("*.md")):
            inside = path.relative_to(store.paths.ours).as_posix()
            if path.is_file() and "/." not in inside and not restore.leads_elsewhere(store, inside):
                found.append(inside)
    return sorted(path for path in set(found) if project is None or _project_of(ws, path) == project)


def _project_of(ws: Workspace, path: str) -> str | None:
    if PurePosixPath(path).parts[0] in RESERVED - {ws.store.paths.review.name} or ws.store.is_page(path):
        return None
    try:
        return ws.store.read(path).memory.project
    except NoteError:
        return None


def _pack(file: Path, path: str) -> PackedFile | None:
    try:
        status = file.lstat()
        is_too_large = status.st_size > export_format.MAX_FILE_BYTES
        return None if is_too_large else PackedFile(path, file.read_bytes(), status.st_mtime_ns)
    except OSError:
        return None
