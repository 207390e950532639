"""The one place that reads the time, so that everything else can be tested with a time that is given."""

from collections.abc import Callable
from datetime import datetime

Clock = Callable[[], datetime]
Ticks = Callable[[], float]
"""Seconds that only ever go forward, whatever is done to the clock."""


def system_clock() -> datetime:
    """Now, with the zone of this machine."""
    return datetime.now().astimezone()


def iso(moment: datetime) -> str:
    """Full ISO 8601 with zone and whole seconds: what notes and events carry."""
    return moment.isoformat(timespec="seconds")
