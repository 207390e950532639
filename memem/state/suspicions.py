"""Pairs of memories that seem to contradict each other, with the model's verdict."""

from collections.abc import Iterable
from dataclasses import dataclass

from memem.state.tables import Table

WAITING, CONTRADICT, COMPATIBLE = VERDICTS = ("waiting", "contradict", "compatible")
MAX_TRIES = 3


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Two ids, in order, and a digest of their statements; a changed statement makes it a new question."""

    one: str
    other: str
    statements: str
    verdict: str = WAITING
    why: str = ""


class Suspicions(Table):
    TABLES = (
        """CREATE TABLE suspicions (one TEXT NOT NULL, other TEXT NOT NULL, said TEXT NOT NULL, verdict TEXT NOT NULL,
           why TEXT NOT NULL, tries INTEGER NOT NULL, PRIMARY KEY (one, other)) WITHOUT ROWID""",
    )

    def add(self, suspicions: Iterable[Suspicion]) -> None:
        """Add pairs to be judged; a pair whose statements have not changed stays as it is."""
        statement = """INSERT INTO suspicions VALUES (?, ?, ?, ?, '', 0) ON CONFLICT (one, other) DO UPDATE SET
            said = excluded.said, verdict = excluded.verdict, why = '', tries = 0 WHERE said <> excluded.said"""
        self._execute_many(statement, [(each.one, each.other, each.statements, WAITING) for each in suspicions])

    def waiting(self, most: int) -> list[Suspicion]:
        """Pairs to ask the model about, least tried first."""
        query = """SELECT one, other, said, verdict, why FROM suspicions WHERE verdict = ? AND tries < ?
            ORDER BY tries, one, other LIMIT ?"""
        return [Suspicion(*row) for row in self._execute(query, WAITING, MAX_TRIES, most)]

    def count_try(self, suspicions: Iterable[Suspicion]) -> None:
        pairs = [(each.one, each.other) for each in suspicions]
        self._execute_many("UPDATE suspicions SET tries = tries + 1 WHERE one = ? AND other = ?", pairs)

    def judge(self, suspicion: Suspicion, verdict: str, why: str) -> None:
        statement = "UPDATE suspicions SET verdict = ?, why = ? WHERE one = ? AND other = ? AND said = ?"
        self._execute(statement, verdict, why, suspicion.one, suspicion.other, suspicion.statements)

    def pairs(self) -> list[Suspicion]:
        return [Suspicion(*row) for row in self._execute("SELECT one, other, said, verdict, why FROM suspicions")]

    def forget_pair(self, suspicion: Suspicion) -> None:
        self._execute("DELETE FROM suspicions WHERE one = ? AND other = ?", suspicion.one, suspicion.other)

    def forget(self, identity: str) -> None:
        self._execute("DELETE FROM suspicions WHERE one = ? OR other = ?", identity, identity)
