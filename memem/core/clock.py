"""The one place that reads the time, so that everything else can be tested with a time that is given."""

from collections.abc import Callable
from datetime import UTC, datetime

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
