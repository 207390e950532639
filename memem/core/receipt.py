"""A receipt: what was decided about a prompt, and why. One is written with every decision, shown or not."""

from dataclasses import dataclass, fields
from typing import Any, Self

from memem.core.memory import ID8

PROMPT, SESSION_START, FILE = "prompt", "session start", "file"
UNUSED = "no"
RUNNERS_UP = 3
"""So many of those that were not shown are told of."""


@dataclass(frozen=True, slots=True)
class Item:
    """A memory that was shown, or nearly was.

    `terms` are words of the prompt, or of what it refers to, that stand in the memory; of the others, which may be
    secrets, nothing is kept. `kept_out` is why it was not shown, empty in old receipts. `used` says how it was used, or
    `no`; it is empty as long as nobody can tell.
    """

    id: str
    title: str = ""
    shown: bool = True
    pinned: bool = False  # shown whatever was asked
    score: float | None = None
    confidence: float | None = None
    cosine: float | None = None
    terms: tuple[str, ...] = ()
    used: str = ""
    kept_out: str = ""

    @property
    def id8(self) -> str:
        return self.id[:ID8]

    def as_json(self) -> dict[str, Any]:
        """What differs from an item of which nothing is known, so that a receipt is short."""
        stated = {field.name: getattr(self, field.name) for field in fields(self)}
        usual = {field.name: field.default for field in fields(self)}
        return {name: value for name, value in stated.items() if value != usual[name]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        return cls(**{**value, "terms": tuple(value.get("terms", ()))})


@dataclass(frozen=True, slots=True)
class Receipt:
    """One decision. `prompt` is a hash, keyed with a secret of this home: it tells the prompts of a session apart, and
    whoever cannot read the secret cannot try what they say. It is empty where there was none.

    `line` is the least confidence that was asked of a memory then. `followed` says that what was looked for came from
    earlier turns too, since the prompt refers to them.
    """

    time: float  # in seconds since the epoch
    event: str  # prompt, session start or file
    session: str = ""
    project: str = ""
    prompt: str = ""
    reason: str = ""
    characters: int = 0
    line: float = 0.0
    degraded: str = ""
    items: tuple[Item, ...] = ()
    number: int = 0  # given when it is kept
    followed: bool = False

    @property
    def shown(self) -> tuple[Item, ...]:
        return tuple(item for item in self.items if item.shown)

    @property
    def runners_up(self) -> tuple[Item, ...]:
        return tuple(item for item in self.items if not item.shown)

    @property
    def to_judge(self) -> tuple[Item, ...]:
        """What was shown since it was called for: only of that its use, or the want of it, says something."""
        called_for = self.event in (PROMPT, FILE) and bool(self.session)
        return tuple(item for item in self.shown if not item.pinned) if called_for else ()
