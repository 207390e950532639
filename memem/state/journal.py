"""Model answers on their way into the vault: stored before they are applied, so that a crash does not ask again.

A dead letter is a chunk that failed too often. Its turns count as mined, and it waits here for a retry.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

from memem.core import sqlite
from memem.state.tables import Table

ANSWERED, DEAD = "answered", "dead"
MAX_DEAD_LETTERS = 500  # the oldest makes room


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """A chunk as it was sent, with the answer or the reason why there is none."""

    number: int
    session: str
    state: str
    chunk: dict[str, Any]
    answer: list[dict[str, Any]]
    reason: str
    time: str


class Journal(Table):
    """Answers that are not applied yet, and dead letters."""

    TABLES = (
        """CREATE TABLE journal (number INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, state TEXT NOT NULL,
           chunk TEXT NOT NULL, answer TEXT NOT NULL, reason TEXT NOT NULL, time TEXT NOT NULL)""",
        "CREATE INDEX journal_by_session ON journal (session, state)",
    )

    def add_answer(self, session: str, chunk: dict[str, Any], answer: list[dict[str, Any]], time: str) -> JournalRecord:
        return self._add(session, ANSWERED, chunk, answer, "", time)

    def add_dead_letter(self, session: str, chunk: dict[str, Any], reason: str, time: str) -> JournalRecord:
        record = self._add(session, DEAD, chunk, [], reason, time)
        statement = """DELETE FROM journal WHERE state = ? AND number NOT IN
            (SELECT number FROM journal WHERE state = ? ORDER BY number DESC LIMIT ?)"""
        self._execute(statement, (DEAD, DEAD, MAX_DEAD_LETTERS))
        return record

    def answer_dead_letter(self, number: int, chunk: dict[str, Any], answer: list[dict[str, Any]]) -> None:
        statement = "UPDATE journal SET state = ?, chunk = ?, answer = ?, reason = '' WHERE number = ?"
        self._execute(statement, (ANSWERED, json.dumps(chunk), json.dumps(answer), number))

    def finish(self, number: int) -> None:
        """Remove a record that has been applied."""
        self._execute("DELETE FROM journal WHERE number = ?", (number,))

    def unapplied(self, session: str) -> list[JournalRecord]:
        """A session's answers that may not have been applied."""
        return self._read("session = ? AND state = ?", (session, ANSWERED))

    def sessions(self) -> list[str]:
        """The sessions with unapplied answers."""
        query = "SELECT DISTINCT session FROM journal WHERE state = ? ORDER BY session"
        return [session for (session,) in self._fetch_all(query, (ANSWERED,))]

    def dead_letters(self) -> list[JournalRecord]:
        return self._read("state = ?", (DEAD,))

    def records(self) -> list[JournalRecord]:
        return self._read("1", ())

    def rewrite(self, number: int, chunk: dict[str, Any], answer: list[dict[str, Any]]) -> None:
        """Replace the texts of a record, for a purge."""
        values = (json.dumps(chunk), json.dumps(answer), number)
        self._execute("UPDATE journal SET chunk = ?, answer = ? WHERE number = ?", values)

    def _add(
        self, session: str, state: str, chunk: dict[str, Any], answer: list[dict[str, Any]], reason: str, time: str
    ) -> JournalRecord:
        row = self._execute(
            "INSERT INTO journal (session, state, chunk, answer, reason, time) VALUES (?, ?, ?, ?, ?, ?)",
            (session, state, json.dumps(chunk), json.dumps(answer), reason, time),
        )
        return JournalRecord(int(row.lastrowid or 0), session, state, chunk, answer, reason, time)

    def _read(self, where: str, values: tuple[str, ...]) -> list[JournalRecord]:
        query = f"SELECT * FROM journal WHERE {where} ORDER BY number"  # noqa: S608 - fixed conditions
        with self._translated():
            rows = [JournalRecord(*row) for row in self._connection.execute(query, values)]
            return [
                replace(row, chunk=sqlite.parse_column(row.chunk, dict), answer=sqlite.parse_column(row.answer, list))
                for row in rows
            ]
