"""The clock, and the validity of memories. Only this module reads the time."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from memem.core.memory import Memory, id8_of

Clock = Callable[[], datetime]
Ticks = Callable[[], float]  # seconds of a monotonic clock


def system_clock() -> datetime:
    return datetime.now().astimezone()


def iso(moment: datetime) -> str:
    """Format a time as notes and events have it: ISO 8601 with zone and whole seconds."""
    return moment.isoformat(timespec="seconds")


def moment(text: str) -> datetime | None:
    """Parse an ISO 8601 time, in UTC unless it has a zone; None if it is invalid."""
    try:
        named = datetime.fromisoformat(text)
    except ValueError:
        return None
    return named if named.tzinfo else named.replace(tzinfo=UTC)


SET_ASIDE = ("deprecated", "stale")


class Span(NamedTuple):
    """A period in seconds since the epoch, without its end; None for an open side."""

    begins: float | None = None
    ends: float | None = None

    def contains(self, at: float) -> bool:
        return (self.begins is None or self.begins <= at) and (self.ends is None or at < self.ends)


ALWAYS = Span()


def get_stated_span(memory: Memory, zone: tzinfo | None) -> Span:
    """Return the period from `valid_from` to `valid_to`; a day counts as a whole."""
    return Span(begin_of(memory.valid_from, zone), end_of(memory.valid_to, zone))


def get_valid_span(memory: Memory, zone: tzinfo | None, changed: float) -> Span:
    """Return the stated period; where it is open, from the creation until the note was superseded or set aside."""
    says = get_stated_span(memory, zone)
    begins = begin_of(memory.created, zone) if says.begins is None else says.begins
    aside = memory.status in SET_ASIDE or memory.superseded_by
    return Span(begins, changed if aside and says.ends is None else says.ends)


def get_said_time(memory: Memory, zone: tzinfo | None) -> float | None:
    """Return when a memory was said, in seconds: `valid_from`, else its creation; None if it states neither."""
    begins = begin_of(memory.valid_from, zone)
    return begin_of(memory.created, zone) if begins is None else begins


def get_said_day(memory: Memory) -> str:
    """Return the day on which a memory was said; empty if the memory states no readable date."""
    for text in (memory.valid_from, memory.created, memory.updated):
        with suppress(ValueError):
            return datetime.fromisoformat(text.strip()).date().isoformat()
    return ""


def clamp_end(memory: Memory, end: str, zone: tzinfo | None) -> str:
    """Return `end` as the end of a memory's validity, or its `valid_from` if that is later."""
    begins, ends = begin_of(memory.valid_from, zone), begin_of(end, zone)
    return memory.valid_from if begins is not None and ends is not None and ends < begins else end


def format_seconds(seconds: float, zone: tzinfo | None) -> str:
    """Format seconds since the epoch as a note's time."""
    return iso(datetime.fromtimestamp(seconds, zone))


def is_in_force(memory: Memory, now: datetime) -> bool:
    """Check that a memory is active and valid now, by its own statement."""
    current = memory.status == "active" and not memory.superseded_by
    return current and get_stated_span(memory, now.tzinfo).contains(now.timestamp())


def begin_of(text: str, zone: tzinfo | None, days_later: int = 0) -> float | None:
    """Return when a time or date begins, in seconds, for a date `days_later` days on; None if it is neither."""
    day = _day(text)
    try:
        moment = datetime.fromisoformat(text.strip()) if day is None else datetime.combine(day, time.min)
        moment += timedelta(days=0 if day is None else days_later)
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()
    except (OverflowError, OSError, ValueError):
        return None


def end_of(text: str, zone: tzinfo | None) -> float | None:
    """Return the time at which a date or time ends, in seconds; None if it is neither, or the last possible day."""
    return begin_of(text, zone, days_later=1)


def write_as_time(text: str, zone: tzinfo | None, *, last: bool = False) -> str:
    """Write a date as a time, its beginning or its `last` second, since a property has one type."""
    day = _day(text)
    return text if day is None else datetime.combine(day, time(23, 59, 59) if last else time(), zone).isoformat()


def is_day(text: str) -> bool:
    return _day(text) is not None


def is_unreadable(text: str) -> bool:
    """Check whether a text is neither empty nor a date or time."""
    return bool(text) and begin_of(text, None) is None


def describe_status(memory: Memory) -> str:
    """Say in a few words why a memory may be outdated; empty if it is not."""
    parts = [memory.status] if memory.status != "active" else []
    if memory.stale_because and memory.status == "stale":
        parts = [f"stale: {memory.stale_because}"]
    until = memory.valid_to or (memory.updated if memory.superseded_by else "")
    parts += [f"until {until[:10]}"] if until else []
    return ", ".join([*parts, *([f"replaced by {id8_of(memory.superseded_by)}"] if memory.superseded_by else [])])


def describe_period(memory: Memory) -> str:
    """Say from which day until which a memory was valid; empty if unknown."""
    begins = memory.valid_from or memory.created
    aside = memory.status in SET_ASIDE or memory.superseded_by
    ends = memory.valid_to or (memory.updated if aside else "")
    words = [f"from {begins[:10]}"] if begins else []
    words += [f"until {ends[:10]}"] if ends else []
    return f"valid {' '.join(words)}" if words else ""


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None
