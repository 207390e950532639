"""`stale.json`, why people's notes are stale, since their files stay untouched; and `vanished.json`, notes deleted
outside memem, each with the tombstone it may become."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from memem.core import files
from memem.core.files import Stamp, from_json
from memem.core.memory import Memory
from memem.core.tombstone import Tombstone


@dataclass(frozen=True, slots=True)
class StaleNote:
    """The record of a note whose statement has the fingerprint `of`."""

    of: str
    anchors: tuple[str, ...] = ()
    because: str | None = None  # None: not judged; empty: not stale, whatever its file says
    since: str = ""
    digest: str = ""  # of the file when it was judged
    vouched: bool = False  # a person has changed the file since, so it counts as it is


@dataclass(frozen=True, slots=True)
class StaleRecord:
    """The notes of one vault by id; by project, the id after which to go on, and why it could not be judged."""

    notes: Mapping[str, StaleNote] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    withheld: Mapping[str, str] = field(default_factory=dict)


def read_stale(path: Path, vault: str) -> StaleRecord:
    """Read the record of a vault; an empty one if the file cannot be read."""
    return _stale_records(path).get(vault) or StaleRecord()


def write_stale(path: Path, vault: str, record: StaleRecord, *, fsync: bool) -> None:
    records = _stale_records(path)
    if records.get(vault, StaleRecord()) == record:
        return
    data = json.dumps({key: asdict(each) for key, each in {**records, vault: record}.items()}, ensure_ascii=False)
    files.make_private_folder(path.parent)
    files.write_atomic(path, data.encode(), fsync=fsync, mode=files.PRIVATE_FILE)


def apply_stale(path: Path, memory: Memory, statement: str) -> tuple[Memory, str]:
    """Return the memory with its recorded status, and since when it is stale; `statement` is its fingerprint."""
    # All vaults are searched: a note without an id is identified by its path, which another vault may have too.
    notes = [each.notes[memory.id] for each in _stale_records(path).values() if memory.id in each.notes]
    note = next((each for each in notes if each.of == statement), None)
    if note and note.because and memory.status == "active":
        return replace(memory, status="stale", stale_because=note.because), note.since
    if note and note.because == "" and memory.status == "stale":
        return replace(memory, status="active", stale_because=""), ""
    return memory, ""


def _stale_records(path: Path) -> Mapping[str, StaleRecord]:
    stamp = files.stamp(path)
    return _parse_stale(path, stamp) if stamp else {}


@lru_cache(maxsize=4)
def _parse_stale(path: Path, _stamp: Stamp) -> Mapping[str, StaleRecord]:
    try:
        records = {}
        for vault, record in from_json(path.read_bytes()).items():
            notes = {
                id: StaleNote(**{**note, "anchors": tuple(note["anchors"])}) for id, note in record["notes"].items()
            }
            records[vault] = StaleRecord(notes, record["places"], record["withheld"])
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return {}  # notes are judged again
    return records


@dataclass(frozen=True, slots=True)
class VanishedNote:
    """A note that is gone, and when that was noticed."""

    id: str
    path: str
    time: str
    together: int  # the most notes that were gone at the same time, this one included
    tombstone: Tombstone
    digest: str = ""  # of its bytes, if known


@dataclass
class VanishedNotes:
    """The vanished notes of one vault, and the salts of their tombstones."""

    salts: dict[str, bytes] = field(default_factory=dict)
    notes: list[VanishedNote] = field(default_factory=list)


def read_vanished(path: Path, vault_id: str) -> VanishedNotes:
    return _parse_vanished(_read_vaults(path).get(vault_id))


@contextmanager
def edit_vanished(path: Path, vault_id: str, *, fsync: bool) -> Iterator[VanishedNotes]:
    """Yield the vanished notes of a vault to be changed, under a lock. An empty file is removed."""
    files.make_private_folder(path.parent)
    with files.locked(path.with_suffix(".lock")):
        vaults = _read_vaults(path)
        vanished = _parse_vanished(vaults.get(vault_id))
        before = tuple(vanished.notes)
        yield vanished
        if before == tuple(vanished.notes):
            return
        used = {note.tombstone.salt for note in vanished.notes}
        salts = {name: salt.hex() for name, salt in vanished.salts.items() if name in used}
        vaults[vault_id] = {"salts": salts, "notes": [asdict(note) for note in vanished.notes]}
        vaults = {id: vault for id, vault in vaults.items() if vault["notes"]}
        if vaults:
            data = json.dumps(vaults, ensure_ascii=False).encode("utf-8", "replace")
            files.write_atomic(path, data, fsync=fsync, mode=files.PRIVATE_FILE)
        else:
            path.unlink(missing_ok=True)


def _read_vaults(path: Path) -> dict[str, Any]:
    try:
        vaults = from_json(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return vaults if isinstance(vaults, dict) else {}


def _parse_vanished(vault: Any) -> VanishedNotes:
    try:
        salts = {name: bytes.fromhex(salt) for name, salt in vault["salts"].items()}
        notes = []
        for note in vault["notes"]:
            values = note["tombstone"].items()
            fields: dict[str, Any] = {key: tuple(part) if isinstance(part, list) else part for key, part in values}
            notes.append(VanishedNote(**{**note, "tombstone": Tombstone(**fields)}))
    except (TypeError, ValueError, KeyError, AttributeError):
        return VanishedNotes()
    return VanishedNotes(salts, notes)
