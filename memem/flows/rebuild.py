"""Throw the index away, damaged or not, and read every note again. Vectors are kept: the same text has the same one."""

import shutil
import uuid
from contextlib import suppress
from pathlib import Path

from memem.core import files
from memem.core.errors import IndexUnusable, ModelError
from memem.flows.opening import require_vault
from memem.flows.reindex import Refreshed, refresh
from memem.flows.writing import writing
from memem.workspace import Workspace

LEFTOVER_SECONDS = 3_600


def rebuild(ws: Workspace) -> Refreshed:
    """A new index. Also sweeps up temporary files that killed writers left."""
    require_vault(ws)
    ws.close()
    with writing(ws):
        _discard(ws.home.index_folder)
        if ws.home.vectors.is_file():
            files.remove_quietly(ws.home.vectors)
        if _vectors_are_damaged(ws):
            ws.close()
            _discard(ws.vectors_folder())
        _sweep(ws)
        return refresh(ws)


def _sweep(ws: Workspace) -> None:
    """Remove what killed writers, a killed rebuild or an earlier version of memem left."""
    now = ws.clock().timestamp()
    for leftover in ws.store.leftovers():
        if now - leftover.stat().st_mtime > LEFTOVER_SECONDS:
            files.remove_quietly(leftover)
    for path in ws.home.cache.iterdir() if ws.home.cache.is_dir() else ():
        if path not in (ws.home.index_folder, ws.home.vectors, ws.home.turns_file.parent, ws.home.claude_flags):
            files.remove_quietly(path)
            shutil.rmtree(path, ignore_errors=True)


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


def _discard(folder: Path) -> None:
    """In one step: whoever opens what is in it meanwhile must not meet half of its files."""
    aside = folder.with_name(f".{folder.name}-{uuid.uuid4().hex}")
    with suppress(FileNotFoundError):
        folder.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)
