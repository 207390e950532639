"""Model answers on their way into the vault, so that a crash does not ask again; and chunks that failed too often."""

import json
from dataclasses import dataclass, replace
from typing import Any

from memem.core import sqlite
from memem.state.tables import Table

ANSWERED, DEAD = "answered", "dead"  # the turns of a dead letter count as mined; it waits for a retry
Json = dict[str, Any]
MAX_DEAD_LETTERS = 500  # the oldest makes room


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """A chunk as it was sent, with the answer or the reason why there is none."""

    number: int
    session: str
    state: str
    chunk: Json
    answer: list[Json]
    reason: str
    time: str


class Journal(Table):
    """Answers that are not applied yet, and dead letters."""

    TABLES = (
        """CREATE TABLE journal (number INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, state TEXT NOT NULL,
           chunk TEXT NOT NULL, answer TEXT NOT NULL, reason TEXT NOT NULL, time TEXT NOT NULL)""",
        "CREATE INDEX journal_by_session ON journal (session, state)",
    )

    def add_answer(self, session: str, chunk: Json, answer: list[Json], time: str) -> JournalRecord:
        return self._add(session, ANSWERED, chunk, answer, "", time)

    def add_dead_letter(self, session: str, chunk: Json, reason: str, time: str) -> JournalRecord:
        record = self._add(session, DEAD, chunk, [], reason, time)
        statement = """DELETE FROM journal WHERE state = ? AND number NOT IN
            (SELECT number FROM journal WHERE state = ? ORDER BY number DESC LIMIT ?)"""
        self._execute(statement, DEAD, DEAD, MAX_DEAD_LETTERS)
        return record

    def _add(self, session: str, state: str, chunk: Json, answer: list[Json], reason: str, time: str) -> JournalRecord:
        statement = """INSERT INTO journal (session, state, chunk, answer, reason, time) VALUES (?, ?, ?, ?, ?, ?)"""
        number = self._insert(statement, session, state, json.dumps(chunk), json.dumps(answer), reason, time)
        return JournalRecord(number, session, state, chunk, answer, reason, time)

    def answer_dead_letter(self, number: int, chunk: Json, answer: list[Json]) -> None:
        statement = "UPDATE journal SET state = ?, chunk = ?, answer = ?, reason = '' WHERE number = ?"
        self._execute(statement, ANSWERED, json.dumps(chunk), json.dumps(answer), number)

    def finish(self, number: int) -> None:
        self._execute("DELETE FROM journal WHERE number = ?", number)

    def unapplied(self, session: str) -> list[JournalRecord]:
        return self._read("session = ? AND state = ?", session, ANSWERED)

    def sessions(self) -> list[str]:
        query = "SELECT DISTINCT session FROM journal WHERE state = ? ORDER BY session"
        return [session for (session,) in self._execute(query, ANSWERED)]

    def dead_letters(self) -> list[JournalRecord]:
        return self._read("state = ?", DEAD)

    def records(self) -> list[JournalRecord]:
        return self._read("1")

    def rewrite(self, number: int, chunk: Json, answer: list[Json]) -> None:
        """Replace the texts of a record, for a purge."""
        statement = "UPDATE journal SET chunk = ?, answer = ? WHERE number = ?"
        self._execute(statement, json.dumps(chunk), json.dumps(answer), number)

    def _read(self, where: str, *values: str) -> list[JournalRecord]:
        query = f"SELECT * FROM journal WHERE {where} ORDER BY number"  # noqa: S608 - fixed conditions
        rows = [JournalRecord(*row) for row in self._execute(query, *values)]
        with sqlite.translated(self.path, self.PURPOSE):
            return [
                replace(row, chunk=sqlite.parse_column(row.chunk, dict), answer=sqlite.parse_column(row.answer, list))
                for row in rows
            ]
