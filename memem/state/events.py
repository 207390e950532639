"""`events.jsonl`, one line per change to the vault, in batches undone as one; and the undo store of earlier bytes."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import timedelta
from pathlib import Path

from memem.core import files
from memem.core.dates import Clock, iso
from memem.core.errors import HomeError
from memem.core.files import from_json
from memem.core.home import Home

UNDO_DAYS = 30  # for bytes in the undo store, and for notes in `.forgotten/`
UNDO_BYTES = 50_000_000
EVENTS_BYTES = 50_000_000  # a longer log loses its oldest batches, down to half of this
_PRUNE_EVERY_BYTES = UNDO_BYTES // 10
PRUNE_INTERVAL = timedelta(hours=6)
CLOCK_LEAP = timedelta(days=3)  # after such a leap the clock may be wrong, so nothing is dropped for its age
_COUNTER = ".pruned.json"
_BLOCK_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Event:
    """One change to a note. Events older than batches lack the last four fields."""

    time: str
    actor: str
    action: str
    id: str
    path: str
    why: str
    before: str  # sha256 of its bytes; empty: no file
    after: str
    batch: str = ""
    what: str = ""  # the run or command of the batch
    number: int = 0  # the place in the batch, from 1
    vault: str = ""  # the vault's id


@dataclass(slots=True)
class _Batch:
    what: str
    id: str = field(default_factory=lambda: os.urandom(4).hex())
    events: int = 0


class EventLog:
    """Appends events and stores the bytes they replace. Used under the write lock, by one thread."""

    def __init__(self, home: Home, clock: Clock, *, actor: str, fsync: bool) -> None:
        self._home = home
        self._clock = clock
        self._actor = actor
        self._fsync = fsync
        self._batch: _Batch | None = None

    @contextmanager
    def batch(self, what: str) -> Iterator[str]:
        """Record the enclosed events as one batch, and yield its id. An inner batch joins the outer one."""
        if self._batch:
            yield self._batch.id
            return
        self._batch = _Batch(what)
        try:
            yield self._batch.id
        finally:
            self._batch = None

    def store_undo(self, digest: str, data: bytes) -> None:
        try:
            files.make_private_folder(self._home.undo)
            files.write_atomic(self._home.undo / digest, data, fsync=self._fsync, mode=files.PRIVATE_FILE)
            self._prune_undo(len(data))
        except OSError as error:
            raise HomeError(f"Cannot store an undo copy in {self._home.undo}: {files.reason(error)}.") from None

    def record(self, action: str, *, id: str, path: str, why: str, before: str, after: str, vault: str = "") -> Event:
        """Append an event. Outside of a batch it is a batch of its own, named after its action."""
        batch = self._batch or _Batch(action)
        batch.events += 1
        place = (batch.id, batch.what, batch.events, vault)
        event = Event(iso(self._clock()), self._actor, action, id, path, why, before, after, *place)
        line = json.dumps(asdict(event), ensure_ascii=False).encode()
        try:
            files.make_private_folder(self._home.state)
            if batch.events == 1:  # never cut a batch in progress
                self._shorten()
            files.append_line(self._home.events_file, line, fsync=self._fsync)
        except OSError as error:
            where = f"{path} in {self._home.events_file}"
            raise HomeError(f"Cannot record the change to {where}: {files.reason(error)}.") from None
        return event

    def read(self) -> Iterator[Event]:
        """Yield events, oldest first, skipping lines torn by a crash."""
        with suppress(FileNotFoundError), self._home.events_file.open("rb") as file:
            for line in file:
                yield from _parse_line(line)

    def read_backwards(self) -> Iterator[Event]:
        """Yield events, newest first, reading no more of the log than needed."""
        with suppress(FileNotFoundError), self._home.events_file.open("rb") as file:
            place = file.seek(0, os.SEEK_END)
            rest = b""  # the end of a line that starts in an earlier block
            while place:
                size = min(_BLOCK_BYTES, place)
                place -= size
                file.seek(place)
                rest, *lines = (file.read(size) + rest).split(b"\n")
                for line in reversed(lines):
                    yield from _parse_line(line)
            yield from _parse_line(rest)

    def last(self) -> Event | None:
        return next(self.read_backwards(), None)

    def read_undo(self, digest: str) -> bytes | None:
        """Read stored bytes; None if they have been pruned."""
        try:
            return (self._home.undo / Path(digest).name).read_bytes()
        except (OSError, ValueError):  # pruned, or not a file name
            return None

    def _shorten(self) -> None:
        """Drop the oldest whole batches of a log that is too long."""
        path = self._home.events_file
        with suppress(FileNotFoundError):
            if path.stat().st_size <= EVENTS_BYTES:
                return
            newest = b"".join(_newest_batches(path.read_bytes().splitlines(keepends=True)))
            files.write_atomic(path, newest, fsync=self._fsync, mode=files.PRIVATE_FILE)

    def _prune_undo(self, added: int) -> None:
        """Prune the undo store if it is due; a counter file saves listing the folder at each write."""
        counter = self._home.undo / _COUNTER
        now = self._clock().timestamp()
        try:
            # When the store was last pruned, and how many bytes were added since.
            last, grown = from_json(counter.read_text())
            last, grown = float(last), int(grown) + added
        except (OSError, ValueError, TypeError, OverflowError):
            last, grown = 0.0, added
        if grown >= _PRUNE_EVERY_BYTES or abs(now - last) >= PRUNE_INTERVAL.total_seconds():
            self._drop_oldest(now, by_age=not last or abs(now - last) < CLOCK_LEAP.total_seconds())
            last, grown = now, 0
        files.write_atomic(counter, json.dumps([last, grown]).encode(), fsync=False, mode=files.PRIVATE_FILE)

    def _drop_oldest(self, now: float, *, by_age: bool) -> None:
        entries = [(entry.stat(), entry.path) for entry in os.scandir(self._home.undo) if entry.name != _COUNTER]
        total = 0
        for status, path in sorted(entries, key=lambda entry: entry[0].st_mtime, reverse=True):
            total += status.st_size
            is_old = by_age and now - status.st_mtime > timedelta(days=UNDO_DAYS).total_seconds()
            # Leave room for what is added until the next pruning, so that the limit is never exceeded.
            if is_old or total > UNDO_BYTES - _PRUNE_EVERY_BYTES:
                files.remove_quietly(Path(path))


def _newest_batches(lines: Sequence[bytes]) -> list[bytes]:
    """The lines of the newest batches, up to half of the log's limit; lines that are not events are dropped."""
    batches: dict[str, dict[int, bytes]] = {}  # newest first, by their last events
    for number, line in reversed(list(enumerate(lines))):
        for event in _parse_line(line):
            batches.setdefault(event.batch or str(number), {})[number] = line
    chosen: dict[int, bytes] = {}
    total = 0
    for batch in batches.values():
        if total < EVENTS_BYTES // 2:
            chosen |= batch
            total += sum(map(len, batch.values()))
    return [line for _, line in sorted(chosen.items())]


def _parse_line(line: bytes) -> Iterator[Event]:
    try:
        event = Event(**from_json(line))
    except (ValueError, TypeError):
        return
    if all(type(getattr(event, each.name)) is each.type for each in fields(event)):
        yield event
