"""How far each session is mined, and which turns are: the cursor is a fast path, the turns are the truth."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Self

from memem.core import sqlite
from memem.core.conversation import Chunk, ReadSession
from memem.state.tables import MAX_PAUSE_SECONDS, Table, guarded


@dataclass(frozen=True, slots=True)
class SessionRecord(ReadSession):
    """What mining knows of a session file.

    Not `whole`: what was said before the opt-in, or in a project that refuses, was passed over. `own`: it is a call of
    ours, made at `mtime`, and never mined.
    """

    own: bool = False
    failures: int = 0
    not_before: float = 0.0
    outcome: str = ""
    detail: str = ""
    mined: str = ""  # when, as ISO

    def with_outcome(self, outcome: str, detail: str, mined: str) -> Self:
        """With what came of mining it, and when."""
        return replace(self, outcome=outcome, detail=detail, mined=mined)


_COLUMNS = ", ".join(field.name for field in fields(SessionRecord))
_MARKS = ", ".join("?" for _ in fields(SessionRecord))


class Sessions(Table):
    """Sessions, their turns, and the memories that were put before Claude in them."""

    TABLES = (
        """CREATE TABLE sessions (session TEXT PRIMARY KEY, path TEXT NOT NULL, inode INTEGER NOT NULL,
           offset INTEGER NOT NULL, digest TEXT NOT NULL, whole INTEGER NOT NULL, size INTEGER NOT NULL,
           mtime INTEGER NOT NULL, own INTEGER NOT NULL, failures INTEGER NOT NULL, not_before REAL NOT NULL,
           outcome TEXT NOT NULL, detail TEXT NOT NULL, mined TEXT NOT NULL) WITHOUT ROWID""",
        # A turn belongs to the session that is asking about it; once it is mined it is known to all.
        """CREATE TABLE turns (uuid TEXT PRIMARY KEY, session TEXT NOT NULL, mined INTEGER NOT NULL DEFAULT 0)
           WITHOUT ROWID""",
        "CREATE TABLE injected (session TEXT, id TEXT, PRIMARY KEY (session, id)) WITHOUT ROWID",
    )

    @guarded
    def get(self, session: str) -> SessionRecord | None:
        query = f"SELECT {_COLUMNS} FROM sessions WHERE session = ?"  # noqa: S608 - fixed
        found = self._connection.execute(query, (session,)).fetchone()
        return _session(found) if found else None

    @guarded
    def put(self, session: SessionRecord) -> None:
        values = tuple(getattr(session, field.name) for field in fields(session))
        self._connection.execute(f"INSERT OR REPLACE INTO sessions VALUES ({_MARKS})", values)  # noqa: S608 - fixed

    @guarded
    def put_own(self, session: str, path: str, now: float) -> None:
        """Note a call of ours, should the CLI keep it as a session, or have kept it."""
        self.put(SessionRecord(session, path, own=True, mtime=int(now * 1e9)))

    @guarded
    def prune(self, before: float, mined_before: str) -> None:
        """Drop calls of ours from before a moment, and what was shown in sessions that were last mined before it."""
        with sqlite.transaction(self._connection):
            self._connection.execute("DELETE FROM sessions WHERE own AND mtime < ?", (int(before * 1e9),))
            old = "SELECT session FROM sessions WHERE mined <> '' AND mined < ?"
            self._connection.execute(f"DELETE FROM injected WHERE session IN ({old})", (mined_before,))  # noqa: S608

    @guarded
    def last(self, most: int) -> list[SessionRecord]:
        """Those that were mined or tried last."""
        query = f"SELECT {_COLUMNS} FROM sessions WHERE mined <> '' ORDER BY mined DESC, session LIMIT ?"  # noqa: S608
        return [_session(row) for row in self._connection.execute(query, (most,))]

    @guarded
    def waiting(self, now: float) -> int:
        """How many sessions wait after a failure."""
        query = "SELECT count(*) FROM sessions WHERE failures > 0 AND not_before > ? AND not_before <= ?"
        return int(self._connection.execute(query, (now, now + MAX_PAUSE_SECONDS)).fetchone()[0])

    @guarded
    def is_taken(self, uuid: str, session: str) -> bool:
        """Whether a turn is mined, or is another session's to mine: one that still has its file."""
        query = "SELECT turns.session, turns.mined, path FROM turns LEFT JOIN sessions USING (session) WHERE uuid = ?"
        found = self._connection.execute(query, (uuid,)).fetchone()
        if not found:
            return False
        owner, mined, path = found
        return bool(mined) or (owner != session and bool(path) and Path(path).exists())

    @guarded
    def is_mined(self, uuid: str) -> bool:
        """Whether a turn is mined, by whomever."""
        query = "SELECT 1 FROM turns WHERE uuid = ? AND mined"
        return self._connection.execute(query, (uuid,)).fetchone() is not None

    @guarded
    def claim(self, uuids: Sequence[str], session: str) -> frozenset[str]:
        """Take turns over, so that no other session mines them too; returns those that are ours now."""
        with sqlite.transaction(self._connection):
            ours = [uuid for uuid in uuids if not self.is_taken(uuid, session)]
            self._connection.executemany(
                "INSERT OR REPLACE INTO turns VALUES (?, ?, 0)", [(uuid, session) for uuid in ours]
            )
        return frozenset(ours)

    @guarded
    def release(self, uuids: Iterable[str], session: str) -> None:
        """Give up turns that were taken over and could not be mined: another session may have better luck."""
        self._connection.executemany(
            "DELETE FROM turns WHERE uuid = ? AND session = ? AND NOT mined", [(uuid, session) for uuid in uuids]
        )

    def move_cursor(self, chunk: Chunk, outcome: str, detail: str, mined: str) -> None:
        """Mark the turns of a chunk as mined and move its session's cursor behind them."""
        self.finish([turn.uuid for turn in chunk.turns], chunk.session)
        known = self.get(chunk.session) or SessionRecord(chunk.session, chunk.path)
        moved = known.placed(chunk.cursor).with_outcome(outcome, detail, mined)
        self.put(replace(moved, failures=0, not_before=0.0))

    @guarded
    def finish(self, uuids: Iterable[str], session: str) -> None:
        """These turns are mined, for good."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO turns VALUES (?, ?, 1)", [(uuid, session) for uuid in uuids]
        )

    @guarded
    def add_injected(self, session: str, ids: Iterable[str]) -> None:
        self._connection.executemany("INSERT OR IGNORE INTO injected VALUES (?, ?)", [(session, each) for each in ids])

    @guarded
    def injected(self, session: str) -> frozenset[str]:
        """The beginnings of the ids of memories that Claude was shown in a session."""
        rows = self._connection.execute("SELECT id FROM injected WHERE session = ?", (session,))
        return frozenset(identity for (identity,) in rows)


def _session(row: Sequence[object]) -> SessionRecord:
    session = SessionRecord(*row)  # type: ignore[arg-type]
    return replace(session, whole=bool(session.whole), own=bool(session.own))
