"""Keep pages up to date with what `notes` and `mine` change. Light: doors import it for every action."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memem.workspace import Workspace


@contextmanager
def catching_up(ws: Workspace) -> Iterator[None]:
    """Run an action of a door; afterwards, also when it fails half-way, write the pages of what it has changed."""
    try:
        yield
    finally:
        if ws.changed:
            from memem.pages import conflicts, refresh

            changed, ws.changed = ws.changed, set()
            if "conflicts" in changed:
                conflicts.write_page(ws)
            if "notes" in changed:
                refresh.write_pages_quietly(ws, only_if_there="new" not in changed)
