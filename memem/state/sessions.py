"""Sessions to be mined: marks of those with something new, how far each is mined, and small ones that wait."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Self

from memem.core import files
from memem.core.conversation import Chunk, ReadSession, list_turn_ids
from memem.state.tables import MAX_PAUSE_SECONDS, Table


@dataclass(frozen=True, slots=True)
class Mark:
    """A session to be mined."""

    session: str
    path: str
    flush: bool = False  # also mine a tail that would otherwise wait for more
    expected: str = ""  # the fingerprint of an answer that may not have been written to the file yet


class Queue(Table):
    """The marks. Each stays until the process that holds the session's lock takes it."""

    TABLES = (
        """CREATE TABLE queue (session TEXT PRIMARY KEY, path TEXT NOT NULL, flush INTEGER NOT NULL,
           expected TEXT NOT NULL, marked REAL NOT NULL)""",
    )

    def mark(self, mark: Mark, now: float) -> None:
        """Add a mark; `flush` and `expected` of an earlier one still count."""
        statement = """INSERT INTO queue VALUES (?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET
            path = excluded.path, flush = max(flush, excluded.flush), marked = excluded.marked,
            expected = CASE excluded.expected WHEN '' THEN expected ELSE excluded.expected END"""
        self._execute(statement, *astuple(mark), now)

    def take(self, session: str) -> Mark | None:
        """Remove a mark before the session is read; turns written later mark it again."""
        statement = "DELETE FROM queue WHERE session = ? RETURNING session, path, flush, expected"
        return next(iter(self._read(statement, session)), None)

    def marks(self) -> list[Mark]:
        return self._read("SELECT session, path, flush, expected FROM queue ORDER BY marked, rowid")

    def due(self, now: float, marked_since: float = 0.0) -> list[Mark]:
        """Marks of sessions that do not wait after a failure, oldest first."""
        query = """SELECT session, path, flush, expected FROM queue WHERE marked >= ? AND session NOT IN
            (SELECT session FROM sessions WHERE not_before > ? AND not_before <= ?) ORDER BY marked, rowid"""
        return self._read(query, marked_since, now, now + MAX_PAUSE_SECONDS)

    def _read(self, query: str, *values: object) -> list[Mark]:
        rows = self._execute(query, *values)
        return [Mark(session, path, bool(flush), expected) for session, path, flush, expected in rows]


@dataclass(frozen=True, slots=True)
class SessionRecord(ReadSession):
    """Mining's record of a session file: the table's columns. Not `whole`: turns that may not be mined were skipped."""

    own: bool = False  # the transcript of one of memem's model calls, made at `mtime`; never mined
    failures: int = 0
    not_before: float = 0.0
    outcome: str = ""
    detail: str = ""
    mined: str = ""  # when, as ISO

    def with_outcome(self, outcome: str, detail: str, mined: str) -> Self:
        return replace(self, outcome=outcome, detail=detail, mined=mined)


class Sessions(Table):
    """Sessions, their turns, and the memories that Claude was shown in them."""

    TABLES = (
        """CREATE TABLE sessions (session TEXT PRIMARY KEY, path TEXT NOT NULL, inode INTEGER NOT NULL,
           offset INTEGER NOT NULL, digest TEXT NOT NULL, whole INTEGER NOT NULL, size INTEGER NOT NULL,
           mtime INTEGER NOT NULL, own INTEGER NOT NULL, failures INTEGER NOT NULL, not_before REAL NOT NULL,
           outcome TEXT NOT NULL, detail TEXT NOT NULL, mined TEXT NOT NULL) WITHOUT ROWID""",
        # These decide, a cursor is a fast path. Until it is mined, a turn belongs to the session that claimed it.
        """CREATE TABLE turns (uuid TEXT PRIMARY KEY, session TEXT NOT NULL, mined INTEGER NOT NULL DEFAULT 0)
           WITHOUT ROWID""",
        "CREATE TABLE injected (session TEXT, id TEXT, PRIMARY KEY (session, id)) WITHOUT ROWID",
    )

    def get(self, session: str) -> SessionRecord | None:
        return next(iter(self._read("SELECT * FROM sessions WHERE session = ?", session)), None)

    def put(self, session: SessionRecord) -> None:
        statement = "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._execute(statement, *astuple(session))

    def put_own(self, session: str, path: str, now: float) -> None:
        """Record one of memem's own calls, in case the CLI stores it as a session."""
        self.put(SessionRecord(session, path, own=True, mtime=int(now * 1e9)))

    def prune(self, before: float, mined_before: str) -> None:
        """Drop old calls of memem's own, and the memories shown in sessions last mined before a date."""
        with self.transaction():
            self._execute("DELETE FROM sessions WHERE own AND mtime < ?", int(before * 1e9))
            statement = """DELETE FROM injected WHERE session IN
                (SELECT session FROM sessions WHERE mined <> '' AND mined < ?)"""
            self._execute(statement, mined_before)

    def outcomes(self) -> dict[str, tuple[str, str]]:
        """The outcome and detail of every session that was read."""
        rows = self._execute("SELECT session, outcome, detail FROM sessions WHERE NOT own")
        return {session: (outcome, detail) for session, outcome, detail in rows}

    def last(self, most: int) -> list[SessionRecord]:
        return self._read("SELECT * FROM sessions WHERE mined <> '' ORDER BY mined DESC, session LIMIT ?", most)

    def waiting(self, now: float) -> int:
        query = "SELECT count(*) FROM sessions WHERE failures > 0 AND not_before > ? AND not_before <= ?"
        return int(self._fetch_one(query, now, now + MAX_PAUSE_SECONDS)[0])

    def is_taken(self, uuid: str, session: str) -> bool:
        """Whether a turn is mined, or claimed by another session that still has its file."""
        query = "SELECT turns.session, turns.mined, path FROM turns LEFT JOIN sessions USING (session) WHERE uuid = ?"
        owner, mined, path = self._fetch_one(query, uuid) or (session, False, "")
        return bool(mined) or (owner != session and bool(path) and Path(path).exists())

    def is_mined(self, uuid: str) -> bool:
        return bool(self._execute("SELECT 1 FROM turns WHERE uuid = ? AND mined", uuid))

    def claim(self, uuids: Sequence[str], session: str) -> frozenset[str]:
        """Claim turns, so that no other session mines them; return those that are claimed now."""
        with self.transaction():
            claimed = [uuid for uuid in uuids if not self.is_taken(uuid, session)]
            self._execute_many("INSERT OR REPLACE INTO turns VALUES (?, ?, 0)", [(uuid, session) for uuid in claimed])
        return frozenset(claimed)

    def release(self, uuids: Iterable[str], session: str) -> None:
        """Give up claims on turns that could not be mined, so that another session can try."""
        statement = "DELETE FROM turns WHERE uuid = ? AND session = ? AND NOT mined"
        self._execute_many(statement, [(uuid, session) for uuid in uuids])

    def move_cursor(self, chunk: Chunk, outcome: str, detail: str, mined: str) -> None:
        """Mark the turns of a chunk as mined and move its session's cursor behind them."""
        self.finish(list_turn_ids(chunk.turns), chunk.session)
        session = self.get(chunk.session) or SessionRecord(chunk.session, chunk.path)
        moved = session.placed(chunk.cursor).with_outcome(outcome, detail, mined)
        self.put(replace(moved, failures=0, not_before=0.0))

    def finish(self, uuids: Iterable[str], session: str) -> None:
        self._execute_many("INSERT OR REPLACE INTO turns VALUES (?, ?, 1)", [(uuid, session) for uuid in uuids])

    def add_injected(self, session: str, ids: Iterable[str]) -> None:
        self._execute_many("INSERT OR IGNORE INTO injected VALUES (?, ?)", [(session, each) for each in ids])

    def injected(self, session: str) -> frozenset[str]:
        """The first characters of the ids of memories that Claude was shown in a session."""
        return frozenset(
            identity for (identity,) in self._execute("SELECT id FROM injected WHERE session = ?", session)
        )

    def _read(self, query: str, *values: object) -> list[SessionRecord]:
        records = [SessionRecord(*row) for row in self._execute(query, *values)]
        return [replace(record, whole=bool(record.whole), own=bool(record.own)) for record in records]


@dataclass(frozen=True, slots=True)
class SmallSession:
    """A session whose unmined tail is too small for a call of its own."""

    session: str
    path: str
    project: str
    characters: int
    size: int  # of the file when it was read
    mtime: int
    since: float  # when it was first deferred
    failures: int = 0  # failed calls about it


_COLUMNS = "session, small_sessions.path, project, characters, small_sessions.size, small_sessions.mtime, since"


class DeferredSessions(Table):
    """Small sessions until they are packed, and sessions with skipped SDK turns until those may be mined."""

    TABLES = (
        """CREATE TABLE small_sessions (session TEXT PRIMARY KEY, path TEXT NOT NULL, project TEXT NOT NULL,
           characters INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL, since REAL NOT NULL)
           WITHOUT ROWID""",
        "CREATE TABLE sdk_sessions (session TEXT PRIMARY KEY) WITHOUT ROWID",
    )

    def add_small(self, small: SmallSession) -> None:
        """Defer a session. One that is deferred already keeps its `since`."""
        statement = """INSERT INTO small_sessions VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET
            path = excluded.path, project = excluded.project, characters = excluded.characters,
            size = excluded.size, mtime = excluded.mtime"""
        self._execute(statement, *astuple(small)[:-1])

    def small(self, due: float | None = None) -> list[SmallSession]:
        """Every small session, oldest first; or those that do not wait after a failure at the time `due`."""
        query = f"""SELECT {_COLUMNS}, ifnull(failures, 0) FROM small_sessions LEFT JOIN sessions USING (session)
            WHERE ? IS NULL OR NOT (ifnull(not_before, 0) > ? AND not_before <= ?) ORDER BY since, session"""  # noqa: S608 - fixed
        latest = None if due is None else due + MAX_PAUSE_SECONDS
        return [SmallSession(*row) for row in self._execute(query, due, due, latest)]

    def remove_small(self, session: str) -> None:
        self._execute("DELETE FROM small_sessions WHERE session = ?", session)

    def add_sdk(self, session: str) -> None:
        self._execute("INSERT OR IGNORE INTO sdk_sessions VALUES (?)", session)

    def has_sdk(self, session: str) -> bool:
        """Whether turns of a session were skipped because no person was present."""
        return bool(self._execute("SELECT 1 FROM sdk_sessions WHERE session = ?", session))

    def remove_sdk(self, session: str) -> None:
        self._execute("DELETE FROM sdk_sessions WHERE session = ?", session)

    def prune(self) -> None:
        """Drop sessions whose transcripts are gone."""
        with self.transaction():
            for session, path in self._execute("SELECT session, path FROM small_sessions"):
                if files.identity(Path(path)) is None:
                    self.remove_small(session)
            sdk = "SELECT session, path FROM sdk_sessions LEFT JOIN sessions USING (session)"
            for session, path in self._execute(sdk):
                if not path or files.identity(Path(path)) is None:
                    self.remove_sdk(session)
