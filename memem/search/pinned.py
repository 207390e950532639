"""What holds for a project whatever is asked: its pinned notes and its conventions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memem.core.memory import CONVENTIONS, GENERAL, PINNED, Entry
from memem.search import database
from memem.search.query import Scope
from memem.search.refresh import fresh_rows

if TYPE_CHECKING:
    from memem.workspace import Workspace


MIN_IMPORTANCE = {"human": 3, "model": 4}
"""What a convention must weigh to have earned its place in every session, by who wrote it."""


def pinned(ws: Workspace, project: str) -> list[Entry]:
    """What a project is, the most important first; then what is pinned for every project."""
    own = _ordered(_of_layer(ws, PINNED, project))
    return own if project == GENERAL else own + _ordered(_of_layer(ws, PINNED, GENERAL))


def conventions(ws: Workspace, project: str) -> list[Entry]:
    """Conventions and rules of a project and of none in particular: the most important first, a person's before a
    machine's, the project's own before general ones, the newest before older ones."""
    found = _of_layer(ws, CONVENTIONS, project) + (_of_layer(ws, CONVENTIONS, GENERAL) if project != GENERAL else [])
    return _ordered([entry for entry in found if entry.memory.importance >= MIN_IMPORTANCE.get(entry.memory.author, 4)])


def count_in_force(ws: Workspace, project: str) -> int:
    """How many memories of a project may be shown unasked."""
    conditions, values = in_force(ws, project)
    return ws.index.count_where(f"1{conditions}", values)


def in_force(ws: Workspace, *projects: str) -> tuple[str, tuple[str | float, ...]]:
    """As further conditions on rows, and their values: of these projects, holding now, not archived."""
    return database.scope_conditions(Scope(projects, now=ws.clock().timestamp()))


def _of_layer(ws: Workspace, layer: int, project: str) -> list[Entry]:
    conditions, values = in_force(ws, project)
    ordered = f"layer = ?{conditions} ORDER BY changed DESC, id"
    rows = fresh_rows(ws, lambda: ws.index.rows(ordered, (layer, *values)))
    found = [Entry(row.memory, row.path) for row in rows if row.memory]
    return [entry for entry in found if not entry.memory.superseded_by]


def _ordered(entries: list[Entry]) -> list[Entry]:
    """A sort keeps the order of equals, which is that of their last change."""
    return sorted(entries, key=lambda entry: (-entry.memory.importance, entry.memory.author != "human"))
