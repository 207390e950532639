"""Stand-ins for what a test must control."""

import errno
import functools
import os
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

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


class FaultyOs:
    """`os` for `memem.core.files`, whose n-th changing call fails as on a full disk; a write is torn first."""

    FAILING = ("open", "write", "fsync", "replace")

    def __init__(self, fail_at: int) -> None:
        self.left = fail_at
        self.failed = False

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return functools.partial(self._call, name, real) if name in self.FAILING else real

    def _call(self, name: str, real: Callable[..., Any], *arguments: Any) -> Any:
        self.left -= 1
        if self.left != 0:
            return real(*arguments)
        self.failed = True
        if name == "write":
            real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
