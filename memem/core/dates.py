"""The clock, and when a memory holds: the only place that reads the time, and the dates that notes state."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from memem.core.memory import Memory, id8_of

Clock = Callable[[], datetime]
Ticks = Callable[[], float]
"""Seconds that only ever go forward, whatever is done to the clock."""


def system_clock() -> datetime:
    """Now, with the zone of this machine."""
    return datetime.now().astimezone()


def iso(moment: datetime) -> str:
    """Full ISO 8601 with zone and whole seconds: what notes and events carry."""
    return moment.isoformat(timespec="seconds")


def moment(text: str) -> datetime | None:
    """The moment that an ISO 8601 text names, in UTC unless it says otherwise; None when it names none."""
    try:
        named = datetime.fromisoformat(text)
    except ValueError:
        return None
    return named if named.tzinfo else named.replace(tzinfo=UTC)


SET_ASIDE = ("deprecated", "stale")


class Span(NamedTuple):
    """From one moment until just before another, in seconds since the epoch; None where a side is open."""

    begins: float | None = None
    ends: float | None = None

    def holds(self, at: float) -> bool:
        return (self.begins is None or self.begins <= at) and (self.ends is None or at < self.ends)


ALWAYS = Span()


def stated_span(memory: Memory, zone: tzinfo | None) -> Span:
    """As the note says by `valid_from` and `valid_to`. A day counts from its beginning, and through its end."""
    return Span(begin_of(memory.valid_from, zone), end_of(memory.valid_to, zone))


def held_span(memory: Memory, zone: tzinfo | None, changed: float) -> Span:
    """When it was held true: from when it was written down, and until it was set aside, where it does not say."""
    says = stated_span(memory, zone)
    begins = begin_of(memory.created, zone) if says.begins is None else says.begins
    aside = memory.status in SET_ASIDE or memory.superseded_by
    return Span(begins, changed if aside and says.ends is None else says.ends)


def is_in_force(memory: Memory, now: datetime) -> bool:
    """Whether it holds now, by its own word."""
    current = memory.status == "active" and not memory.superseded_by
    return current and stated_span(memory, now.tzinfo).holds(now.timestamp())


def begin_of(text: str, zone: tzinfo | None) -> float | None:
    """The moment that a date or a time begins; None when it is neither."""
    day = _day(text)
    return _moment(text, zone) if day is None else _midnight(day, zone)


def end_of(text: str, zone: tzinfo | None) -> float | None:
    """The moment that it is over."""
    day = _day(text)
    if day == date.max:
        return None  # for ever
    return _moment(text, zone) if day is None else _midnight(day + timedelta(days=1), zone)


def in_full(text: str, zone: tzinfo | None, *, last: bool = False) -> str:
    """A date with its time, since a property is of one type: of a day its beginning, or its `last` second."""
    day = _day(text)
    if day is None:
        return text
    return datetime.combine(day, time(23, 59, 59) if last else time(), zone).isoformat()


def is_day(text: str) -> bool:
    """Whether a text is a date without a time."""
    return _day(text) is not None


def is_unreadable(text: str) -> bool:
    """Whether a text that should be a date or a time is neither."""
    return bool(text) and begin_of(text, None) is None


def remark(memory: Memory) -> str:
    """In a few words, why a memory may no longer hold; nothing when it does as far as it says."""
    parts = [memory.status] if memory.status != "active" else []
    if memory.stale_because and memory.status == "stale":
        parts = [f"stale: {memory.stale_because}"]
    until = memory.valid_to or (memory.updated if memory.superseded_by else "")
    parts += [f"until {until[:10]}"] if until else []
    return ", ".join([*parts, *([f"replaced by {id8_of(memory.superseded_by)}"] if memory.superseded_by else [])])


def period(memory: Memory) -> str:
    """From when until when it was held true, by the day; empty when that is not known."""
    begins = memory.valid_from or memory.created
    aside = memory.status in SET_ASIDE or memory.superseded_by
    ends = memory.valid_to or (memory.updated if aside else "")
    words = [f"from {begins[:10]}"] if begins else []
    words += [f"until {ends[:10]}"] if ends else []
    return f"held {' '.join(words)}" if words else ""


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None


def _midnight(day: date, zone: tzinfo | None) -> float | None:
    return _seconds(datetime.combine(day, time.min, zone))


def _moment(text: str, zone: tzinfo | None) -> float | None:
    """What says no zone is meant as the clock here shows it: so does Obsidian write it."""
    try:
        named = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return _seconds(named if named.tzinfo else named.replace(tzinfo=zone))


def _seconds(moment: datetime) -> float | None:
    try:
        return moment.timestamp()
    except (OverflowError, OSError, ValueError):
        return None
