"""The notes that apply to a project whatever the prompt: pinned notes and conventions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memem.core.memory import CONVENTIONS, GENERAL, PINNED, Entry
from memem.search import database
from memem.search.query import Scope
from memem.search.refresh import fresh_rows

if TYPE_CHECKING:
    from memem.workspace import Workspace


MIN_IMPORTANCE = {"human": 3, "model": 4}  # of a convention that is shown in every session, by author


def pinned(ws: Workspace, project: str) -> list[Entry]:
    own = _by_importance(_in_layer(ws, PINNED, project))
    return own if project == GENERAL else own + _by_importance(_in_layer(ws, PINNED, GENERAL))


def conventions(ws: Workspace, project: str) -> list[Entry]:
    """Conventions of a project and general ones, ordered by importance, author, project and date."""
    entries = _in_layer(ws, CONVENTIONS, project) + (_in_layer(ws, CONVENTIONS, GENERAL) if project != GENERAL else [])
    return _by_importance(
        [entry for entry in entries if entry.memory.importance >= MIN_IMPORTANCE.get(entry.memory.author, 4)]
    )


def count_in_force(ws: Workspace, project: str) -> int:
    conditions, values = in_force(ws, project)
    return ws.index.count_where(f"1{conditions}", values)


def in_force(ws: Workspace, *projects: str) -> tuple[str, tuple[str | float, ...]]:
    """SQL conditions, and their values, for active notes of these projects that are valid now."""
    return database.scope_conditions(Scope(projects, now=ws.clock().timestamp()))


def _in_layer(ws: Workspace, layer: int, project: str) -> list[Entry]:
    conditions, values = in_force(ws, project)
    where = f"layer = ?{conditions} ORDER BY changed DESC, id"
    rows = fresh_rows(ws, lambda: ws.index.rows(where, (layer, *values)))
    return [Entry(row.memory, row.path) for row in rows if row.memory and not row.memory.superseded_by]


def _by_importance(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: (-entry.memory.importance, entry.memory.author != "human"))
