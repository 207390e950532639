"""`state/vanished.json`: notes that went away without memem, each with the tombstone that it may become.

Whoever keeps the index true to the vault writes it, and takes no lock of ours for that: portalocker takes longer to
import than a query may take.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memem.core import files
from memem.core.formats import from_json
from memem.core.tombstone import Tombstone


@dataclass(frozen=True, slots=True)
class Gone:
    """A note that went away, when that was seen, and the most that were away with it at any time, itself included."""

    id: str
    path: str
    time: str
    together: int
    tombstone: Tombstone
    digest: str = ""  # of its bytes, as far as they are known


@dataclass
class Away:
    """All that are away from one vault, and the salts of their tombstones."""

    salts: dict[str, bytes] = field(default_factory=dict)
    notes: list[Gone] = field(default_factory=list)


def read(path: Path, vault_id: str) -> Away:
    """Those of a vault."""
    return _away(_all(path).get(vault_id))


@contextmanager
def changing(path: Path, vault_id: str, *, fsync: bool) -> Iterator[Away]:
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


def _away(told: Any) -> Away:
    try:
        salts = {name: bytes.fromhex(salt) for name, salt in told["salts"].items()}
        return Away(salts, [Gone(**{**each, "tombstone": _tombstone(each["tombstone"])}) for each in told["notes"]])
    except (TypeError, ValueError, KeyError, AttributeError):
        return Away()


def _tombstone(told: dict[str, Any]) -> Tombstone:
    stated: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in told.items()}
    return Tombstone(**stated)


def _told(away: Away) -> dict[str, Any]:
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
