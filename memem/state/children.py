"""Running model processes, so that a later process can end orphaned ones; and the record of the opt-in."""

import os

from memem.core import processes
from memem.state.tables import Table


class OptInRecord(Table):
    """The date of the opt-in; at most one row."""

    TABLES = ("CREATE TABLE agreed (one INTEGER PRIMARY KEY CHECK (one = 1), since TEXT NOT NULL)",)

    def since(self) -> str:
        row = self._fetch_one("SELECT since FROM agreed")
        return str(row[0]) if row else ""

    def put(self, since: str) -> None:
        self._execute("INSERT OR REPLACE INTO agreed VALUES (1, ?)", (since,))


class Children(Table):
    """A row for each call in progress: the child, which leads its own process group, and the miner waiting for it."""

    TABLES = (
        """CREATE TABLE children (pid INTEGER PRIMARY KEY, started TEXT NOT NULL, miner INTEGER NOT NULL,
           miner_started TEXT NOT NULL, boot TEXT NOT NULL)""",
    )

    def add(self, pid: int, started: str) -> None:
        miner = os.getpid()
        row = (pid, started, miner, processes.read_start_time(miner) or "", processes.read_boot_id())
        self._execute("INSERT OR REPLACE INTO children VALUES (?, ?, ?, ?, ?)", row)

    def remove(self, pid: int) -> None:
        self._execute("DELETE FROM children WHERE pid = ?", (pid,))

    def end_orphans(self) -> int:
        """End every child whose miner is gone, with its process group; return how many were still running."""
        ended = 0
        rows = self._fetch_all("SELECT * FROM children")
        for pid, started, miner, miner_started, boot in rows:
            is_same_boot = boot == processes.read_boot_id()
            if is_same_boot and processes.is_same(miner, miner_started):
                continue
            # A dead child may have left processes in its group; its pid is not reused while they live, unless the
            # machine was restarted.
            now = processes.read_start_time(pid)
            if is_same_boot and (now == started or (now is None and boot)):
                ended += processes.end_group(pid)
            self.remove(pid)
        return ended
