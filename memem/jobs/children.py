"""The model's processes, written down: one that outlived its miner is ended by whoever comes next."""

import os

from memem.core import processes
from memem.jobs.tables import Table, guarded


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
