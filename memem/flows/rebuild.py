"""Throw the index away, damaged or not, and read every note again."""

import shutil
import uuid
from contextlib import suppress

from memem.core import files
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
        # In one step: whoever opens the index meanwhile must not meet half of its files.
        aside = ws.home.cache.with_name(f".cache-{uuid.uuid4().hex}")
        with suppress(FileNotFoundError):
            ws.home.cache.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
        now = ws.clock().timestamp()
        for leftover in ws.store.leftovers():
            if now - leftover.stat().st_mtime > LEFTOVER_SECONDS:
                files.remove_quietly(leftover)
        return refresh(ws)
