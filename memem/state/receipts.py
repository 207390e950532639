"""Receipts, one for each decision to show something or nothing; and how often each memory was shown and used."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from memem.core import sqlite
from memem.core.memory import ID8
from memem.state.tables import CONTEXTS, Table

PROMPT, SESSION_START, FILE = "prompt", "session start", "file"
UNUSED = "no"
MAX_RUNNERS_UP = 3
MOST_RECEIPTS = 2_000
MOST_SHOWN = 32


@dataclass(frozen=True, slots=True)
class ReceiptItem:
    """A memory that was shown, or nearly was."""

    id: str
    title: str = ""
    shown: bool = True
    pinned: bool = False  # shown whatever the prompt was
    score: float | None = None
    confidence: float | None = None
    cosine: float | None = None
    terms: tuple[str, ...] = ()  # words of the prompt that occur in the memory; others may be secrets
    used: str = ""  # how it was used, or `no`; empty until that is judged
    kept_out: str = ""  # why it was not shown; empty in old receipts

    @property
    def id8(self) -> str:
        return self.id[:ID8]


@dataclass(frozen=True, slots=True)
class Receipt:
    """One decision. `prompt` is a hash keyed with a secret of this home, so that it cannot be guessed."""

    time: float  # in seconds since the epoch
    event: str  # prompt, session start or file
    session: str = ""
    project: str = ""
    prompt: str = ""
    reason: str = ""
    characters: int = 0
    line: float = 0.0  # the confidence threshold
    degraded: str = ""
    items: tuple[ReceiptItem, ...] = ()
    number: int = 0  # assigned when it is stored
    followed: bool = False  # the prompt refers to earlier turns, which were searched for too

    @property
    def shown(self) -> tuple[ReceiptItem, ...]:
        return tuple(item for item in self.items if item.shown)

    @property
    def runners_up(self) -> tuple[ReceiptItem, ...]:
        return tuple(item for item in self.items if not item.shown)

    @property
    def to_judge(self) -> tuple[ReceiptItem, ...]:
        """Memories shown because of a prompt or file: only their use says something."""
        is_requested = self.event in (PROMPT, FILE) and bool(self.session)
        return tuple(item for item in self.shown if not item.pinned) if is_requested else ()


_COLUMNS = "time, event, session, project, prompt, reason, characters, line, degraded, items, number, followed"


def add_followed_column(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE receipts ADD COLUMN followed INTEGER NOT NULL DEFAULT 0")


class Receipts(Table):
    """Receipts and counts of use. Use is counted once, when a receipt is judged."""

    PURPOSE = CONTEXTS
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

    def add(self, receipt: Receipt) -> int:
        """Store a receipt, in place of the oldest if there are too many; return its number."""
        statement = """INSERT INTO receipts (time, event, session, project, prompt, reason, characters, line, degraded,
            followed, items, judged) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
        values = (receipt.time, receipt.event, receipt.session, receipt.project, receipt.prompt, receipt.reason)
        items = dump_items([*receipt.shown[:MOST_SHOWN], *receipt.runners_up[:MAX_RUNNERS_UP]])
        flags = (receipt.degraded, receipt.followed, items, not receipt.to_judge)
        with self.transaction():
            number = self._insert(statement, *values, receipt.characters, receipt.line, *flags)
            self._execute("DELETE FROM receipts WHERE number <= ?", number - MOST_RECEIPTS)
        return number

    def last(self, session: str = "") -> Receipt | None:
        where = "session = ?" if session else "? = ''"
        return next(iter(self._read(f"{where} ORDER BY number DESC LIMIT 1", session)), None)

    def for_memory(self, identity: str, limit: int) -> list[Receipt]:
        """The last receipts that show a memory, newest first."""
        # `shown` is stored only where it is false. Most receipts lack the id, and need not be parsed.
        where = """instr(items, ?) AND EXISTS (SELECT 1 FROM json_each(items) WHERE
            json_extract(value, '$.id') = ? AND json_extract(value, '$.shown') IS NULL) ORDER BY number DESC LIMIT ?"""
        return self._read(where, identity, identity, limit)

    def unjudged(self, session: str) -> list[Receipt]:
        return self._read("judged = 0 AND session = ? ORDER BY number", session)

    def has_unjudged(self) -> bool:
        return bool(self._execute("SELECT 1 FROM receipts WHERE judged = 0 LIMIT 1"))

    def expire_unjudged(self, before: float) -> None:
        """Stop waiting to judge older receipts, whose sessions were interrupted."""
        self._execute("UPDATE receipts SET judged = 1 WHERE judged = 0 AND time < ?", before)

    def mark_used(self, number: int, used: Mapping[str, str], now: float) -> None:
        """Store how each judged memory of a receipt was used (`no`: not at all), and count it, unless that is done."""
        count = """INSERT INTO usefulness VALUES (?, 1, ?, ?) ON CONFLICT (id) DO UPDATE SET
            shown = shown + 1, used = used + excluded.used, seen = excluded.seen"""
        with self.transaction():
            for receipt in self._read("judged = 0 AND number = ?", number):
                items = [replace(item, used=used.get(item.id, "") if item.shown else "") for item in receipt.items]
                self._execute("UPDATE receipts SET judged = 1, items = ? WHERE number = ?", dump_items(items), number)
                self._execute_many(count, [(identity, how != UNUSED, now) for identity, how in used.items()])

    def tally(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        counts: dict[str, tuple[int, int]] = {}
        for marks, some in sqlite.split_values(ids):
            rows = self._execute(f"SELECT id, shown, used FROM usefulness WHERE id IN ({marks})", *some)  # noqa: S608
            counts |= {identity: (shown, used) for identity, shown, used in rows}
        return counts

    def prompts(self) -> list[tuple[str, float]]:
        """The project and time of every prompt with a receipt, oldest first."""
        return self._execute("SELECT project, time FROM receipts WHERE event = ? ORDER BY time", PROMPT)

    def forget(self, session: str) -> None:
        self._execute("DELETE FROM receipts WHERE session = ?", session)

    def forget_memory(self, identity: str) -> None:
        """Remove the words of a memory from receipts, and its counts."""
        with self.transaction():
            for receipt in self._read("instr(items, ?)", identity):
                items = [
                    replace(item, title="", terms=(), used="") if item.id == identity else item
                    for item in receipt.items
                ]
                self._execute("UPDATE receipts SET items = ? WHERE number = ?", dump_items(items), receipt.number)
            self._execute("DELETE FROM usefulness WHERE id = ?", identity)

    def prune(self, before: float) -> None:
        with self.transaction():
            self._execute("DELETE FROM receipts WHERE time < ?", before)
            self._execute("DELETE FROM usefulness WHERE seen < ?", before)

    def _read(self, where: str, *values: object) -> list[Receipt]:
        rows = self._execute(f"SELECT {_COLUMNS} FROM receipts WHERE {where}", *values)  # noqa: S608
        receipts = [Receipt(*row) for row in rows]
        with sqlite.translated(self.path, self.PURPOSE):
            return [replace(row, items=parse_items(row.items), followed=bool(row.followed)) for row in receipts]


def parse_items(text: object) -> tuple[ReceiptItem, ...]:
    try:
        rows = sqlite.parse_column(text, list)
        return tuple(ReceiptItem(**{**row, "terms": tuple(row.get("terms", ()))}) for row in rows)
    except (TypeError, AttributeError):
        raise sqlite3.DatabaseError(sqlite.NOT_OURS) from None


def dump_items(items: Sequence[ReceiptItem]) -> str:
    """Only the fields that differ from their defaults, so that a receipt is short."""
    rows = [
        {field.name: value for field in fields(item) if (value := getattr(item, field.name)) != field.default}
        for item in items
    ]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
