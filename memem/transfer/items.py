"""Values of an import: an item that a source offers, and its outcome."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memem.core.memory import Memory

CREATED, EXISTS, DIFFERS, REFUSED, UNREADABLE = "created", "exists", "differs", "refused", "unreadable"


@dataclass(frozen=True, slots=True)
class ImportItem:
    place: str  # inside the source; the same each time that the source is read
    memory: Memory = field(default_factory=lambda: Memory("", "", ""))  # without an id
    names: tuple[str, ...] = ()  # how other items of the source link to it
    links: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by property
    problem: str = ""  # why it cannot become a memory


@dataclass(frozen=True, slots=True)
class ImportedFile:
    file: str
    outcome: str  # one of the above, updated, superseded or proposed
    id: str = ""  # for `exists`, of the note that already says it
    title: str = ""
    reason: str = ""
    place: str = ""
