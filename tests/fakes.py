"""Stand-ins for what a test must control."""

from datetime import datetime, timedelta, timezone

START = datetime(2026, 3, 1, 9, 0, 0, tzinfo=timezone(timedelta(hours=1)))


class SteppingClock:
    """Time that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)
