"""Whether nothing runs any more of what was begun in the background."""

import time
from collections.abc import Callable, Sized

QUIET_SECONDS = 0.2
"""A process that just becomes another program shows no variables for a moment: one look is not enough."""


def quiet(processes: Callable[[], Sized]) -> Callable[[], bool]:
    """To be asked until it is true: that none was seen for a while."""
    busy = time.monotonic()

    def is_quiet() -> bool:
        nonlocal busy
        busy = time.monotonic() if processes() else busy
        return time.monotonic() - busy > QUIET_SECONDS

    return is_quiet
