"""Notes that read like an instruction to the model: they stay where they are, and nobody is shown them before a person
says so.

Whoever put them there, by hand, by a sync or in an export: what a file says of its author is not believed.
"""

from memem.core.errors import Ambiguous, NotFound
from memem.core.memory import Memory
from memem.flows.reindex import fresh_rows, read_row
from memem.gate.verdict import cleanse
from memem.index.notes import Row
from memem.vault import reviewed
from memem.workspace import Workspace


def follow(ws: Workspace) -> None:
    """Read again those notes that a person may have said something of."""
    word = reviewed.stamp(ws.store.paths)
    paths = [row.path for row in ws.index.rows("review IS NOT NULL")]
    ws.index.update([row for path in paths if (stamp := ws.store.stamp(path)) and (row := read_row(ws, path, stamp))])
    ws.index.set_meta(reviewed.KNOWN, word)


def held(ws: Workspace, *, decided: bool = False) -> list[Row]:
    """The notes that wait for a person; with `decided`, also those that were rejected."""
    some = "review IN ('waiting', 'rejected')" if decided else "review = 'waiting'"
    return [row for row in fresh_rows(ws, lambda: ws.index.rows(f"{some} ORDER BY path")) if row.memory]


def count(ws: Workspace) -> int:
    """How many wait, as far as the index knows."""
    return ws.index.count_where("review = 'waiting'")


def why(memory: Memory) -> str:
    """In which way it reads like an instruction."""
    return cleanse(memory).doubt


def find(ws: Workspace, identity: str) -> Row:
    """The one with this id, or this beginning of one."""
    wanted = identity.strip().lower()
    found = [
        row for row in held(ws, decided=True) if row.memory and wanted and row.memory.id.lower().startswith(wanted)
    ]
    if not found:
        raise NotFound(f"No proposal has the id {identity!r}. `memem review` lists them.")
    if len(found) > 1:
        raise Ambiguous(f"{len(found)} proposals begin with {identity!r}. Use more of the id.")
    return found[0]
