"""The model's processes and the opt-in, as the state knows them: an orphaned call is ended by whoever comes next."""

import os

from memem.core import processes
from memem.state.tables import Table, guarded


class OptInRecord(Table):
    """One row, or none."""

    TABLES = ("CREATE TABLE agreed (one INTEGER PRIMARY KEY CHECK (one = 1), since TEXT NOT NULL)",)

    @guarded
    def since(self) -> str:
        found = self._connection.execute("SELECT since FROM agreed").fetchone()
        return str(found[0]) if found else ""

    @guarded
    def put(self, since: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO agreed VALUES (1, ?)", (since,))


class Children(Table):
    """A row for each call under way: the child, which leads a group of its own, and the miner that waits for it."""

    TABLES = (
        """CREATE TABLE children (pid INTEGER PRIMARY KEY, started TEXT NOT NULL, miner INTEGER NOT NULL,
           miner_started TEXT NOT NULL, boot TEXT NOT NULL)""",
    )

    @guarded
    def add(self, pid: int, started: str) -> None:
        miner = os.getpid()
        row = (pid, started, miner, processes.started(miner) or "", processes.boot())
        self._connection.execute("INSERT OR REPLACE INTO children VALUES (?, ?, ?, ?, ?)", row)

    @guarded
    def remove(self, pid: int) -> None:
        self._connection.execute("DELETE FROM children WHERE pid = ?", (pid,))

    @guarded
    def end_orphans(self) -> int:
        """End every child whose miner is gone, and all that it started; returns how many were still running."""
        ended = 0
        rows = self._connection.execute("SELECT * FROM children").fetchall()
        for pid, started, miner, miner_started, boot in rows:
            is_of_today = boot == processes.boot()
            if is_of_today and processes.is_same(miner, miner_started):
                continue
            # A child that is gone itself may have left others: as long as they live, nobody else gets its pid. After a
            # restart of the machine somebody may, so that has to be ruled out.
            now = processes.started(pid)
            if is_of_today and (now == started or (now is None and boot)):
                ended += processes.end_group(pid)
            self.remove(pid)
        return ended
