"""The database of claude-mem, any version, opened read-only: observations, session summaries and directives."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memem.core.dates import iso, moment
from memem.core.errors import InputError
from memem.core.files import from_json
from memem.core.memory import ARCHIVE, ORDINARY, Memory, classify_layer
from memem.core.project import normalise
from memem.transfer.items import ImportItem

MAGIC = b"SQLite format 3\0"
MAX_LIST_ITEMS, MAX_ITEM_CHARS, MAX_FACT_CHARS = 20, 200, 1_000
MAX_BODY_CHARS = 20_000
MAX_VALUE_BYTES = 16_000_000
_KINDS = {"decision": "decision", "bugfix": "lesson", "gotcha": "lesson", "procedure": "procedure"}
_WORK_DONE = ("feature", "refactor", "change")  # archived, where only a search finds it

Row = dict[str, Any]


def count(path: Path) -> int:
    with _open(path) as database:
        return sum(database.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in _tables(database))  # noqa: S608


def items(path: Path) -> Iterator[ImportItem]:
    """Yield every possible memory. Raises InputError if the file is damaged or not a database of claude-mem."""
    with _open(path) as database:
        sessions = _session_ids(database)
        for table in _tables(database):
            for row in _rows(database, table):
                memory, place = _READERS[table](row), f"claude-mem {table}/{_text(row, 'id')}"
                session = _text(row, "memory_session_id", "sdk_session_id", "session_id")
                body = memory.body
                if len(body) > MAX_BODY_CHARS:  # half a word may be an unrecognised half of a secret
                    body = body[:MAX_BODY_CHARS].rpartition(" ")[0]
                memory = replace(
                    memory,
                    body=body,
                    project=normalise(_text(row, "merged_into_project", "project")),
                    created=_time(row),
                    source_session=sessions.get(session, session),
                    source_turn=place,
                )
                yield ImportItem(place, memory, problem="" if body.strip() else "it has no text")


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """Open without writing anything: the files next to a database in use belong to its users."""
    try:
        log = path.with_name(f"{path.name}-wal")
        in_use = log.exists() and log.stat().st_size > 0
        address = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro{'' if in_use else '&immutable=1'}"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
            connection.execute("PRAGMA trusted_schema = OFF")  # expressions in a foreign schema are not trusted
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            if not _tables(connection):
                raise InputError("it is a database, but not a claude-mem database")
            yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:  # a table's name may not be UTF-8
        advice = "stop claude-mem or copy the file, and try again"
        raise InputError(f"the database cannot be read ({error}); {advice}") from None


def _tables(database: sqlite3.Connection) -> list[str]:
    names = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    is_claude_mem = bool(names & {"sdk_sessions", "observations", "overviews", "session_summaries"})
    return [table for table in _READERS if table in names] if is_claude_mem else []


def _rows(database: sqlite3.Connection, table: str) -> Iterator[Row]:
    """All columns: they differ between versions of claude-mem."""
    return map(dict, database.execute(f'SELECT * FROM "{table}" ORDER BY rowid'))  # noqa: S608 - a name of ours


def _session_ids(database: sqlite3.Connection) -> dict[str, str]:
    # Only a table: a view may produce rows without end.
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'sdk_sessions' AND type = 'table'").fetchone():
        return {}
    names = ("memory_session_id", "sdk_session_id")
    return {
        _text(row, *names): _text(row, "content_session_id", "claude_session_id", *names)
        for row in _rows(database, "sdk_sessions")
    }


def _observation(row: Row) -> Memory:
    kind = _text(row, "type").lower()
    account = _text(row, "narrative") or _text(row, "text") or _text(row, "subtitle")
    facts = [f"- {fact}" for fact in _list(row, "facts", MAX_FACT_CHARS) if fact not in account]
    return Memory(
        id="",
        title=_text(row, "title"),
        body="\n\n".join(filter(None, (account, "\n".join(facts)))),
        kind=_KINDS.get(kind, "fact"),
        layer=ARCHIVE if kind in _WORK_DONE else ORDINARY,
        keys=_list(row, "concepts") or _list(row, "keywords"),
        paths=_list(row, "files_modified") or _list(row, "files_touched") or _list(row, "files_read"),
    )


def _summary(row: Row) -> Memory:
    learned, done = _text(row, "learned"), _text(row, "completed") or _text(row, "notes")
    memory = Memory("", _text(row, "request"), learned or done, kind="lesson" if learned else "fact")
    paths = _list(row, "files_edited") or _list(row, "files_read")
    return replace(memory, layer=ORDINARY if learned else ARCHIVE, paths=paths)


def _directive(row: Row) -> Memory:
    kind, status = "convention", "active" if _text(row, "status") in ("", "active") else "deprecated"
    return Memory("", "", _text(row, "content"), kind=kind, status=status, layer=classify_layer(kind, 3, ()))


_READERS: dict[str, Callable[[Row], Memory]] = {
    "observations": _observation,
    "session_summaries": _summary,
    "memories": _observation,
    "overviews": lambda row: Memory("", "", _text(row, "content"), layer=ARCHIVE),
    "directives": _directive,
}


def _time(row: Row) -> str:
    time = _text(row, "created_at")
    if moment(time):
        return time
    try:
        return iso(datetime.fromtimestamp(float(row["created_at_epoch"]) / 1000, UTC))
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return ""


def _list(row: Row, name: str, max_chars: int = MAX_ITEM_CHARS) -> tuple[str, ...]:
    """A list written as JSON or with commas, without items that are too long for a property."""
    text = _text(row, name)
    try:
        values = from_json(text) if text.lstrip().startswith("[") else text.split(",")
    except ValueError:
        values = []
    items = (" ".join(item.encode("utf-8", "replace").decode().split()) for item in values if isinstance(item, str))
    return tuple(dict.fromkeys(item for item in items if item and len(item) <= max_chars))[:MAX_LIST_ITEMS]


def _text(row: Row, *names: str) -> str:
    values = (row.get(name) for name in names)
    texts = (str(value) for value in values if isinstance(value, str | int | float))
    return next((text.encode("utf-8", "replace").decode().strip() for text in texts if text.strip()), "")
