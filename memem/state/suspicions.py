"""Pairs of memories that seem to contradict each other, and what the model said of them when it was asked."""

from collections.abc import Iterable
from dataclasses import dataclass

from memem.state.tables import Table, guarded

WAITING, CONTRADICT, COMPATIBLE = VERDICTS = ("waiting", "contradict", "compatible")
MAX_TRIES = 3


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Two ids, in order, and what the two said when somebody judged them: after a change that is another question."""

    one: str
    other: str
    statements: str
    verdict: str = WAITING
    why: str = ""


class Suspicions(Table):
    """One row for each pair."""

    TABLES = (
        """CREATE TABLE suspicions (one TEXT NOT NULL, other TEXT NOT NULL, said TEXT NOT NULL, verdict TEXT NOT NULL,
           why TEXT NOT NULL, tries INTEGER NOT NULL, PRIMARY KEY (one, other)) WITHOUT ROWID""",
    )

    @guarded
    def add(self, suspicions: Iterable[Suspicion]) -> None:
        """Pairs that nobody has judged, as they are now."""
        self._connection.executemany(
            """INSERT INTO suspicions VALUES (?, ?, ?, ?, '', 0) ON CONFLICT (one, other) DO UPDATE SET
               said = excluded.said, verdict = excluded.verdict, why = '', tries = 0 WHERE said <> excluded.said""",
            [(each.one, each.other, each.statements, WAITING) for each in suspicions],
        )

    @guarded
    def waiting(self, most: int) -> list[Suspicion]:
        """Those that the model is to be asked about, the least tried first."""
        query = """SELECT one, other, said, verdict, why FROM suspicions WHERE verdict = ? AND tries < ?
            ORDER BY tries, one, other LIMIT ?"""
        return [Suspicion(*row) for row in self._connection.execute(query, (WAITING, MAX_TRIES, most))]

    @guarded
    def count_try(self, suspicions: Iterable[Suspicion]) -> None:
        """Somebody is about to ask: what fails every time is not asked for ever."""
        pairs = [(each.one, each.other) for each in suspicions]
        self._connection.executemany("UPDATE suspicions SET tries = tries + 1 WHERE one = ? AND other = ?", pairs)

    @guarded
    def judge(self, suspicion: Suspicion, verdict: str, why: str) -> None:
        changed = (verdict, why, suspicion.one, suspicion.other, suspicion.statements)
        statement = "UPDATE suspicions SET verdict = ?, why = ? WHERE one = ? AND other = ? AND said = ?"
        self._connection.execute(statement, changed)

    @guarded
    def pairs(self) -> list[Suspicion]:
        return [
            Suspicion(*row) for row in self._connection.execute("SELECT one, other, said, verdict, why FROM suspicions")
        ]

    @guarded
    def forget_pair(self, suspicion: Suspicion) -> None:
        """Nobody needs to know any more."""
        pair = (suspicion.one, suspicion.other)
        self._connection.execute("DELETE FROM suspicions WHERE one = ? AND other = ?", pair)

    @guarded
    def forget(self, identity: str) -> None:
        """Drop what is known of a memory's pairs."""
        self._connection.execute("DELETE FROM suspicions WHERE one = ? OR other = ?", (identity, identity))
