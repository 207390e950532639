"""`memem/.tombstones.jsonl`: what was forgotten, so that it does not come back. Lines are added, never changed.

It is in the vault, so that it also counts where the vault is shared. All copies that a sync made of it count, and so do
all salts of merged files.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from memem.core import files
from memem.core.errors import VaultUnwritable
from memem.core.files import Stamp
from memem.core.home import VaultPaths
from memem.core.tombstone import Removal, Tombstone
from memem.vault.store import read_file_lines

SALT_BYTES = 16
_MOST_SALT_BYTES = 64  # more cannot be hashed with
_FIELDS = {field.name: str(field.type).startswith("tuple") for field in fields(Tombstone)}  # whether they are lists
_TYPES: dict[str, type] = {"sizes": int, "purged": bool, "by_hand": bool}  # the others are text

TombstoneLine = bytes | Tombstone | Removal | str  # a salt, a tombstone, an undone note, or the key of a lifted one


@dataclass(frozen=True)
class TombstoneIndex:
    """All tombstones in force, by what they match. Those that were lifted are only in `lifted`."""

    salts: dict[str, bytes] = field(default_factory=dict)
    standing: tuple[Tombstone, ...] = ()
    lifted: tuple[Tombstone, ...] = ()
    by_text: dict[str, list[Tombstone]] = field(default_factory=dict)
    by_id: dict[str, list[Tombstone]] = field(default_factory=dict)
    by_turn: dict[str, list[Tombstone]] = field(default_factory=dict)
    sizes: frozenset[int] = frozenset()
    purged_turns: frozenset[str] = frozenset()
    removed: dict[str, list[Removal]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.standing)


class Tombstones:
    """The file of one vault, read again only when it changed."""

    def __init__(self, paths: VaultPaths, *, fsync: bool) -> None:
        self._path = paths.tombstones
        self._fsync = fsync
        self._read: tuple[object, TombstoneIndex] = (None, TombstoneIndex())

    def load(self) -> TombstoneIndex:
        stamps = self._stamps()
        if self._read[0] != stamps:
            self._read = (stamps, read_lines(line for path in stamps for line in read_file_lines(path)))
        return self._read[1]

    def salt(self) -> tuple[str, bytes]:
        """Return the name of the vault's salt and the salt, created if there is none."""
        known = self.load().salts
        if known:
            return next(iter(known.items()))
        salt = os.urandom(SALT_BYTES)
        self._add([{"salt": salt.hex()}])
        return name_of(salt), salt

    def add(self, tombstones: Iterable[Tombstone], salt: bytes) -> None:
        """Add tombstones made with a salt, and the salt if it is new."""
        lines: list[dict[str, Any]] = [{"tombstone": asdict(tombstone)} for tombstone in tombstones]
        if lines and name_of(salt) not in self.load().salts:
            lines.insert(0, {"salt": salt.hex()})
        self._add(lines)

    def remove(self, removal: Removal) -> None:
        """Record that an undo removed a note. The file is read again only if others wrote: imports have thousands."""
        before = self._stamps()
        added = self._add([{"removed": removal.id, "key": removal.key, "time": removal.time}])
        now, (read, known) = self._stamps(), self._read
        alone = bool(before) and read == before and now == before | {self._path: now[self._path]}
        if alone and now[self._path][2] - before[self._path][2] == added:
            known.removed.setdefault(removal.id, []).append(removal)
            self._read = (now, known)

    def lift(self, tombstones: Iterable[Tombstone | Removal], time: str) -> None:
        """Lift tombstones: the memory is wanted after all, or a removed note is back."""
        self._add([{"lifted": each.key, "time": time} for each in tombstones])

    def lines(self) -> list[bytes]:
        """Read every line, each once."""
        return list(dict.fromkeys(line for path in self._stamps() for line in read_file_lines(path) if line.strip()))

    def take_in(self, lines: Iterable[bytes]) -> None:
        try:
            for line in lines:
                files.append_line(self._path, line, fsync=self._fsync)
        except OSError as error:
            raise VaultUnwritable(f"Cannot write {self._path}: {files.reason(error)}. Nothing was forgotten.") from None

    def _add(self, lines: list[dict[str, Any]]) -> int:
        """Append lines and return their bytes."""
        texts = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines]
        coded = [text.encode("utf-8", "replace") for text in texts]
        self.take_in(coded)
        return sum(len(line) + 1 for line in coded)

    def _stamps(self) -> dict[Path, Stamp]:
        """The stamps of the file and its copies, in the order they are read."""
        if files.stamp(self._path) is None:
            return {}
        start, end = self._path.stem, self._path.suffix
        with os.scandir(self._path.parent) as entries:
            names = sorted(entry.name for entry in entries if entry.name.startswith(start) and entry.name.endswith(end))
        copies = map(self._path.with_name, names)
        return {path: stamp for path in (self._path, *copies) if (stamp := files.stamp(path))}


def name_of(salt: bytes) -> str:
    """The name by which tombstones refer to a salt."""
    from hashlib import blake2b

    return blake2b(salt, digest_size=4, person=b"memem salt").hexdigest()


def _parse_tombstone(stated: Any) -> Tombstone:
    """Check the types of all fields, since another program may have written them; ignore fields of a newer memem."""
    values: dict[str, Any] = {name: value for name, value in dict(stated).items() if name in _FIELDS}
    for name, value in values.items():
        items = value if _FIELDS[name] else [value]
        if isinstance(value, list) != _FIELDS[name] or any(type(item) is not _TYPES.get(name, str) for item in items):
            raise TypeError(f"{name} has the wrong type for a tombstone")
    if min(values.get("sizes", ()), default=1) < 1:
        raise ValueError("sizes are not numbers of sentences")
    values |= {name: tuple(value) for name, value in values.items() if _FIELDS[name]}
    return Tombstone(**values)


def parse_line(line: bytes) -> TombstoneLine | None:
    """Parse a line; None when it is torn or not understood."""
    try:
        value = files.from_json(line)
        if len(line.splitlines()) > 1 or not isinstance(value, dict):
            return None
        if "salt" in value:
            salt = bytes.fromhex(value["salt"])
            return salt if SALT_BYTES <= len(salt) <= _MOST_SALT_BYTES else None
        if "tombstone" in value:
            return _parse_tombstone(value["tombstone"])
        if "removed" in value:
            return Removal(str(value["key"]), str(value["removed"]), str(value["time"]))
        return str(value["lifted"])
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def read_lines(lines: Iterable[bytes]) -> TombstoneIndex:
    values = list(map(parse_line, lines))
    salts = {name_of(value): value for value in values if isinstance(value, bytes)}
    stones = {value.key: value for value in values if isinstance(value, Tombstone)}
    lifted = {value for value in values if isinstance(value, str)}
    usable = [stone for stone in stones.values() if stone.salt in salts]
    standing = tuple(stone for stone in usable if stone.key not in lifted)
    known = index_tombstones(salts, standing, tuple(stone for stone in usable if stone.key in lifted))
    for value in values:
        if isinstance(value, Removal) and value.key not in lifted:
            known.removed.setdefault(value.id, []).append(value)
    return known


def index_tombstones(
    salts: dict[str, bytes], standing: tuple[Tombstone, ...], lifted: tuple[Tombstone, ...] = ()
) -> TombstoneIndex:
    known = TombstoneIndex(
        salts,
        standing,
        lifted,
        sizes=frozenset(size for stone in standing for size in stone.sizes),
        purged_turns=frozenset(turn for stone in (*standing, *lifted) if stone.purged for turn in stone.turns),
    )
    for stone in standing:
        for index, hashes in (
            (known.by_text, (*stone.statements, *stone.quotes)),
            (known.by_id, stone.ids),
            (known.by_turn, stone.turns),
        ):
            for each in dict.fromkeys(hashes):
                index.setdefault(each, []).append(stone)
    return known
