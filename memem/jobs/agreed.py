"""Since when mining is agreed to, as the state knows it: with the state, the agreement is lost too."""

from memem.jobs.tables import Table, guarded


class Agreed(Table):
    """One row, or none."""

    TABLES = ("CREATE TABLE agreed (one INTEGER PRIMARY KEY CHECK (one = 1), since TEXT NOT NULL)",)

    @guarded
    def since(self) -> str:
        found = self._connection.execute("SELECT since FROM agreed").fetchone()
        return str(found[0]) if found else ""

    @guarded
    def put(self, since: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO agreed VALUES (1, ?)", (since,))
