"""The database of claude-mem, of any version: observations, what sessions taught, and directives.

It is opened for reading alone. What a session did, rather than what is known since, goes to the archive: it is found
when somebody asks for it, and shown to nobody unasked.
"""

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
from memem.transfer.items import Item

MAGIC = b"SQLite format 3\0"
MOST_ITEMS, LONGEST_ITEM = 20, 200
MOST_CHARACTERS = 20_000
MOST_BYTES = 16_000_000
"""Of one value: far more than what anybody has observed."""
_KINDS = {
    "decision": "decision",
    "bugfix": "lesson",
    "gotcha": "lesson",
    "how-it-works": "fact",
    "procedure": "procedure",
}
_DEEDS = ("feature", "refactor", "change")
"""Types of observations that say what was done."""

Row = dict[str, Any]


def count(path: Path) -> int:
    """How many items there are to read."""
    with _reading(path) as database:
        return sum(database.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in _tables(database))  # noqa: S608


def items(path: Path) -> Iterator[Item]:
    """Everything in it that may be remembered. Raises InputError when it is no database of claude-mem's, or damaged."""
    with _reading(path) as database:
        sessions = _sessions(database)
        for table in _tables(database):
            for row in _rows(database, table):
                memory = _READERS[table](row)
                told = _text(row, "memory_session_id", "sdk_session_id", "session_id")
                place = f"claude-mem {table}/{_text(row, 'id')}"
                yield Item(
                    place,
                    _completed(row, memory, sessions.get(told, told), place),
                    problem="" if memory.body.strip() else "it says nothing",
                )


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that writes nothing: the files beside a database that is in use are those of its users."""
    try:
        log = path.with_name(f"{path.name}-wal")
        in_use = log.exists() and log.stat().st_size > 0
        address = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro{'' if in_use else '&immutable=1'}"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
            connection.execute("PRAGMA trusted_schema = OFF")  # whoever made the file made its expressions too
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            if not _tables(connection):
                raise InputError("it is a database, but not one of claude-mem")
            yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter of names, not of texts
        raise InputError(
            f"the database cannot be read ({error}); end claude-mem, or copy the file, and try again"
        ) from None


def _tables(database: sqlite3.Connection) -> list[str]:
    """Those of its tables that hold something for us."""
    there = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    is_its_own = bool(there & {"sdk_sessions", "observations", "overviews", "session_summaries"})
    return [table for table in _READERS if table in there] if is_its_own else []


def _rows(database: sqlite3.Connection, table: str) -> Iterator[Row]:
    """All columns of its rows: which there are differs from version to version."""
    for row in database.execute(f'SELECT * FROM "{table}" ORDER BY rowid'):  # noqa: S608 - a name of ours
        yield dict(row)


def _sessions(database: sqlite3.Connection) -> dict[str, str]:
    """Sessions of Claude Code by the names that claude-mem gives them."""
    # A view may be without end.
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'sdk_sessions' AND type = 'table'").fetchone():
        return {}
    rows = list(_rows(database, "sdk_sessions"))
    own = ("memory_session_id", "sdk_session_id")
    return {_text(row, *own): _text(row, "content_session_id", "claude_session_id") or _text(row, *own) for row in rows}


def _observation(row: Row) -> Memory:
    kind = _text(row, "type").lower()
    memory = Memory("", _text(row, "title"), _told(row), kind=_KINDS.get(kind, "fact"))
    paths = _list(row, "files_modified") or _list(row, "files_touched") or _list(row, "files_read")
    keys = _list(row, "concepts") or _list(row, "keywords")
    return replace(memory, layer=ARCHIVE if kind in _DEEDS else ORDINARY, keys=keys, paths=paths)


def _told(row: Row) -> str:
    """The account, or what there is instead of it, and the facts below."""
    account = _text(row, "narrative") or _text(row, "text") or _text(row, "subtitle")
    facts = [fact for fact in _list(row, "facts", LONGEST_ITEM * 5) if fact not in account]
    return "\n\n".join(filter(None, (account, "\n".join(f"- {fact}" for fact in facts))))


def _summary(row: Row) -> Memory:
    learned, done = _text(row, "learned"), _text(row, "completed") or _text(row, "notes")
    memory = Memory("", _text(row, "request"), learned or done, kind="lesson" if learned else "fact")
    paths = _list(row, "files_edited") or _list(row, "files_read")
    return replace(memory, layer=ORDINARY if learned else ARCHIVE, paths=paths)


def _overview(row: Row) -> Memory:
    return Memory("", "", _text(row, "content"), layer=ARCHIVE)


def _directive(row: Row) -> Memory:
    kind = "convention"
    lapsed = _text(row, "status") not in ("", "active")
    memory = Memory("", "", _text(row, "content"), kind=kind, status="deprecated" if lapsed else "active")
    return replace(memory, layer=classify_layer(kind, 3, ()))


_READERS: dict[str, Callable[[Row], Memory]] = {
    "observations": _observation,
    "session_summaries": _summary,
    "memories": _observation,
    "overviews": _overview,
    "directives": _directive,
}


def _cut(text: str) -> str:
    """Not within a word: half a secret is not known for one."""
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS].rpartition(" ")[0]


def _completed(row: Row, memory: Memory, session: str, place: str) -> Memory:
    project = _text(row, "merged_into_project") or _text(row, "project")
    return replace(
        memory,
        body=_cut(memory.body),
        project=normalise(project),
        created=_time(row),
        source_session=session,
        source_turn=place,
    )


def _time(row: Row) -> str:
    told = _text(row, "created_at")
    if moment(told):
        return told
    try:
        return iso(datetime.fromtimestamp(float(row["created_at_epoch"]) / 1000, UTC))
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return ""


def _list(row: Row, name: str, longest: int = LONGEST_ITEM) -> tuple[str, ...]:
    """A list, as JSON or with commas: what is too long for a property is left out."""
    told = _text(row, name)
    try:
        found = from_json(told) if told.lstrip().startswith("[") else told.split(",")
    except ValueError:
        found = []
    texts = [" ".join(each.encode("utf-8", "replace").decode().split()) for each in found if isinstance(each, str)]
    return tuple(dict.fromkeys(each for each in texts if each and len(each) <= longest))[:MOST_ITEMS]


def _text(row: Row, *names: str) -> str:
    """The first of these columns that holds something, as text."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str | int | float) and str(value).strip():
            return str(value).encode("utf-8", "replace").decode().strip()
    return ""
