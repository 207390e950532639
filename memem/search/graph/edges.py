"""The table of edges in the index file; an edge names two memories by id and is deleted with either of them."""

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from memem.core import sqlite
from memem.core.memory import CONTRADICTS, STATED, SUPERSEDES, Edge
from memem.search.database import guarded

BUILT_FOR, BUILT_AT, BUILT_BY = "graph_for", "graph_at", "graph_by"  # keys of the index's meta table
_COLUMNS = "source, target, kind, score, origin"


class EdgeRows:
    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @guarded
    def all(self) -> list[Edge]:
        query = f"SELECT {_COLUMNS} FROM edges ORDER BY score DESC, source, target, kind"  # noqa: S608 - fixed
        return [Edge(*row) for row in self._connection.execute(query)]

    @guarded
    def of(self, ids: Sequence[str]) -> list[Edge]:
        edges: set[Edge] = set()
        for marks, some in sqlite.split_values(ids):
            for end in ("source", "target"):
                query = f"SELECT {_COLUMNS} FROM edges WHERE {end} IN ({marks})"  # noqa: S608 - bound
                edges |= {Edge(*row) for row in self._connection.execute(query, some)}
        return sorted(edges, key=lambda edge: (-edge.score, edge.source, edge.target, edge.kind))

    @guarded
    def list_strong_pairs(self, ids: Sequence[str], least: float) -> frozenset[tuple[str, str]]:
        """Pairs of these memories, lower id first, with an edge of at least this score that ends neither."""
        among = set(ids)
        pairs: set[tuple[str, str]] = set()
        for marks, some in sqlite.split_values(ids):
            query = f"SELECT source, target FROM edges WHERE source IN ({marks}) AND score >= ?"  # noqa: S608 - bound
            rows = self._connection.execute(f"{query} AND kind NOT IN {(SUPERSEDES, CONTRADICTS)}", (*some, least))
            pairs |= {(min(pair), max(pair)) for pair in rows if pair[1] in among}
        return frozenset(pairs)

    @guarded
    def replace_stated(self, identity: str, edges: Iterable[Edge]) -> None:
        stated = list(edges)
        ends = [(edge.source, edge.target, edge.target, edge.source) for edge in stated]
        with sqlite.transaction(self._connection):
            both = f"DELETE FROM edges WHERE (source = ? OR target = ?) AND origin IN {STATED}"  # noqa: S608 - fixed
            self._connection.execute(both, (identity, identity))
            # A stated edge replaces those found by comparing the same two.
            pair = "DELETE FROM edges WHERE (source = ? AND target = ?) OR (source = ? AND target = ?)"
            self._connection.executemany(pair, ends)
            self._add(stated)

    @guarded
    def ids_by_row(self) -> dict[int, str]:
        query = "SELECT row, id FROM notes WHERE problem IS NULL AND status <> 'quarantined' ORDER BY path"
        return dict(self._connection.execute(query).fetchall())

    def drop(self, ids: Collection[str]) -> None:
        """Within a transaction: delete the edges of memories whose notes are gone."""
        for identity in filter(None, ids):
            if not self._connection.execute("SELECT 1 FROM notes WHERE id = ? LIMIT 1", (identity,)).fetchone():
                self._connection.execute("DELETE FROM edges WHERE source = ? OR target = ?", (identity, identity))

    @guarded
    def replace(self, edges: Iterable[Edge], built: Mapping[str, str]) -> None:
        with sqlite.transaction(self._connection):
            self._connection.execute("DELETE FROM edges")
            self._add(edges)
            for end in ("source", "target"):
                self._connection.execute(f"DELETE FROM edges WHERE {end} NOT IN (SELECT id FROM notes)")  # noqa: S608
            self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(built.items()))

    @guarded
    def version(self) -> str:
        """A version that changes with every note that is added, changed or removed."""
        query = "SELECT (SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'notes'), count(*) FROM notes"
        last, count = self._connection.execute(query).fetchone()
        return f"{last}/{count}"

    def _add(self, edges: Iterable[Edge]) -> None:
        rows = [(edge.source, edge.target, edge.kind, edge.score, edge.origin) for edge in edges]
        self._connection.executemany("INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?)", rows)
