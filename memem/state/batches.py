"""The event log as what was done: batches of events, and what each did to every note, all in all."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from memem.state.events import Event

UNDO, UNDONE = "undo", "undone"
"""What a batch is that takes back another; and the action of its last event, whose path is the id of that other one."""
IMPORT = "import"
VANISH = "vanish"
"""A person says that notes which are gone were deleted on purpose: memem took nothing away, and may have no copy."""
ADD_TOMBSTONES, REMOVE_TOMBSTONES = "bury", "unbury"
"""An import brought tombstones along, and an undo of it lifted them; `after` and `before` are of the list of their
keys."""

ALLOW, REFUSE, ASK = "allow", "refuse", "ask"
VERDICTS = (ALLOW, REFUSE, ASK)
"""A person accepts a note that was held back, rejects it, or takes that back: its bytes stay as they are."""


@dataclass(frozen=True, slots=True)
class NoteChange:
    """What a batch did to one note: its events, oldest first, each beginning where the one before it ended.

    `is_whole` is False when others changed the note between two events of the batch.
    """

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
    def before(self) -> str:
        """The digest of what the note was; empty when there was none."""
        return self.events[0].before

    @property
    def after(self) -> str:
        """The digest of what it became."""
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
        """The batch that it has taken back, to the end."""
        return self.last.path if self.last.action == UNDONE else ""

    @cached_property
    def changes(self) -> tuple[NoteChange, ...]:
        """Of each note that is another one now, or that a person spoke of, in the order of their last events."""
        notes: dict[str, list[Event]] = {}
        for event in reversed(self.events):
            if event.action != UNDONE:
                notes.setdefault(event.id or event.path, []).append(event)
        steps = [_step(events) for events in notes.values()]
        return tuple(step for step in reversed(steps) if step.before != step.after or step.last.action in VERDICTS)


def read_batches(newest_first: Iterable[Event]) -> Iterator[LoggedBatch]:
    """The batches, newest first. No more events are asked for than it takes to know a batch whole."""
    waiting: dict[str, list[Event]] = {}
    for event in newest_first:
        name = event.batch or _name(event)
        waiting.setdefault(name, []).append(event)
        while waiting:  # others may have written in between: the next in turn is not the next that is whole
            first = next(iter(waiting))
            if waiting[first][-1].number > 1:
                break
            yield _deed(first, waiting.pop(first))
    for name, events in waiting.items():
        yield _deed(name, events)


def _deed(name: str, newest_first: list[Event]) -> LoggedBatch:
    return LoggedBatch(name, tuple(reversed(newest_first)))


def _step(newest_first: list[Event]) -> NoteChange:
    chain = newest_first[:1]
    for event in newest_first[1:]:
        if event.after != chain[-1].before:
            return NoteChange(tuple(reversed(chain)), is_whole=False)
        chain.append(event)
    return NoteChange(tuple(reversed(chain)))


def _name(event: Event) -> str:
    """An event from before there were batches is one of its own."""
    told = (event.time, event.action, event.id, event.path, event.before, event.after)
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:8]
