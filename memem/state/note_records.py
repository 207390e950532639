"""`stale.json` and `vanished.json`: what is known of notes that cannot say it themselves.

`stale.json` has what a person's note stands on and that it is gone; `vanished.json` has notes that went away without
memem, each with the tombstone that it may become.
"""

import json
import os
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
class StaleRecord:
    """Of one vault: notes by id; by project, after which id the next look goes on, and what kept one from judging."""

    notes: Mapping[str, StaleNote] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    withheld: Mapping[str, str] = field(default_factory=dict)


def read_stale(path: Path, vault: str) -> StaleRecord:
    """What is known of the notes of a vault; nothing where the file cannot be read."""
    return _records(path).get(vault) or StaleRecord()


def write_stale(path: Path, vault: str, record: StaleRecord, *, fsync: bool) -> None:
    """Keep what is known, if it is something else than before."""
    records = _records(path)
    if records.get(vault, StaleRecord()) == record:
        return
    data = json.dumps({key: asdict(each) for key, each in {**records, vault: record}.items()}, ensure_ascii=False)
    files.make_private_folder(path.parent)
    files.write_atomic(path, data.encode(), fsync=fsync, mode=files.PRIVATE_FILE)


def apply_stale(path: Path, memory: Memory, statement: str) -> tuple[Memory, str]:
    """The memory as it counts, and since when it is stale by what is known here; `statement` is its fingerprint."""
    known = next((each for each in _all_known(path, memory.id) if each.of == statement), None)
    if known is None or known.because is None:
        return memory, ""
    if known.because and memory.status == "active":
        return replace(memory, status="stale", stale_because=known.because), known.since
    if not known.because and memory.status == "stale":
        return replace(memory, status="active", stale_because=""), ""
    return memory, ""


def _all_known(path: Path, id: str) -> list[StaleNote]:
    """In every vault: a note that a person wrote without an id is known by its path, which others may have too."""
    return [each.notes[id] for each in _records(path).values() if id in each.notes]


def _records(path: Path) -> Mapping[str, StaleRecord]:
    stamp = files.stamp(path)
    return _parsed(path, stamp) if stamp else {}


@lru_cache(maxsize=4)
def _parsed(path: Path, stamp: Stamp) -> Mapping[str, StaleRecord]:
    del stamp  # another one is another file
    try:
        told = from_json(path.read_bytes())
        return {vault: _record(each) for vault, each in told.items()}
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return {}  # the next look finds it all again


def _record(told: dict[str, Any]) -> StaleRecord:
    notes = {id: StaleNote(**{**each, "anchors": tuple(each["anchors"])}) for id, each in told["notes"].items()}
    return StaleRecord(notes, told["places"], told["withheld"])


@dataclass(frozen=True, slots=True)
class VanishedNote:
    """A note that went away, when that was seen, and the most that were away with it at any time, itself included."""

    id: str
    path: str
    time: str
    together: int
    tombstone: Tombstone
    digest: str = ""  # of its bytes, as far as they are known


@dataclass
class VanishedNotes:
    """All that are away from one vault, and the salts of their tombstones."""

    salts: dict[str, bytes] = field(default_factory=dict)
    notes: list[VanishedNote] = field(default_factory=list)


def read_vanished(path: Path, vault_id: str) -> VanishedNotes:
    """Those of a vault."""
    return _away(_all(path).get(vault_id))


@contextmanager
def edit_vanished(path: Path, vault_id: str, *, fsync: bool) -> Iterator[VanishedNotes]:
    """Those of a vault, to be changed; nobody else does meanwhile. The file goes when nothing is left in it."""
    files.make_private_folder(path.parent)
    with _alone(path.with_suffix(".lock")):
        held = _all(path)
        away = _away(held.get(vault_id))
        before = tuple(away.notes)
        yield away
        if before == tuple(away.notes):
            return
        held[vault_id] = _told(away)
        held = {each: told for each, told in held.items() if told["notes"]}
        if held:
            data = json.dumps(held, ensure_ascii=False).encode("utf-8", "replace")
            files.write_atomic(path, data, fsync=fsync, mode=files.PRIVATE_FILE)
        else:
            path.unlink(missing_ok=True)


def _all(path: Path) -> dict[str, Any]:
    try:
        told = from_json(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _away(told: Any) -> VanishedNotes:
    try:
        salts = {name: bytes.fromhex(salt) for name, salt in told["salts"].items()}
        return VanishedNotes(
            salts, [VanishedNote(**{**each, "tombstone": _tombstone(each["tombstone"])}) for each in told["notes"]]
        )
    except (TypeError, ValueError, KeyError, AttributeError):
        return VanishedNotes()


def _tombstone(told: dict[str, Any]) -> Tombstone:
    stated: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in told.items()}
    return Tombstone(**stated)


def _told(away: VanishedNotes) -> dict[str, Any]:
    used = {each.tombstone.salt for each in away.notes}
    salts = {name: salt.hex() for name, salt in away.salts.items() if name in used}
    return {"salts": salts, "notes": [asdict(each) for each in away.notes]}


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One at a time, where the system has such locks; elsewhere two seldom meet, and see the same."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, files.PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
