"""Answers on their way into the vault: written down before they are applied, so that a crash applies, not asks, again.

A dead letter is a chunk that failed too often: its turns count as mined, and it waits here to be tried again.
"""

import json
from dataclasses import dataclass
from typing import Any

from memem.core import sqlite
from memem.state.tables import Table, guarded

ANSWERED, DEAD = "answered", "dead"
MAX_DEAD_LETTERS = 500
"""So many dead letters are kept, each of some turns: one that has failed for weeks, and that nobody has tried again,
makes room."""


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """A chunk as it was sent, with the answer, or with the reason why there is none."""

    number: int
    session: str
    state: str
    chunk: dict[str, Any]
    answer: list[dict[str, Any]]
    reason: str
    time: str


class Journal(Table):
    """What is not finished."""

    TABLES = (
        """CREATE TABLE journal (number INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, state TEXT NOT NULL,
           chunk TEXT NOT NULL, answer TEXT NOT NULL, reason TEXT NOT NULL, time TEXT NOT NULL)""",
        "CREATE INDEX journal_by_session ON journal (session, state)",
    )

    @guarded
    def add_answer(self, session: str, chunk: dict[str, Any], answer: list[dict[str, Any]], time: str) -> JournalRecord:
        """Keep an answer."""
        return self._add(session, ANSWERED, chunk, answer, "", time)

    @guarded
    def add_dead_letter(self, session: str, chunk: dict[str, Any], reason: str, time: str) -> JournalRecord:
        """Keep a dead letter, in the place of the oldest one when there are too many."""
        buried = self._add(session, DEAD, chunk, [], reason, time)
        newest = "SELECT number FROM journal WHERE state = ? ORDER BY number DESC LIMIT ?"
        drop = f"DELETE FROM journal WHERE state = ? AND number NOT IN ({newest})"  # noqa: S608 - fixed
        self._connection.execute(drop, (DEAD, DEAD, MAX_DEAD_LETTERS))
        return buried

    @guarded
    def answer_dead_letter(self, number: int, chunk: dict[str, Any], answer: list[dict[str, Any]]) -> None:
        """A dead letter that has its answer now."""
        statement = "UPDATE journal SET state = ?, chunk = ?, answer = ?, reason = '' WHERE number = ?"
        self._connection.execute(statement, (ANSWERED, json.dumps(chunk), json.dumps(answer), number))

    @guarded
    def finish(self, number: int) -> None:
        """Applied: nothing of it is needed any more."""
        self._connection.execute("DELETE FROM journal WHERE number = ?", (number,))

    @guarded
    def unapplied(self, session: str) -> list[JournalRecord]:
        """A session's answers that are not applied, or not known to be."""
        return self._records("session = ? AND state = ?", (session, ANSWERED))

    @guarded
    def sessions(self) -> list[str]:
        """The sessions that have such answers."""
        query = "SELECT DISTINCT session FROM journal WHERE state = ? ORDER BY session"
        return [session for (session,) in self._connection.execute(query, (ANSWERED,))]

    @guarded
    def dead_letters(self) -> list[JournalRecord]:
        return self._records("state = ?", (DEAD,))

    @guarded
    def records(self) -> list[JournalRecord]:
        return self._records("1", ())

    @guarded
    def rewrite(self, number: int, chunk: dict[str, Any], answer: list[dict[str, Any]]) -> None:
        """The same record, without what is not to be known any more."""
        changed = (json.dumps(chunk), json.dumps(answer), number)
        self._connection.execute("UPDATE journal SET chunk = ?, answer = ? WHERE number = ?", changed)

    def _add(
        self, session: str, state: str, chunk: dict[str, Any], answer: list[dict[str, Any]], reason: str, time: str
    ) -> JournalRecord:
        added = self._connection.execute(
            "INSERT INTO journal (session, state, chunk, answer, reason, time) VALUES (?, ?, ?, ?, ?, ?)",
            (session, state, json.dumps(chunk), json.dumps(answer), reason, time),
        )
        return JournalRecord(int(added.lastrowid or 0), session, state, chunk, answer, reason, time)

    def _records(self, where: str, values: tuple[str, ...]) -> list[JournalRecord]:
        query = f"SELECT * FROM journal WHERE {where} ORDER BY number"  # noqa: S608 - fixed conditions
        return [
            JournalRecord(number, session, state, sqlite.stored(chunk, dict), sqlite.stored(answer, list), reason, time)
            for number, session, state, chunk, answer, reason, time in self._connection.execute(query, values)
        ]
