"""What the tables of our databases have in common."""

import sqlite3
from pathlib import Path

from memem.core import sqlite
from memem.core.errors import Busy, HomeError, StateTooNew, StateUnusable

STATE = sqlite.Purpose(
    "state",
    StateUnusable,
    StateTooNew,
    "`memem mining on` sets it aside and begins anew; your notes are not touched.",
)
CONTEXTS = sqlite.Purpose(
    "record of contexts", StateUnusable, StateTooNew, "Delete the file; it is made anew.", patience=150, soft=True
)
UNUSABLE = (StateUnusable, HomeError, Busy)
"""How the record of contexts may be found by those who do without it then."""
guarded = sqlite.guarding(STATE)

MAX_PAUSE_SECONDS = 8 * 86_400.0
"""In seconds. Nobody waits longer, not even for a weekly limit: a later moment is the work of a wrong clock."""


class Table:
    """One or more tables with one owner; `TABLES` makes them."""

    TABLES: tuple[str, ...] = ()

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
