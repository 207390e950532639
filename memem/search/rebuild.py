"""Throw the index away, damaged or not, and read every note again. Vectors are kept: the same text has the same one."""

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
UNUSED_DAYS = 30
"""An index that nobody has opened for so long is thrown away; should its vault be used again, it is made anew. So are
the vectors of a model that nobody uses any more: until then going back to it costs nothing."""


def rebuild(ws: Workspace) -> Refreshed:
    """A new index of this vault. Also sweeps up temporary files that killed writers left."""
    require_vault(ws)
    ws.close()
    if ws.settings.encoder != "none":
        with suppress(ModelError):
            ws.encoder()  # now, as a large one takes longer to load than others wait to write
    with writing(ws):
        for folder in (ws.home.indexes, ws.home.vectors):
            if folder.is_file():
                files.remove_quietly(folder)
        _discard(ws, ws.index_file.parent)
        if _vectors_are_damaged(ws):
            ws.close()
            _discard(ws, ws.vectors_folder())
        _sweep(ws)
        return refresh(ws)


def drop_unused(ws: Workspace) -> None:
    """Throw away what was made for vaults and models that nobody uses any more. This vault is in use, whoever had it
    open so far."""
    now = ws.clock().timestamp()
    with using_home(ws.home):
        if ws.index_file.exists():
            os.utime(ws.index_file.parent, (now, now))
        for path in _long_unused(ws, ws.home.indexes):
            _discard(ws, path)
        old = _long_unused(ws, ws.home.vectors)
        wanted = _wanted_vectors(ws) if old else None
        for path in old:
            if wanted is not None and path.name not in wanted:
                _discard(ws, path)


def _long_unused(ws: Workspace, folder: Path) -> list[Path]:
    now = ws.clock().timestamp()
    stamps = [(path, files.stamp(path)) for path in _inside(folder)]
    return [path for path, stamp in stamps if stamp and now - stamp[0] / 1e9 > UNUSED_DAYS * 86_400]


def _wanted_vectors(ws: Workspace) -> set[str] | None:
    """The folders of vectors that some vault is encoded in; None while one of them is not encoded to the end."""
    wanted = set()
    for path in ws.home.indexes.glob("*/index.db"):
        used = path.parent.stat()
        try:
            with closing(NoteIndex(path)) as index:
                complete = not index.passages.count_pending()
                wanted.add(index.meta("encoded_in") if complete else "")
        except MememError:
            return None
        os.utime(path.parent, ns=(used.st_atime_ns, used.st_mtime_ns))  # this look is no use of it
    return None if "" in wanted else wanted


def leftovers(ws: Workspace) -> list[Path]:
    """Temporary files of writers that were killed, in vault and home: so old that nobody writes them any more."""
    pattern, now = f"{files.TEMPORARY_PREFIX}*{files.TEMPORARY_SUFFIX}", ws.clock().timestamp()
    found = [*ws.store.leftovers(), *ws.home.root.rglob(pattern)]
    stamps = [(path, files.stamp(path)) for path in found]
    return [path for path, stamp in stamps if stamp and now - stamp[0] / 1e9 > LEFTOVER_SECONDS]


def remove_leftovers(ws: Workspace) -> None:
    """Remove those."""
    for leftover in leftovers(ws):
        files.remove_quietly(leftover)


def _sweep(ws: Workspace) -> None:
    """Remove what killed writers, a killed rebuild or an earlier version of memem left."""
    remove_leftovers(ws)
    for pattern in LEFT_IN_CACHE:
        for path in ws.home.cache.glob(pattern):
            _remove(path)
    for path in _inside(ws.home.indexes):
        if not path.is_dir():
            _remove(path)  # once there was one index for all vaults


def _vectors_are_damaged(ws: Workspace) -> bool:
    if ws.settings.encoder == "none":
        return False
    try:
        ws.vectors().check()
    except IndexUnusable:
        return True
    except ModelError:
        return False  # without a model they are of no use, but may be again
    return False


def _discard(ws: Workspace, path: Path) -> None:
    """In one step: whoever opens what is in it meanwhile must not meet half of its files."""
    aside = ws.home.cache / f".{path.name}-{uuid.uuid4().hex}"
    with suppress(FileNotFoundError):
        path.rename(aside)
    _remove(aside)


def _inside(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _remove(path: Path) -> None:
    """A file or a folder, as far as we can."""
    files.remove_quietly(path)
    shutil.rmtree(path, ignore_errors=True)
