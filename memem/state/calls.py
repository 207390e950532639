"""Model calls: their cost, a hard limit for each day, a pause after repeated failures, and the running processes."""

import math
import os
from dataclasses import dataclass

from memem.core import processes
from memem.core.errors import BudgetSpent, Usage
from memem.state.tables import MAX_PAUSE_SECONDS, Table

MIN_CALL_DOLLARS = 0.01  # reserved until the cost is known: Haiku reads 24,000 characters and writes a dozen memories
KEPT_DAYS = 90
_SUMS = "count(*), ifnull(sum(input_tokens), 0), ifnull(sum(output_tokens), 0), ifnull(sum(dollars), 0.0)"


@dataclass(frozen=True, slots=True)
class Limits:
    calls: int
    dollars: float  # infinite for a model whose calls have no known price


@dataclass(frozen=True, slots=True)
class Spending:
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0


class Ledger(Table):
    """Every call, counted before it is made, so that two miners cannot both make the last one."""

    TABLES = (
        """CREATE TABLE calls (number INTEGER PRIMARY KEY AUTOINCREMENT, day TEXT NOT NULL, session TEXT NOT NULL,
           outcome TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
           dollars REAL NOT NULL)""",
        "CREATE INDEX calls_by_day ON calls (day)",
        "CREATE INDEX calls_by_session ON calls (session)",
        "CREATE TABLE breaker (one INTEGER PRIMARY KEY CHECK (one = 1), failures INTEGER, until REAL, reason TEXT)",
    )

    def reserve(self, day: str, session: str, limits: Limits) -> int:
        """Count a call that is about to be made, and return its number. Raises BudgetSpent."""
        with self.transaction():
            if problem := self.limit_reached(day, limits):
                raise BudgetSpent(problem)
            statement = "INSERT INTO calls VALUES (NULL, ?, ?, 'asked', 0, 0, ?)"
            reserved = 0.0 if math.isinf(limits.dollars) else self._reserved_dollars(day)
            return self._insert(statement, day, session, reserved)

    def limit_reached(self, day: str, limits: Limits) -> str:
        """Say which limit forbids another call on this day; empty if none does."""
        today = self.spent(day)
        if today.calls >= limits.calls:
            calls = "1 call" if limits.calls == 1 else f"{limits.calls:,} calls"
            return f"Today's limit of {calls} has been reached (MEMEM_DAILY_CALLS)."
        if today.dollars + self._reserved_dollars(day) > limits.dollars:
            return f"Today's limit of ${limits.dollars:,.2f} has been reached (MEMEM_DAILY_USD)."
        return ""

    def _reserved_dollars(self, day: str) -> float:
        """The reservation for a call: as much as the most expensive call of the day."""
        (most,) = self._fetch_one("SELECT max(dollars) FROM calls WHERE day = ?", day)
        return max(MIN_CALL_DOLLARS, most or 0.0)

    def settle(self, number: int, outcome: str, usage: Usage) -> None:
        """Record the outcome and cost of a call; an unknown cost stays as it was reserved."""
        statement = """UPDATE calls SET outcome = ?, input_tokens = ?, output_tokens = ?, dollars = ifnull(?, dollars)
            WHERE number = ?"""
        self._execute(statement, outcome, usage.input_tokens, usage.output_tokens, usage.dollars, number)

    def prune(self, before: str) -> None:
        self._execute("DELETE FROM calls WHERE day < ?", before)

    def spent(self, day: str) -> Spending:
        return Spending(*self._fetch_one(f"SELECT {_SUMS} FROM calls WHERE day = ?", day))  # noqa: S608 - fixed

    def spent_in(self, session: str) -> Spending:
        return Spending(*self._fetch_one(f"SELECT {_SUMS} FROM calls WHERE session = ?", session))  # noqa: S608 - fixed

    def last_call(self) -> int:
        """The number of the last call; numbers only grow."""
        return int(self._fetch_one("SELECT ifnull(max(number), 0) FROM calls")[0])

    def spent_since(self, number: int) -> dict[str, Spending]:
        query = f"SELECT session, {_SUMS} FROM calls WHERE number > ? GROUP BY session"  # noqa: S608 - fixed
        return {session: Spending(*row) for session, *row in self._execute(query, number)}

    def has_call(self, day: str, session: str) -> bool:
        return bool(self._execute("SELECT 1 FROM calls WHERE day = ? AND session = ? LIMIT 1", day, session))

    def start_pause(self, until: float, reason: str) -> None:
        self._execute("INSERT OR REPLACE INTO breaker VALUES (1, ?, ?, ?)", self.failures(), until, reason)

    def count_failure(self) -> int:
        """Count a failed call; return how many have failed in a row, in all processes."""
        statement = """INSERT INTO breaker VALUES (1, 1, 0, '') ON CONFLICT (one) DO UPDATE SET failures = failures + 1
                       RETURNING failures"""
        return int(self._fetch_one(statement)[0])

    def reset_failures(self) -> None:
        self._execute("DELETE FROM breaker")

    def pause(self, now: float) -> tuple[str, float] | None:
        """The reason and end of the current pause; None without one."""
        query = "SELECT reason, until FROM breaker WHERE until > ? AND until <= ?"
        row: tuple[str, float] | None = self._fetch_one(query, now, now + MAX_PAUSE_SECONDS)
        return row

    def failures(self) -> int:
        row = self._fetch_one("SELECT failures FROM breaker")
        return int(row[0]) if row else 0


class Children(Table):
    """A row for each call in progress: the child, which leads its own process group, and the miner waiting for it."""

    TABLES = (
        """CREATE TABLE children (pid INTEGER PRIMARY KEY, started TEXT NOT NULL, miner INTEGER NOT NULL,
           miner_started TEXT NOT NULL, boot TEXT NOT NULL)""",
    )

    def add(self, pid: int, started: str) -> None:
        miner = os.getpid()
        row = (pid, started, miner, processes.read_start_time(miner) or "", processes.read_boot_id())
        self._execute("INSERT OR REPLACE INTO children VALUES (?, ?, ?, ?, ?)", *row)

    def remove(self, pid: int) -> None:
        self._execute("DELETE FROM children WHERE pid = ?", pid)

    def end_orphans(self) -> int:
        """End every child whose miner is gone, with its process group; return how many were still running."""
        ended = 0
        for pid, started, miner, miner_started, boot in self._execute("SELECT * FROM children"):
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
