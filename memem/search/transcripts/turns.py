"""The index of what was said in sessions: a file of its own, with full text, and the excerpt a query found.

A turn that stands in several sessions, as in those that were forked or resumed, is kept once and has a place in each.
How far each session is read is kept in the same file: whoever drops it reads them all again.
"""

import re
import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from operator import itemgetter
from pathlib import Path
from typing import Any

from memem.core import sqlite
from memem.core.conversation import ReadSession
from memem.core.errors import IndexDamaged, IndexTooNew
from memem.core.sqlite import Migrations, among, snapshot, transaction
from memem.search import fulltext, words
from memem.search.fulltext import FullText, RowFilter, TextMatches
from memem.search.query import Term

MOST_TURNS = 100_000
"""About 3,000 sessions as real ones are, in about 125 MB; a search in them takes less than a tenth of a second."""
KEPT_SHARE = 0.95
"""How much is left when there were too many, so that room is not made for every turn anew."""

SESSIONS = sqlite.Purpose(
    "index of sessions", IndexDamaged, IndexTooNew, "Delete it: sessions that are still there are read again."
)
guarded = sqlite.guarding(SESSIONS)
_TEXT = FullText(("said",), (1.0,))


def _tables(connection: sqlite3.Connection) -> None:
    connection.execute(
        """CREATE TABLE sessions (session TEXT PRIMARY KEY, path TEXT NOT NULL, inode INTEGER NOT NULL,
           offset INTEGER NOT NULL, digest TEXT NOT NULL, whole INTEGER NOT NULL, size INTEGER NOT NULL,
           mtime INTEGER NOT NULL) WITHOUT ROWID"""
    )
    connection.execute(
        """CREATE TABLE turns (row INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, role TEXT NOT NULL,
           time TEXT NOT NULL, project TEXT NOT NULL, text TEXT NOT NULL)"""
    )
    connection.execute(
        """CREATE TABLE places (number INTEGER PRIMARY KEY, session TEXT NOT NULL, row INTEGER NOT NULL,
           moment REAL NOT NULL, position INTEGER NOT NULL, UNIQUE (session, row))"""
    )
    connection.execute("CREATE INDEX places_by_row ON places (row)")
    connection.execute("CREATE INDEX places_in_order ON places (session, moment, position)")
    _TEXT.create(connection)


def _other_languages_anew(connection: sqlite3.Connection) -> None:
    """Words of other languages are folded further than they were; those of plain ASCII are as before."""
    other = connection.execute("SELECT row, text FROM turns WHERE length(CAST(text AS BLOB)) > length(text)").fetchall()
    for row, text in other:
        fulltext.remove(connection, row)
        _TEXT.insert(connection, row, [text])


MIGRATIONS: Migrations = (_tables, _other_languages_anew)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn as it is kept. In its session turns are in order of `moment`, in seconds, then of `position`."""

    uuid: str
    role: str
    time: str
    project: str
    text: str
    moment: float
    position: int


@dataclass(frozen=True, slots=True)
class Match:
    """A turn that may answer, with its BM25 and its neighbours in a session."""

    session: str
    path: str
    turn: Spoken
    bm25: float
    before: Spoken | None
    after: Spoken | None


class TurnIndex:
    """`turns.db`. Derived from the sessions, though it outlives them: Claude Code deletes its files after 30 days."""

    def __init__(self, path: Path, most: int = MOST_TURNS) -> None:
        self.path = path
        self._most = most
        # What a power failure takes is read again, as the cursor goes with it.
        self._connection = sqlite.connect(path, MIGRATIONS, SESSIONS, durable=False)

    def close(self) -> None:
        self._connection.close()

    @guarded
    def count(self) -> int:
        """How many turns can be found."""
        return fulltext.count(self._connection)

    @guarded
    def reading(self, session: str) -> ReadSession | None:
        query = f"SELECT {_READING} FROM sessions WHERE session = ?"  # noqa: S608 - fixed
        found = self._connection.execute(query, (session,)).fetchone()
        return _reading(found) if found else None

    @guarded
    def readings(self) -> dict[str, ReadSession]:
        """How far each session is read."""
        rows = self._connection.execute(f"SELECT {_READING} FROM sessions")  # noqa: S608 - fixed
        return {row[0]: _reading(row) for row in rows}

    @guarded
    def add(self, reading: ReadSession, turns: Iterable[Spoken] = ()) -> int:
        """Give turns their places in a session that is read so far, and keep those that are new; how many were.

        When that makes too many, the oldest sessions go.
        """
        new = 0
        with transaction(self._connection):
            self._connection.execute(f"INSERT OR REPLACE INTO sessions VALUES ({_MARKS})", astuple(reading))  # noqa: S608
            for turn in turns:
                row = self._row(turn.uuid)
                if row is None:
                    row, new = self._insert(turn), new + 1
                self._connection.execute(_PLACE, (reading.session, row, turn.moment, turn.position))
            if new:
                self._make_room()
        return new

    @guarded
    def search(self, query: str, limit: int, project: str | None = None) -> tuple[TextMatches, list[Match]]:
        """The best turns for any of the query's words, the later of equals first; and how rare those words are."""
        narrowed = RowFilter()
        if project is not None:
            narrowed = RowFilter("JOIN turns ON turns.row = words.rowid", " AND turns.project = ?", (project,))
        with snapshot(self._connection):
            answer = _TEXT.search(self._connection, query, limit, narrowed)
            matches = [self._match(row, score) for row, score in answer.scores.items()]
        matches.sort(key=lambda match: (-match.bm25, -match.turn.moment))
        return answer, matches[:limit]

    @guarded
    def holding(self, texts: Sequence[str], session: str) -> dict[str, str]:
        """The turns, by their uuids, that hold one of these texts as it is, and all those of a session."""
        found = dict[str, str]()
        for text in texts:
            found.update(self._connection.execute("SELECT uuid, text FROM turns WHERE instr(text, ?)", (text,)))
        query = "SELECT uuid, text FROM turns JOIN places USING (row) WHERE session = ?"
        found.update(self._connection.execute(query, (session,)))
        return found

    @guarded
    def remove(self, uuids: Iterable[str]) -> int:
        """Drop turns; how many there were. Their sessions count as read all the same."""
        with transaction(self._connection):
            rows = [row for uuid in uuids if (row := self._row(uuid)) is not None]
            for row in rows:
                fulltext.remove(self._connection, row)
                self._connection.execute("DELETE FROM places WHERE row = ?", (row,))
                self._connection.execute("DELETE FROM turns WHERE row = ?", (row,))
        return len(rows)

    def _row(self, uuid: str) -> int | None:
        found = self._connection.execute("SELECT row FROM turns WHERE uuid = ?", (uuid,)).fetchone()
        return int(found[0]) if found else None

    def _insert(self, turn: Spoken) -> int:
        values = (turn.uuid, turn.role, turn.time, turn.project, turn.text)
        statement = "INSERT INTO turns (uuid, role, time, project, text) VALUES (?, ?, ?, ?, ?)"
        row = int(self._connection.execute(statement, values).lastrowid or 0)
        _TEXT.insert(self._connection, row, (turn.text,))
        return row

    def _match(self, row: int, score: float) -> Match:
        """A turn in the session that it was first met in."""
        query = f"""SELECT session, path, {_SPOKEN} FROM places JOIN turns USING (row) JOIN sessions USING (session)
            WHERE row = ? ORDER BY number LIMIT 1"""  # noqa: S608 - fixed texts
        session, path, *columns = self._connection.execute(query, (row,)).fetchone()
        turn = Spoken(*columns)
        return Match(session, path, turn, score, self._beside(session, turn, -1), self._beside(session, turn, 1))

    def _beside(self, session: str, turn: Spoken, way: int) -> Spoken | None:
        than, order = ("<", "DESC") if way < 0 else (">", "ASC")
        query = f"""SELECT {_SPOKEN} FROM places JOIN turns USING (row)
            WHERE session = ? AND (moment, position) {than} (?, ?)
            ORDER BY moment {order}, position {order} LIMIT 1"""  # noqa: S608 - fixed texts
        found = self._connection.execute(query, (session, turn.moment, turn.position)).fetchone()
        return Spoken(*found) if found else None

    def _make_room(self) -> None:
        """Drop the sessions that ended first, but for the last one. Their cursors stay: nobody adds them again."""
        left = self.count()
        if left <= self._most:
            return
        ended = "SELECT session FROM places GROUP BY session ORDER BY max(moment), session"
        *older, _ = [session for (session,) in self._connection.execute(ended)]
        for session in older:
            if left <= self._most * KEPT_SHARE:
                return
            left -= self._drop(session)

    def _drop(self, session: str) -> int:
        """Take a session's places away, and the turns that have no other; how many those were."""
        other = "SELECT 1 FROM places AS other WHERE other.row = places.row AND other.session <> places.session"
        alone = f"SELECT row FROM places WHERE session = ? AND NOT EXISTS ({other})"  # noqa: S608 - fixed texts
        rows = [row for (row,) in self._connection.execute(alone, (session,))]
        self._connection.execute("DELETE FROM places WHERE session = ?", (session,))
        for marks, some in among(rows):
            self._connection.execute(f"DELETE FROM words WHERE rowid IN ({marks})", some)  # noqa: S608 - marks only
            self._connection.execute(f"DELETE FROM turns WHERE row IN ({marks})", some)  # noqa: S608 - marks only
        return len(rows)


_READING = ", ".join(field.name for field in fields(ReadSession))
_MARKS = ", ".join("?" for _ in fields(ReadSession))
_SPOKEN = ", ".join(field.name for field in fields(Spoken))
_PLACE = """INSERT INTO places (session, row, moment, position) VALUES (?, ?, ?, ?)
    ON CONFLICT (session, row) DO UPDATE SET moment = excluded.moment, position = excluded.position"""


def _reading(row: Sequence[Any]) -> ReadSession:
    session, path, inode, offset, digest, whole, size, mtime = row
    return ReadSession(session, path, inode, offset, digest, bool(whole), size, mtime)


LEAD = 120
"""How much of what stands before the first word asked for is shown with it."""
CUT = "…"


def excerpt(text: str, weights: Mapping[Term, float], length: int) -> str:
    """As much of a text as `length` allows, from where most of what was asked for stands together."""
    text = text.strip()
    if len(text) <= length:
        return text
    start = _richest(_places(text, weights), weights, length - LEAD)
    return _between(text, max(0, min(start - LEAD, len(text) - length)), length)


def beginning(text: str, length: int) -> str:
    """A text in one line, as far as `length` allows."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - len(CUT)].rstrip() + CUT


def _places(text: str, terms: Iterable[Term]) -> list[tuple[int, Term]]:
    """Where the terms stand, about, in order: a word counts for every other one that begins like it."""
    folded = _folded(text)
    found = [(match.start(), term) for term in terms for match in re.finditer(_beginning(term.text), folded)]
    return sorted(found, key=itemgetter(0))


def _richest(places: list[tuple[int, Term]], weights: Mapping[Term, float], span: int) -> int:
    """The first place behind which most, by weight, of what was asked for stands within a span."""
    best, most = 0, 0.0
    for number, (start, _) in enumerate(places):
        end = bisect_left(places, start + span, key=itemgetter(0))
        worth = sum(weights[term] for term in {term for _, term in places[number:end]})
        if worth > most:
            best, most = start, worth
    return best


def _beginning(word: str) -> str:
    """What a word has in common with its other forms, as a pattern: `restart`, `restarted`, `restarting`."""
    stem = word[: max(4, len(word) - 3)] if word.isalpha() and word.isascii() else word
    return (r"(?<![a-z0-9])" if stem[0].isascii() else "") + re.escape(stem)


def _folded(text: str) -> str:
    """Folded like the words of the index, each character in its place."""
    folded = words.fold(text)
    return folded if len(folded) == len(text) else "".join(words.fold(each)[:1] or " " for each in text)


def _between(text: str, start: int, length: int) -> str:
    """A part of a text between two spaces, where there are some, with marks where something is left out."""
    part = text[start : start + length]
    cut_before, cut_behind = start > 0, start + length < len(text)
    if cut_before:
        part = CUT + (re.sub(r"\A\S{0,40}\s+", "", part) or part)
    if cut_behind:
        part = (re.sub(r"\s+\S{0,40}\Z", "", part) or part) + CUT
    return part
