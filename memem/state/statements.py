"""When memories were last repeated or extended, if that was later than the `valid_from` in their notes."""

from memem.state.tables import Table


class Statements(Table):
    TABLES = ("CREATE TABLE statements (id TEXT PRIMARY KEY, last_said REAL NOT NULL) WITHOUT ROWID",)

    def get_last_said(self, identity: str) -> float | None:
        """Return when a memory was last repeated, in seconds since the epoch; None if that is unknown."""
        row = self._fetch_one("SELECT last_said FROM statements WHERE id = ?", identity)
        return row[0] if row else None

    def record(self, identity: str, said: float) -> None:
        """Record that a memory was repeated; an earlier time changes nothing."""
        statement = """INSERT INTO statements VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET
            last_said = max(last_said, excluded.last_said)"""
        self._execute(statement, identity, said)

    def forget(self, identity: str) -> None:
        self._execute("DELETE FROM statements WHERE id = ?", identity)
