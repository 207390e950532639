"""Stand-ins for what a test must control."""

import errno
import os
import stat
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

START = datetime(2026, 3, 1, 9, 0, 0, tzinfo=timezone(timedelta(hours=1)))


class SteppingClock:
    """Time that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def ticks(self) -> float:
        return self.now.timestamp()

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


class FaultyOs:
    """The `os` module; its calls are written down, and the one at `fail_at` fails.

    A write that fails has torn off its second half, and a close that fails has closed: so do real disks.
    """

    WATCHED = ("open", "write", "fsync", "replace", "close", "unlink")

    def __init__(self, fail_at: int = -1, error: BaseException | None = None) -> None:
        self.calls: list[str] = []
        self.open_files: set[int] = set()
        self.longest_write = sys.maxsize
        self._fail_at = fail_at
        self._error = error or OSError(errno.ENOSPC, "No space left on device")

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._watched(name, real) if name in self.WATCHED else real

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            failing = len(self.calls) == self._fail_at
            self.calls.append(self._described(name, args))
            if name == "close":
                self.open_files.discard(args[0])
            if name == "write":
                args = (args[0], bytes(args[1])[: self.longest_write])
            if failing:
                if name == "write":
                    real(args[0], args[1][: len(args[1]) // 2])
                if name == "close":
                    real(*args)
                raise self._error
            result = real(*args)
            if name == "open":
                self.open_files.add(result)
            return result

        return call

    def _described(self, name: str, args: tuple[Any, ...]) -> str:
        if name == "fsync":
            return "fsync folder" if stat.S_ISDIR(os.fstat(args[0]).st_mode) else "fsync file"
        return name
