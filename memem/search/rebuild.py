"""Rebuild the index from the notes, and clean up the cache. Vectors stay: they depend on the text alone."""

from __future__ import annotations

import os
import shutil
import uuid
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.belongings import LEFT_IN_CACHE
from memem.core.errors import IndexUnusable, MememError, ModelError
from memem.core.home import using_home
from memem.search.notes import NoteIndex
from memem.search.refresh import Refreshed, refresh
from memem.vault.opening import require_vault
from memem.vault.write_lock import writing

if TYPE_CHECKING:
    from memem.workspace import Workspace


LEFTOVER_SECONDS = 3_600
UNUSED_SECONDS = 30 * 86_400  # until then an unused index, or the vectors of an unused model, can be used again


def rebuild(ws: Workspace) -> Refreshed:
    """Replace the index of this vault, damaged or not, and remove the temporary files of killed writers."""
    require_vault(ws)
    ws.close()
    if ws.settings.encoder != "none":
        with suppress(ModelError):
            ws.encoder()  # before locking: a large one takes longer to load than others wait to write
    with writing(ws):
        for folder in (ws.home.indexes, ws.home.vectors):
            if folder.is_file():
                files.remove_quietly(folder)
        _discard(ws, ws.index_file.parent)
        if ws.settings.encoder != "none":
            with suppress(ModelError):  # without a model the vectors are of no use now, but may be again
                try:
                    ws.vectors().check()
                except IndexUnusable:
                    ws.close()
                    _discard(ws, ws.vectors_folder())
        remove_leftovers(ws)
        stray = [path for path in _list(ws.home.indexes) if not path.is_dir()]  # earlier: one index for all vaults
        for path in (*stray, *(path for pattern in LEFT_IN_CACHE for path in ws.home.cache.glob(pattern))):
            _remove(path)
        return refresh(ws)


def drop_unused(ws: Workspace) -> None:
    """Remove indexes of vaults and vectors of models that are no longer used. This vault counts as used."""
    now = ws.clock().timestamp()
    with using_home(ws.home):
        if ws.index_file.exists():
            os.utime(ws.index_file.parent, (now, now))
        for path in _older(ws, _list(ws.home.indexes), UNUSED_SECONDS):
            _discard(ws, path)
        old = _older(ws, _list(ws.home.vectors), UNUSED_SECONDS)
        used = _used_vectors(ws) if old else None
        for path in old:
            if used is not None and path.name not in used:
                _discard(ws, path)


def _used_vectors(ws: Workspace) -> set[str] | None:
    used = set()
    for path in ws.home.indexes.glob("*/index.db"):
        times = path.parent.stat()
        try:
            with closing(NoteIndex(path)) as index:
                used.add("" if index.passages.count_pending() else index.meta("encoded_in"))
        except MememError:
            return None
        os.utime(path.parent, ns=(times.st_atime_ns, times.st_mtime_ns))  # this does not count as a use
    return None if "" in used else used


def leftovers(ws: Workspace) -> list[Path]:
    """List temporary files in vault and home that are too old to be written still."""
    pattern = f"{files.TEMPORARY_PREFIX}*{files.TEMPORARY_SUFFIX}"
    return _older(ws, [*ws.store.leftovers(), *ws.home.root.rglob(pattern)], LEFTOVER_SECONDS)


def remove_leftovers(ws: Workspace) -> None:
    for leftover in leftovers(ws):
        files.remove_quietly(leftover)


def _discard(ws: Workspace, path: Path) -> None:
    """Rename a folder, then remove it: nobody opens half of its files."""
    aside = ws.home.cache / f".{path.name}-{uuid.uuid4().hex}"
    with suppress(FileNotFoundError):
        path.rename(aside)
    _remove(aside)


def _older(ws: Workspace, paths: list[Path], seconds: float) -> list[Path]:
    now = ws.clock().timestamp()
    stamps = [(path, files.stamp(path)) for path in paths]
    return [path for path, stamp in stamps if stamp and now - stamp[0] / 1e9 > seconds]


def _list(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _remove(path: Path) -> None:
    files.remove_quietly(path)
    shutil.rmtree(path, ignore_errors=True)
