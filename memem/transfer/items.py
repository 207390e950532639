"""What a source offers to be imported, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memem.core.memory import Memory


@dataclass(frozen=True, slots=True)
class Item:
    """One memory as its source tells it, without an id; or a `problem`, which says why it cannot be one.

    `place` is where it stands in the source: the same whenever the same source is read. `names` are what others of the
    source call it in their `links`, which are by property.
    """

    place: str
    memory: Memory = field(default_factory=lambda: Memory("", "", ""))
    names: tuple[str, ...] = ()
    links: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problem: str = ""


CREATED, EXISTS, DIFFERS, REFUSED, UNREADABLE = "created", "exists", "differs", "refused", "unreadable"


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """What became of a file, or of what stands at a place in it.

    The outcome is created, exists (then `id` is that of the note which says so), differs (a note of that id says
    something else, and stays), updated, superseded, proposed, refused or unreadable; `reason` says why, or what was
    taken out.
    """

    file: str
    outcome: str
    id: str = ""
    title: str = ""
    reason: str = ""
    place: str = ""
