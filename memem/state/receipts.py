"""Receipts: one for each decision to show something or nothing, the last two thousand, and how each memory was used."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from memem.core import sqlite
from memem.core.memory import ID8
from memem.state.tables import CONTEXTS, Table

PROMPT, SESSION_START, FILE = "prompt", "session start", "file"
UNUSED = "no"
MAX_RUNNERS_UP = 3
"""So many of those that were not shown are told of."""


@dataclass(frozen=True, slots=True)
class ReceiptItem:
    """A memory that was shown, or nearly was.

    `terms` are words of the prompt, or of what it refers to, that stand in the memory; of the others, which may be
    secrets, nothing is kept. `kept_out` is why it was not shown, empty in old receipts. `used` says how it was used, or
    `no`; it is empty as long as nobody can tell.
    """

    id: str
    title: str = ""
    shown: bool = True
    pinned: bool = False  # shown whatever was asked
    score: float | None = None
    confidence: float | None = None
    cosine: float | None = None
    terms: tuple[str, ...] = ()
    used: str = ""
    kept_out: str = ""

    @property
    def id8(self) -> str:
        return self.id[:ID8]

    def as_json(self) -> dict[str, Any]:
        """What differs from an item of which nothing is known, so that a receipt is short."""
        stated = {field.name: getattr(self, field.name) for field in fields(self)}
        usual = {field.name: field.default for field in fields(self)}
        return {name: value for name, value in stated.items() if value != usual[name]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        return cls(**{**value, "terms": tuple(value.get("terms", ()))})


@dataclass(frozen=True, slots=True)
class Receipt:
    """One decision. `prompt` is a hash, keyed with a secret of this home: it tells the prompts of a session apart, and
    whoever cannot read the secret cannot try what they say. It is empty where there was none.

    `line` is the least confidence that was asked of a memory then. `followed` says that what was looked for came from
    earlier turns too, since the prompt refers to them.
    """

    time: float  # in seconds since the epoch
    event: str  # prompt, session start or file
    session: str = ""
    project: str = ""
    prompt: str = ""
    reason: str = ""
    characters: int = 0
    line: float = 0.0
    degraded: str = ""
    items: tuple[ReceiptItem, ...] = ()
    number: int = 0  # given when it is kept
    followed: bool = False

    @property
    def shown(self) -> tuple[ReceiptItem, ...]:
        return tuple(item for item in self.items if item.shown)

    @property
    def runners_up(self) -> tuple[ReceiptItem, ...]:
        return tuple(item for item in self.items if not item.shown)

    @property
    def to_judge(self) -> tuple[ReceiptItem, ...]:
        """What was shown since it was called for: only of that its use, or the want of it, says something."""
        called_for = self.event in (PROMPT, FILE) and bool(self.session)
        return tuple(item for item in self.shown if not item.pinned) if called_for else ()


guarded = sqlite.guarding(CONTEXTS)

MOST_RECEIPTS = 2_000
MOST_SHOWN = 32
"""As many as a slice or a briefing can hold."""
_STATED = "time, event, session, project, prompt, reason, characters, line, degraded, followed"
_COLUMNS = f"{_STATED}, items, number"


def create_tables(connection: sqlite3.Connection) -> None:
    for statement in Receipts.TABLES:
        connection.execute(statement)


def note_what_was_followed(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE receipts ADD COLUMN followed INTEGER NOT NULL DEFAULT 0")


class Receipts(Table):
    """What was decided, and what came of it. A memory's use is counted when it is judged, so nothing counts twice."""

    TABLES = (
        """CREATE TABLE receipts (number INTEGER PRIMARY KEY, time REAL NOT NULL, event TEXT NOT NULL,
           session TEXT NOT NULL, project TEXT NOT NULL, prompt TEXT NOT NULL, reason TEXT NOT NULL,
           characters INTEGER NOT NULL, line REAL NOT NULL, degraded TEXT NOT NULL, items TEXT NOT NULL,
           judged INTEGER NOT NULL)""",
        "CREATE INDEX receipts_by_session ON receipts (session)",
        "CREATE INDEX receipts_unjudged ON receipts (session) WHERE judged = 0",
        """CREATE TABLE usefulness (id TEXT PRIMARY KEY, shown INTEGER NOT NULL, used INTEGER NOT NULL,
           seen REAL NOT NULL) WITHOUT ROWID""",
    )

    @guarded
    def add(self, receipt: Receipt) -> int:
        """Keep a receipt, instead of the oldest one when there are too many; returns its number."""
        items = [*receipt.shown[:MOST_SHOWN], *receipt.runners_up[:MAX_RUNNERS_UP]]
        values = (*_values(receipt), _as_json(items), not receipt.to_judge)
        with sqlite.transaction(self._connection):
            marks = ", ".join("?" * len(values))
            query = f"INSERT INTO receipts ({_STATED}, items, judged) VALUES ({marks})"  # noqa: S608 - fixed
            row = self._connection.execute(query, values)
            number = int(row.lastrowid or 0)
            self._connection.execute("DELETE FROM receipts WHERE number <= ?", (number - MOST_RECEIPTS,))
        return number

    @guarded
    def last(self, session: str = "") -> Receipt | None:
        """The last receipt: of a session, or of all."""
        where, values = ("session = ?", (session,)) if session else ("1", ())
        return next(iter(self._receipts(f"{where} ORDER BY number DESC LIMIT 1", values)), None)

    @guarded
    def for_memory(self, identity: str, limit: int) -> list[Receipt]:
        """The last receipts of a memory being shown, the newest first."""
        shows = "json_extract(value, '$.id') = ? AND json_extract(value, '$.shown') IS NULL"  # as an item states it
        # Most receipts do not hold the id at all, and need not be parsed.
        where = f"instr(items, ?) AND EXISTS (SELECT 1 FROM json_each(items) WHERE {shows})"  # noqa: S608 - fixed
        return self._receipts(f"{where} ORDER BY number DESC LIMIT ?", (identity, identity, limit))

    @guarded
    def unjudged(self, session: str) -> list[Receipt]:
        """What a session was shown and nobody has looked after yet, the oldest first."""
        return self._receipts("judged = 0 AND session = ? ORDER BY number", (session,))

    @guarded
    def has_unjudged(self) -> bool:
        return self._connection.execute("SELECT 1 FROM receipts WHERE judged = 0 LIMIT 1").fetchone() is not None

    @guarded
    def expire_unjudged(self, before: float) -> None:
        """What was shown before a moment is not judged any more: its session was interrupted, or is gone."""
        self._connection.execute("UPDATE receipts SET judged = 1 WHERE judged = 0 AND time < ?", (before,))

    @guarded
    def mark_used(self, number: int, used: Mapping[str, str], now: float) -> None:
        """How each memory of a receipt was used (`no`: not at all), and count it; once, whoever comes first.

        A memory that is not among them could not be judged, and none of a receipt whose transcript is gone.
        """
        with sqlite.transaction(self._connection):
            found = self._receipts("judged = 0 AND number = ?", (number,))
            if not found:
                return
            items = [replace(item, used=used.get(item.id, "") if item.shown else "") for item in found[0].items]
            changed = (_as_json(items), number)
            self._connection.execute("UPDATE receipts SET judged = 1, items = ? WHERE number = ?", changed)
            self._connection.executemany(
                """INSERT INTO usefulness VALUES (?, 1, ?, ?) ON CONFLICT (id) DO UPDATE SET
                   shown = shown + 1, used = used + excluded.used, seen = excluded.seen""",
                [(identity, how != UNUSED, now) for identity, how in used.items()],
            )

    @guarded
    def tally(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Of each memory, how often its use was judged, and how often it was used; nothing of the others."""
        counted: dict[str, tuple[int, int]] = {}
        for marks, some in sqlite.among(ids):
            query = f"SELECT id, shown, used FROM usefulness WHERE id IN ({marks})"  # noqa: S608 - marks only
            counted |= {identity: (shown, used) for identity, shown, used in self._connection.execute(query, some)}
        return counted

    @guarded
    def prompts(self) -> list[tuple[str, float]]:
        """The project and the time of every prompt that is still known, the oldest first."""
        query = "SELECT project, time FROM receipts WHERE event = ? ORDER BY time"
        return self._connection.execute(query, (PROMPT,)).fetchall()

    @guarded
    def forget(self, session: str) -> None:
        """Drop the receipts of a session."""
        self._connection.execute("DELETE FROM receipts WHERE session = ?", (session,))

    @guarded
    def forget_memory(self, identity: str) -> None:
        """Drop what receipts say of a memory, but that it was there; and how often it was of use."""
        with sqlite.transaction(self._connection):
            for receipt in self._receipts("instr(items, ?)", (identity,)):
                changed = (_as_json([_without_words(item, identity) for item in receipt.items]), receipt.number)
                self._connection.execute("UPDATE receipts SET items = ? WHERE number = ?", changed)
            self._connection.execute("DELETE FROM usefulness WHERE id = ?", (identity,))

    @guarded
    def prune(self, before: float) -> None:
        """Drop what is older than a moment."""
        with sqlite.transaction(self._connection):
            self._connection.execute("DELETE FROM receipts WHERE time < ?", (before,))
            self._connection.execute("DELETE FROM usefulness WHERE seen < ?", (before,))

    def _receipts(self, where: str, values: tuple[Any, ...]) -> list[Receipt]:
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM receipts WHERE {where}", values)  # noqa: S608 - fixed
        return [_receipt(columns) for columns in rows]


def _values(receipt: Receipt) -> tuple[Any, ...]:
    stated = (receipt.time, receipt.event, receipt.session, receipt.project, receipt.prompt, receipt.reason)
    return (*stated, receipt.characters, receipt.line, receipt.degraded, receipt.followed)


def _receipt(columns: tuple[Any, ...]) -> Receipt:
    time, event, session, project, prompt, reason, characters, line, degraded, followed, items, number = columns
    try:
        held = tuple(map(ReceiptItem.from_json, sqlite.stored(items, list)))
    except (TypeError, AttributeError):
        raise sqlite3.DatabaseError(sqlite.NOT_OURS) from None
    stated = Receipt(time, event, session, project, prompt, reason, characters, line, degraded, held, number)
    return replace(stated, followed=True) if followed else stated


def _without_words(item: ReceiptItem, identity: str) -> ReceiptItem:
    return replace(item, title="", terms=(), used="") if item.id == identity else item


def _as_json(items: Sequence[ReceiptItem]) -> str:
    return json.dumps([item.as_json() for item in items], ensure_ascii=False, separators=(",", ":"))
