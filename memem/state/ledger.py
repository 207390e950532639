"""What asking a model costs: a hard limit for each day, a ledger of every call, and a breaker when nothing works."""

from dataclasses import dataclass

from memem.core import sqlite
from memem.core.errors import BudgetSpent, Usage
from memem.state.tables import MAX_PAUSE_SECONDS, Table, guarded

MIN_CALL_DOLLARS = 0.01
"""What a call counts for at least until its cost is known: 24,000 characters read and a dozen memories written by
Haiku."""
KEPT_DAYS = 90
"""For so long the ledger knows what a call has cost. Claude Code keeps a session for 30."""
_SUMS = "count(*), ifnull(sum(input_tokens), 0), ifnull(sum(output_tokens), 0), ifnull(sum(dollars), 0.0)"


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one day may cost."""

    calls: int
    dollars: float


@dataclass(frozen=True, slots=True)
class Spending:
    """What was spent, in a day or in a session."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0


class Ledger(Table):
    """Every call: counted before it is made, so that two miners cannot both have the last one."""

    TABLES = (
        """CREATE TABLE calls (number INTEGER PRIMARY KEY AUTOINCREMENT, day TEXT NOT NULL, session TEXT NOT NULL,
           outcome TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
           dollars REAL NOT NULL)""",
        "CREATE INDEX calls_by_day ON calls (day)",
        "CREATE INDEX calls_by_session ON calls (session)",
        "CREATE TABLE breaker (one INTEGER PRIMARY KEY CHECK (one = 1), failures INTEGER, until REAL, reason TEXT)",
    )

    @guarded
    def reserve(self, day: str, session: str, limits: Limits) -> int:
        """Count a call that is about to be made; raises BudgetSpent instead when there is none left."""
        with sqlite.transaction(self._connection):
            if used_up := self.limit_reached(day, limits):
                raise BudgetSpent(used_up)
            asked = "INSERT INTO calls VALUES (NULL, ?, ?, 'asked', 0, 0, ?)"
            row = self._connection.execute(asked, (day, session, self._next_one(day)))
            return int(row.lastrowid or 0)

    @guarded
    def limit_reached(self, day: str, limits: Limits) -> str:
        """Why there is no call left in a day; empty when there is one."""
        today = self.spent(day)
        if today.calls >= limits.calls:
            calls = "1 call" if limits.calls == 1 else f"{limits.calls:,} calls"
            return f"Today's limit of {calls} is reached (MEMEM_DAILY_CALLS)."
        if today.dollars + self._next_one(day) > limits.dollars:
            return f"Today's limit of ${limits.dollars:,.2f} is reached (MEMEM_DAILY_USD)."
        return ""

    @guarded
    def settle(self, number: int, outcome: str, usage: Usage) -> None:
        """What a call has cost: what it was reckoned at, where nobody tells."""
        self._connection.execute(
            """UPDATE calls SET outcome = ?, input_tokens = ?, output_tokens = ?, dollars = ifnull(?, dollars)
               WHERE number = ?""",
            (outcome, usage.input_tokens, usage.output_tokens, usage.dollars, number),
        )

    @guarded
    def prune(self, before: str) -> None:
        """Drop the calls of the days before one."""
        self._connection.execute("DELETE FROM calls WHERE day < ?", (before,))

    @guarded
    def spent(self, day: str) -> Spending:
        return self._sum("day = ?", day)

    @guarded
    def spent_in(self, session: str) -> Spending:
        return self._sum("session = ?", session)

    @guarded
    def last_call(self) -> int:
        """The number of the last call; later ones have higher numbers."""
        return int(self._connection.execute("SELECT ifnull(max(number), 0) FROM calls").fetchone()[0])

    @guarded
    def spent_since(self, number: int) -> dict[str, Spending]:
        """The spending of each session in calls after the one of this number."""
        query = f"SELECT session, {_SUMS} FROM calls WHERE number > ? GROUP BY session"  # noqa: S608 - fixed
        return {session: Spending(*row) for session, *row in self._connection.execute(query, (number,))}

    @guarded
    def has_call(self, day: str, session: str) -> bool:
        """Whether a session has asked on that day, whatever came of it."""
        query = "SELECT 1 FROM calls WHERE day = ? AND session = ?"
        return self._connection.execute(query, (day, session)).fetchone() is not None

    @guarded
    def start_pause(self, until: float, reason: str) -> None:
        """Nobody is to ask before `until`."""
        self._connection.execute("INSERT OR REPLACE INTO breaker VALUES (1, ?, ?, ?)", (self.failures(), until, reason))

    @guarded
    def count_failure(self) -> int:
        """One more call in a row has failed, whoever made it; how many that makes."""
        statement = """INSERT INTO breaker VALUES (1, 1, 0, '') ON CONFLICT (one) DO UPDATE SET failures = failures + 1
                       RETURNING failures"""
        return int(self._connection.execute(statement).fetchone()[0])

    @guarded
    def reset_failures(self) -> None:
        self._connection.execute("DELETE FROM breaker")

    @guarded
    def pause(self, now: float) -> tuple[str, float] | None:
        """Why nobody is to ask now, and until when; None when everybody may."""
        query = "SELECT reason, until FROM breaker WHERE until > ? AND until <= ?"
        found: tuple[str, float] | None = self._connection.execute(query, (now, now + MAX_PAUSE_SECONDS)).fetchone()
        return found

    @guarded
    def failures(self) -> int:
        """How many calls in a row have failed."""
        found = self._connection.execute("SELECT failures FROM breaker").fetchone()
        return int(found[0]) if found else 0

    def _sum(self, where: str, value: str) -> Spending:
        row = self._connection.execute(f"SELECT {_SUMS} FROM calls WHERE {where}", (value,)).fetchone()  # noqa: S608
        return Spending(*row)

    def _next_one(self, day: str) -> float:
        """What the next call of a day counts for: as much as the dearest before it, which may be under way still."""
        found = self._connection.execute("SELECT max(dollars) FROM calls WHERE day = ?", (day,)).fetchone()
        return max(MIN_CALL_DOLLARS, found[0] or 0.0)
