"""The graph that the memories are: which lead where, of which kind, how strongly."""

from memem.core.edge import Edge
from memem.core.memory import Entry
from memem.workspace import Workspace

__all__ = ["Edge", "edges", "memories"]


def edges(ws: Workspace) -> list[Edge]:
    """All edges, the strongest first. Both memories of each are among `memories`."""
    known = memories(ws)
    return [edge for edge in ws.index.edges.all() if edge.source in known and edge.target in known]


def memories(ws: Workspace) -> dict[str, Entry]:
    """The memories that are in the graph, by id, whatever their status; of several files with one id the first."""
    rows = ws.index.rows("problem IS NULL AND status <> 'quarantined' ORDER BY path")
    found: dict[str, Entry] = {}
    for row in rows:
        if row.memory:
            found.setdefault(row.memory.id, Entry(row.memory, row.path))
    return found
