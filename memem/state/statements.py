"""When memories were last said again, or added to: later than the `valid_from` in their notes."""

from memem.state.tables import Table


class Statements(Table):
    TABLES = ("CREATE TABLE statements (id TEXT PRIMARY KEY, last_said REAL NOT NULL) WITHOUT ROWID",)

    def last_said(self, identity: str) -> float | None:
        """When a memory was last said, in seconds since the epoch; None if that is not known."""
        row = self._fetch_one("SELECT last_said FROM statements WHERE id = ?", identity)
        return row[0] if row else None

    def record(self, identity: str, said: float) -> None:
        """Record that a memory was said again; an earlier time changes nothing."""
        statement = """INSERT INTO statements VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET
            last_said = max(last_said, excluded.last_said)"""
        self._execute(statement, identity, said)

    def forget(self, identity: str) -> None:
        self._execute("DELETE FROM statements WHERE id = ?", identity)
