"""How far each session is mined, and which turns are. The cursor is a fast path; the set of mined turns decides."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Self

from memem.core.conversation import Chunk, ReadSession
from memem.state.tables import MAX_PAUSE_SECONDS, Table


@dataclass(frozen=True, slots=True)
class SessionRecord(ReadSession):
    """Mining's record of a session file. The fields, in order, are the columns of the table.

    Not `whole`: turns from before the opt-in, or in a project that refuses, were skipped.
    """

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
        # Until it is mined, a turn belongs to the session that claimed it.
        """CREATE TABLE turns (uuid TEXT PRIMARY KEY, session TEXT NOT NULL, mined INTEGER NOT NULL DEFAULT 0)
           WITHOUT ROWID""",
        "CREATE TABLE injected (session TEXT, id TEXT, PRIMARY KEY (session, id)) WITHOUT ROWID",
    )

    def get(self, session: str) -> SessionRecord | None:
        row = self._fetch_one("SELECT * FROM sessions WHERE session = ?", (session,))
        return _session(row) if row else None

    def put(self, session: SessionRecord) -> None:
        statement = "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._execute(statement, astuple(session))

    def put_own(self, session: str, path: str, now: float) -> None:
        """Record one of memem's own calls, in case the CLI stores it as a session."""
        self.put(SessionRecord(session, path, own=True, mtime=int(now * 1e9)))

    def prune(self, before: float, mined_before: str) -> None:
        """Drop old calls of memem's own, and the memories shown in sessions last mined before a date."""
        with self._transaction():
            self._execute("DELETE FROM sessions WHERE own AND mtime < ?", (int(before * 1e9),))
            statement = """DELETE FROM injected WHERE session IN
                (SELECT session FROM sessions WHERE mined <> '' AND mined < ?)"""
            self._execute(statement, (mined_before,))

    def last(self, most: int) -> list[SessionRecord]:
        """Sessions that were mined or tried, newest first."""
        query = "SELECT * FROM sessions WHERE mined <> '' ORDER BY mined DESC, session LIMIT ?"
        return [_session(row) for row in self._fetch_all(query, (most,))]

    def waiting(self, now: float) -> int:
        """Count sessions that wait after a failure."""
        query = "SELECT count(*) FROM sessions WHERE failures > 0 AND not_before > ? AND not_before <= ?"
        return int(self._fetch_one(query, (now, now + MAX_PAUSE_SECONDS))[0])

    def is_taken(self, uuid: str, session: str) -> bool:
        """Whether a turn is mined, or claimed by another session that still has its file."""
        query = "SELECT turns.session, turns.mined, path FROM turns LEFT JOIN sessions USING (session) WHERE uuid = ?"
        row = self._fetch_one(query, (uuid,))
        if not row:
            return False
        owner, mined, path = row
        return bool(mined) or (owner != session and bool(path) and Path(path).exists())

    def is_mined(self, uuid: str) -> bool:
        query = "SELECT 1 FROM turns WHERE uuid = ? AND mined"
        return self._fetch_one(query, (uuid,)) is not None

    def claim(self, uuids: Sequence[str], session: str) -> frozenset[str]:
        """Claim turns, so that no other session mines them; return those that are claimed now."""
        with self._transaction():
            claimed = [uuid for uuid in uuids if not self.is_taken(uuid, session)]
            self._execute_many("INSERT OR REPLACE INTO turns VALUES (?, ?, 0)", [(uuid, session) for uuid in claimed])
        return frozenset(claimed)

    def release(self, uuids: Iterable[str], session: str) -> None:
        """Give up claims on turns that could not be mined, so that another session can try."""
        self._execute_many(
            "DELETE FROM turns WHERE uuid = ? AND session = ? AND NOT mined", [(uuid, session) for uuid in uuids]
        )

    def move_cursor(self, chunk: Chunk, outcome: str, detail: str, mined: str) -> None:
        """Mark the turns of a chunk as mined and move its session's cursor behind them."""
        self.finish([turn.uuid for turn in chunk.turns], chunk.session)
        session = self.get(chunk.session) or SessionRecord(chunk.session, chunk.path)
        moved = session.placed(chunk.cursor).with_outcome(outcome, detail, mined)
        self.put(replace(moved, failures=0, not_before=0.0))

    def finish(self, uuids: Iterable[str], session: str) -> None:
        self._execute_many("INSERT OR REPLACE INTO turns VALUES (?, ?, 1)", [(uuid, session) for uuid in uuids])

    def add_injected(self, session: str, ids: Iterable[str]) -> None:
        self._execute_many("INSERT OR IGNORE INTO injected VALUES (?, ?)", [(session, each) for each in ids])

    def injected(self, session: str) -> frozenset[str]:
        """The first characters of the ids of memories that Claude was shown in a session."""
        rows = self._fetch_all("SELECT id FROM injected WHERE session = ?", (session,))
        return frozenset(identity for (identity,) in rows)


def _session(row: Sequence[object]) -> SessionRecord:
    session = SessionRecord(*row)  # type: ignore[arg-type]
    return replace(session, whole=bool(session.whole), own=bool(session.own))
