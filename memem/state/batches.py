"""The event log read as batches, and the net change that each made to every note."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, takewhile

from memem.state.events import Event

RENAME = "rename"  # the note moved from the event's path to that of the next event, with the same bytes
UNDO = "undo"  # the name of a batch that undoes another
UNDONE = "undone"  # the action of its last event, whose path is the id of the batch that was undone
IMPORT = "import"
VANISH = "vanish"  # a person confirmed that missing notes were deleted on purpose; there may be no copy
# An import added tombstones, and its undo removed them; `after` and `before` are digests of the list of their keys.
TOMBSTONE_ACTIONS = ADD_TOMBSTONES, REMOVE_TOMBSTONES = "bury", "unbury"
# A person's verdict on a held note, and its withdrawal: the note's bytes stay as they are.
VERDICTS = ALLOW, REFUSE, ASK = "allow", "refuse", "ask"


@dataclass(frozen=True, slots=True)
class NoteChange:
    """The events of one batch for one note, oldest first. Not `is_whole`: others changed the note in between."""

    events: tuple[Event, ...]
    is_whole: bool = True

    @property
    def last(self) -> Event:
        return self.events[-1]

    @property
    def id(self) -> str:
        return self.last.id

    @property
    def path(self) -> str:
        return self.last.path

    @property
    def former_path(self) -> str:
        """Where the note was before memem renamed it in this batch; its path if it did not."""
        path = self.path
        for event, following in reversed(list(pairwise(self.events))):
            if event.action == RENAME and following.path == path:
                path = event.path
            elif event.path != path:  # moved by a person in between
                break
        return path

    @property
    def before(self) -> str:
        """The digest of the note's bytes before the batch; empty without a note."""
        return self.events[0].before

    @property
    def after(self) -> str:
        return self.last.after


@dataclass(frozen=True)
class LoggedBatch:
    """A batch of the log: its id and its events, oldest first."""

    id: str
    events: tuple[Event, ...]

    @property
    def last(self) -> Event:
        return self.events[-1]

    @property
    def what(self) -> str:
        return self.last.what or self.last.action

    @property
    def undoes(self) -> str:
        """The id of the batch that this one has undone completely."""
        return self.last.path if self.last.action == UNDONE else ""

    @cached_property
    def changes(self) -> tuple[NoteChange, ...]:
        """Changed notes and notes with a verdict, in the order of their last events."""
        notes: dict[str, list[Event]] = {}
        for event in reversed(self.events):
            if event.action != UNDONE:
                notes.setdefault(event.id or event.path, []).append(event)
        changes = [_join_events(events) for events in reversed(notes.values())]
        return tuple(each for each in changes if each.before != each.after or each.last.action in VERDICTS)


def read_batches(newest_first: Iterable[Event]) -> Iterator[LoggedBatch]:
    """Yield batches, newest first, reading no more events than each needs."""
    waiting: dict[str, list[Event]] = {}
    for event in newest_first:
        waiting.setdefault(event.batch or _legacy_batch_id(event), []).append(event)
        while waiting:  # batches of several processes may interleave
            first = next(iter(waiting))
            if waiting[first][-1].number > 1:
                break
            yield LoggedBatch(first, tuple(reversed(waiting.pop(first))))
    for batch, events in waiting.items():
        yield LoggedBatch(batch, tuple(reversed(events)))


def _join_events(newest_first: list[Event]) -> NoteChange:
    chained = list(takewhile(lambda pair: pair[0].before == pair[1].after, pairwise(newest_first)))
    chain = [newest_first[0], *(earlier for _, earlier in chained)]
    return NoteChange(tuple(reversed(chain)), is_whole=len(chain) == len(newest_first))


def _legacy_batch_id(event: Event) -> str:
    """Events older than batches are batches of their own."""
    parts = (event.time, event.action, event.id, event.path, event.before, event.after)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]
