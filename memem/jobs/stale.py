"""`stale.json`: what is known of notes that have nowhere to say it, since a person wrote them.

What they stand on, as found when they were first seen beside it; that it is gone; where the next look goes on.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from memem.core import files
from memem.core.files import Stamp
from memem.core.formats import from_json
from memem.core.memory import Memory


@dataclass(frozen=True, slots=True)
class Known:
    """Of a note whose statement has the fingerprint `of`: what it stands on, and why it is stale.

    `because` is None when nobody has found it so, and empty when it is not, whatever its file says. `digest` is of the
    file when that was found, `vouched` says that a person has since changed the file, and so wants it as it is.
    """

    of: str
    anchors: tuple[str, ...] = ()
    because: str | None = None
    since: str = ""
    digest: str = ""
    vouched: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """Of one vault: notes by id; by project, after which id the next look goes on, and what kept one from judging."""

    notes: Mapping[str, Known] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    withheld: Mapping[str, str] = field(default_factory=dict)


def read(path: Path, vault: str) -> Record:
    """What is known of the notes of a vault; nothing where the file cannot be read."""
    return _records(path).get(vault) or Record()


def write(path: Path, vault: str, record: Record, *, fsync: bool) -> None:
    """Keep what is known, if it is something else than before."""
    records = _records(path)
    if records.get(vault, Record()) == record:
        return
    data = json.dumps({key: asdict(each) for key, each in {**records, vault: record}.items()}, ensure_ascii=False)
    files.make_private_folder(path.parent)
    files.write_atomic(path, data.encode(), fsync=fsync, mode=files.PRIVATE_FILE)


def applied(path: Path, memory: Memory, statement: str) -> tuple[Memory, str]:
    """The memory as it counts, and since when it is stale by what is known here; `statement` is its fingerprint."""
    known = next((each for each in _all_known(path, memory.id) if each.of == statement), None)
    if known is None or known.because is None:
        return memory, ""
    if known.because and memory.status == "active":
        return replace(memory, status="stale", stale_because=known.because), known.since
    if not known.because and memory.status == "stale":
        return replace(memory, status="active", stale_because=""), ""
    return memory, ""


def _all_known(path: Path, id: str) -> list[Known]:
    """In every vault: a note that a person wrote without an id is known by its path, which others may have too."""
    return [each.notes[id] for each in _records(path).values() if id in each.notes]


def _records(path: Path) -> Mapping[str, Record]:
    stamp = files.stamp(path)
    return _parsed(path, stamp) if stamp else {}


@lru_cache(maxsize=4)
def _parsed(path: Path, stamp: Stamp) -> Mapping[str, Record]:
    del stamp  # another one is another file
    try:
        told = from_json(path.read_bytes())
        return {vault: _record(each) for vault, each in told.items()}
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return {}  # the next look finds it all again


def _record(told: dict[str, Any]) -> Record:
    notes = {id: Known(**{**each, "anchors": tuple(each["anchors"])}) for id, each in told["notes"].items()}
    return Record(notes, told["places"], told["withheld"])
