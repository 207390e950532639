"""`events.jsonl`: one line per mutation, in batches. And the undo store: the bytes that notes had before.

A batch is what one run or command did: it is shown, and taken back, as one.
"""

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

UNDO_DAYS = 30
UNDO_BYTES = 50_000_000
EVENTS_BYTES = 50_000_000
"""A log that is longer loses its oldest batches, until the others are half of that."""
_PRUNE_EVERY_BYTES = UNDO_BYTES // 10
PRUNE_INTERVAL = timedelta(hours=6)
CLOCK_LEAP = timedelta(days=3)
"""When time went on by so much at once, somebody was away, or the clock is wrong: what is old is judged next time."""
_COUNTER = ".pruned.json"
_BLOCK_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Event:
    """Who did what to which note, why, and the sha256 of its bytes before and after (empty: no file).

    `batch` is which run or command it was part of, `what` that was, `number` its place in it, from 1 on, and `vault`
    the id of the vault: none of them is known of an event from before there were batches.
    """

    time: str
    actor: str
    action: str
    id: str
    path: str
    why: str
    before: str
    after: str
    batch: str = ""
    what: str = ""
    number: int = 0
    vault: str = ""


class EventLog:
    """Appends events and keeps what they replaced. Called under the write lock; belongs to one thread."""

    def __init__(self, home: Home, clock: Clock, *, actor: str, fsync: bool) -> None:
        self._home = home
        self._clock = clock
        self._actor = actor
        self._fsync = fsync
        self._batch: _Batch | None = None

    @contextmanager
    def batch(self, what: str) -> Iterator[str]:
        """Everything recorded within is one batch, whose id this is; one within another belongs to the outer one."""
        if self._batch:
            yield self._batch.id
            return
        self._batch = _Batch(what)
        try:
            yield self._batch.id
        finally:
            self._batch = None

    def store_undo(self, digest: str, data: bytes) -> None:
        """Store bytes that are about to be replaced, before they are."""
        try:
            files.make_private_folder(self._home.undo)
            target = self._home.undo / digest
            files.write_atomic(target, data, fsync=self._fsync, mode=files.PRIVATE_FILE)
            self._prune(len(data))
        except OSError as error:
            raise HomeError(f"Cannot keep an undo copy in {self._home.undo}: {files.reason(error)}.") from None

    def record(self, action: str, *, id: str, path: str, why: str, before: str, after: str, vault: str = "") -> Event:
        """Write down a mutation. Outside of a batch it is one of its own, named by its action."""
        batch = self._batch or _Batch(action)
        batch.events += 1
        place = (batch.id, batch.what, batch.events, vault)
        event = Event(iso(self._clock()), self._actor, action, id, path, why, before, after, *place)
        line = json.dumps(asdict(event), ensure_ascii=False).encode()
        try:
            files.make_private_folder(self._home.state)
            if batch.events == 1:  # one that is under way stays whole
                self._shorten()
            files.append_line(self._home.events_file, line, fsync=self._fsync)
        except OSError as error:
            raise HomeError(
                f"The change to {path} cannot be written down in {self._home.events_file}: {files.reason(error)}."
            ) from None
        return event

    def read(self) -> Iterator[Event]:
        """Every whole event, oldest first; a line torn by a crash is passed over."""
        try:
            with self._home.events_file.open("rb") as file:
                for line in file:
                    yield from _events(line)
        except FileNotFoundError:
            return

    def read_backwards(self) -> Iterator[Event]:
        """The same, newest first; no more of the log is read than is asked for."""
        for line in _lines_backwards(self._home.events_file):
            yield from _events(line)

    def last(self) -> Event | None:
        """The newest event."""
        return next(self.read_backwards(), None)

    def read_undo(self, digest: str) -> bytes | None:
        """The bytes of an earlier state, while the undo store still has them."""
        try:
            return (self._home.undo / Path(digest).name).read_bytes()
        except (OSError, ValueError):  # dropped, or no name of a file at all
            return None

    def _shorten(self) -> None:
        """Hold the log to its bound, by whole batches: of one that is cut nobody could take back all."""
        path = self._home.events_file
        with suppress(FileNotFoundError):
            if path.stat().st_size <= EVENTS_BYTES:
                return
            lines = path.read_bytes().splitlines(keepends=True)
            files.write_atomic(path, b"".join(_newest(lines)), fsync=self._fsync, mode=files.PRIVATE_FILE)

    def _prune(self, added: int) -> None:
        """Hold the store to its bounds. A counter beside it spares listing the folder at each write."""
        counter = self._home.undo / _COUNTER
        now = self._clock().timestamp()
        last, grown = _read_counter(counter)
        grown += added
        if grown >= _PRUNE_EVERY_BYTES or abs(now - last) >= PRUNE_INTERVAL.total_seconds():
            # After a leap nothing is too old yet: it may be the clock that is wrong.
            self._drop_old(now, by_age=not last or abs(now - last) < CLOCK_LEAP.total_seconds())
            last, grown = now, 0
        files.write_atomic(counter, json.dumps([last, grown]).encode(), fsync=False, mode=files.PRIVATE_FILE)

    def _drop_old(self, now: float, *, by_age: bool) -> None:
        entries = [(entry.stat(), entry.path) for entry in os.scandir(self._home.undo) if entry.name != _COUNTER]
        entries.sort(key=lambda each: each[0].st_mtime, reverse=True)
        total = 0
        for status, path in entries:
            total += status.st_size
            old = by_age and now - status.st_mtime > timedelta(days=UNDO_DAYS).total_seconds()
            # Room is left for what may come until the next pruning, so that the bound always holds.
            if old or total > UNDO_BYTES - _PRUNE_EVERY_BYTES:
                files.remove_quietly(Path(path))


def _newest(lines: Sequence[bytes]) -> list[bytes]:
    """The lines of the newest batches; of one that is no event, none."""
    batches = [next((event.batch or f"{number}" for event in _events(line)), "") for number, line in enumerate(lines)]
    sizes: dict[str, int] = {}
    for batch, line in zip(reversed(batches), reversed(lines), strict=True):
        sizes[batch] = sizes.get(batch, 0) + len(line)
    sizes.pop("", None)
    kept, total = set[str](), 0
    for batch, size in sizes.items():  # the newest first, by their last events
        if total >= EVENTS_BYTES // 2:
            break
        kept.add(batch)
        total += size
    return [line for batch, line in zip(batches, lines, strict=True) if batch in kept]


@dataclass(slots=True)
class _Batch:
    """The one that is under way."""

    what: str
    id: str = field(default_factory=lambda: os.urandom(4).hex())
    events: int = 0


def _lines_backwards(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            place = file.seek(0, os.SEEK_END)
            begun = b""  # the end of a line whose beginning is in an earlier block
            while place:
                size = min(_BLOCK_BYTES, place)
                place -= size
                file.seek(place)
                begun, *whole = (file.read(size) + begun).split(b"\n")
                yield from reversed(whole)
            yield begun
    except FileNotFoundError:
        return


def _events(line: bytes) -> Iterator[Event]:
    """The event that a line holds, if it holds one."""
    try:
        event = Event(**from_json(line))
    except (ValueError, TypeError):
        return
    if all(type(getattr(event, each.name)) is each.type for each in fields(event)):
        yield event


def _read_counter(counter: Path) -> tuple[float, int]:
    """When the store was last pruned and by how much it has grown; never, when that cannot be told."""
    try:
        last, grown = from_json(counter.read_text())
        return float(last), int(grown)
    except (OSError, ValueError, TypeError, OverflowError):
        return 0.0, 0
