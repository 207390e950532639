"""Which memories of a project belong in its playbook, in which section, and which of them come first. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memem.core import memory as layers
from memem.core.memory import Memory
from memem.core.playbook import CONVENTIONS, DECISIONS, ENVIRONMENT, IDENTITY, SECTIONS, TRAPS

TURNS = (1, 1, 2, 2, 1)
"""How many memories each section names in its turn, until there is no room: what is decided, and what went wrong, is
most often asked for, and identity and conventions are told to a session anyway."""
OLDEST_SHARE = 0.6
HALF_LIFE_DAYS = 120.0
"""A memory that has not changed for so long counts halfway between a new one and `OLDEST_SHARE` of it."""
_TRAP_TAGS = frozenset(("trap", "gotcha", "pitfall", "bug"))
# A variable, a path, an address, a port, a version, a command: what one has to know of where a thing runs.
_SURROUNDINGS = re.compile(
    r"""\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b | (?:^|\s)[~.]?/[\w.-]+ | \b[\w-]+/[\w./-]+\.\w+ | \bhttps?:// | `[^`]+`
      | \b(?:\d{1,3}\.){3}\d{1,3}\b | \bv?\d+\.\d+(?:\.\d+)?\b | \bports?\ \d+ | \blocalhost\b
      | \b(?:runs?|running|deploy\w*|install\w*|hosted|server|staging|production|docker|container|database|ci)\b""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Weighed:
    """A memory, when it last changed, and what its use counts (`recall/usefulness.py`)."""

    memory: Memory
    changed: float
    used: float = 1.0


def section_of(memory: Memory) -> int | None:
    """The section that a memory belongs in; None when it is for those who look for it."""
    if memory.layer == layers.ARCHIVE:
        return None
    if memory.layer == layers.PINNED:
        return IDENTITY
    if memory.kind == "lesson" or _TRAP_TAGS & {tag.lower() for tag in memory.tags}:
        return TRAPS
    if memory.layer == layers.CONVENTIONS or memory.kind in ("convention", "preference"):
        return CONVENTIONS
    if memory.kind == "decision":
        return DECISIONS
    is_of_place = memory.kind == "procedure" or _SURROUNDINGS.search(memory.body)
    return ENVIRONMENT if is_of_place and memory.kind in ("fact", "procedure") else None


def chosen(candidates: Sequence[Weighed]) -> Iterator[tuple[int, Memory]]:
    """The memories with their sections, in the order in which they get room: each section in turn names its best."""
    newest = max((each.changed for each in candidates), default=0.0)
    queues: dict[int, list[Memory]] = {number: [] for number in SECTIONS}
    for each in sorted(candidates, key=lambda each: (-_weight(each, newest), -each.changed, each.memory.id)):
        section = section_of(each.memory)
        if section is not None:
            queues[section].append(each.memory)
    while any(queues.values()):
        for section, turns in zip(SECTIONS, TURNS, strict=True):
            for memory in queues[section][:turns]:
                yield section, memory
            del queues[section][:turns]


def _weight(each: Weighed, newest: float) -> float:
    """Importance above all, then use and recency; that is counted from the project's last change, not from today, so
    that a page stays as it is while nothing happens."""
    age = max(0.0, newest - each.changed) / 86_400
    recency = OLDEST_SHARE + (1 - OLDEST_SHARE) * float(0.5 ** (age / HALF_LIFE_DAYS))
    own = 1.1 if each.memory.author == "human" else 1.0
    return each.memory.importance * each.used * recency * own
