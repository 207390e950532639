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

from memem.core import files, safe_open
from memem.core.errors import VaultError, VaultUnwritable
from memem.core.files import Stamp
from memem.core.home import VaultPaths
from memem.core.tombstone import Removal, Tombstone

SALT_BYTES = 16
_MOST_SALT_BYTES = 64  # more cannot be hashed with
_LISTS = frozenset(each.name for each in fields(Tombstone) if str(each.type).startswith("tuple"))
_NAMES = frozenset(each.name for each in fields(Tombstone))
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


NO_TOMBSTONES = TombstoneIndex()


class Tombstones:
    """The file of one vault, read again only when it changed."""

    def __init__(self, paths: VaultPaths, *, fsync: bool) -> None:
        self._path = paths.tombstones
        self._fsync = fsync
        self._read: tuple[object, TombstoneIndex] = (None, NO_TOMBSTONES)

    def load(self) -> TombstoneIndex:
        """Read the tombstones, again only if the files have changed."""
        stamps = self._stamps()
        if not stamps:
            return NO_TOMBSTONES
        if self._read[0] != stamps:
            lines = [line for path in stamps for line in _lines(path)]
            self._read = (stamps, read_lines(lines))
        return self._read[1]

    def salt(self) -> tuple[str, bytes]:
        """Return the name of the vault's salt and the salt, created if there is none."""
        known = self.load().salts
        if known:
            return next(iter(known.items()))
        salt = os.urandom(SALT_BYTES)
        self._add([_salt_line(salt)])
        return name_of(salt), salt

    def add(self, tombstones: Iterable[Tombstone], salt: bytes) -> None:
        """Add tombstones made with a salt, and the salt if it is new."""
        known = name_of(salt) in self.load().salts
        lines = [{"tombstone": asdict(each)} for each in tombstones]
        if lines:
            self._add([*([] if known else [_salt_line(salt)]), *lines])

    def remove(self, removal: Removal) -> None:
        """Record that an undo removed a note.

        The undo of a large import removes thousands: the file is not read again if nobody else has written to it.
        """
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
        return list(dict.fromkeys(line for path in self._stamps() for line in _lines(path) if line.strip()))

    def take_in(self, lines: Iterable[bytes]) -> None:
        """Add lines of another such file, as they are."""
        self._write(list(lines))

    def _add(self, lines: list[dict[str, Any]]) -> int:
        """Append lines and return their bytes."""
        texts = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines]
        coded = [text.encode("utf-8", "replace") for text in texts]
        self._write(coded)
        return sum(len(line) + 1 for line in coded)

    def _write(self, lines: list[bytes]) -> None:
        try:
            for line in lines:
                files.append_line(self._path, line, fsync=self._fsync)
        except OSError as error:
            raise VaultUnwritable(f"Cannot write {self._path}: {files.reason(error)}. Nothing was forgotten.") from None

    def _stamps(self) -> dict[Path, Stamp]:
        first = files.stamp(self._path)
        if first is None:
            return {}
        beginning, ending = self._path.stem, self._path.suffix
        copies = sorted(
            Path(entry.path)
            for entry in os.scandir(self._path.parent)
            if entry.name.startswith(beginning) and entry.name.endswith(ending) and entry.name != self._path.name
        )
        stamps = {path: files.stamp(path) for path in copies}
        return {self._path: first} | {path: stamp for path, stamp in stamps.items() if stamp}


def name_of(salt: bytes) -> str:
    """The name by which tombstones refer to a salt."""
    from hashlib import blake2b

    return blake2b(salt, digest_size=4, person=b"memem salt").hexdigest()


def from_json(told: Any) -> Tombstone:
    """Parse a tombstone, ignoring fields of a newer memem. Raises TypeError or ValueError."""
    stated = {name: _typed(name, value) for name, value in dict(told).items() if name in _NAMES}
    return Tombstone(**stated)


def _typed(name: str, value: Any) -> Any:
    """Check the type of a field: a sync, a person or another program may have written it."""
    wanted = _TYPES.get(name, str)
    each = value if name in _LISTS and isinstance(value, list) else [value]
    if (name in _LISTS) != isinstance(value, list) or not all(type(one) is wanted for one in each):
        raise TypeError(f"{name} has the wrong type for a tombstone")
    if wanted is int and min(each, default=1) < 1:
        raise ValueError(f"{name} is not a number of sentences")
    return tuple(each) if name in _LISTS else value


def parse_line(line: bytes) -> TombstoneLine | None:
    """Parse a line; None when it is torn or not understood."""
    try:
        told = files.from_json(line)
        if len(line.splitlines()) > 1 or not isinstance(told, dict):
            return None
        if "salt" in told:
            salt = bytes.fromhex(told["salt"])
            return salt if SALT_BYTES <= len(salt) <= _MOST_SALT_BYTES else None
        if "tombstone" in told:
            return from_json(told["tombstone"])
        if "removed" in told:
            return Removal(str(told["key"]), str(told["removed"]), str(told["time"]))
        return str(told["lifted"])
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def read_lines(lines: Iterable[bytes]) -> TombstoneIndex:
    """Read lines into an index."""
    salts: dict[str, bytes] = {}
    stones: dict[str, Tombstone] = {}
    removals: list[Removal] = []
    lifted: set[str] = set()
    for told in map(parse_line, lines):
        if isinstance(told, bytes):
            salts[name_of(told)] = told
        elif isinstance(told, Tombstone):
            stones[told.key] = told
        elif isinstance(told, Removal):
            removals.append(told)
        elif told is not None:
            lifted.add(told)
    usable = [stone for stone in stones.values() if stone.salt in salts]
    standing = tuple(stone for stone in usable if stone.key not in lifted)
    known = index_tombstones(salts, standing, tuple(stone for stone in usable if stone.key in lifted))
    for removal in removals:
        if removal.key not in lifted:
            known.removed.setdefault(removal.id, []).append(removal)
    return known


def index_tombstones(
    salts: dict[str, bytes], standing: tuple[Tombstone, ...], lifted: tuple[Tombstone, ...] = ()
) -> TombstoneIndex:
    """Index tombstones by what they match."""
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


def _salt_line(salt: bytes) -> dict[str, str]:
    return {"salt": salt.hex()}


def _lines(path: Path) -> list[bytes]:
    try:
        with safe_open.open_plain(path, follow=False) as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        # Going on without it would bring back forgotten memories.
        raise VaultError(f"Cannot read {path}: {files.reason(error)}.") from None
