"""What would tidy a vault: which of two memories can go, and which one nobody needs any more. Nothing is lost by it.

Two become one when the one that stays says all that the other says. A number, name, version, denial or direction that
differs, a contradiction, or another project keeps them apart, whatever else they have in common. In doubt both stay.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from memem.core.clock import moment
from memem.core.memory import ORDINARY, Entry, Memory
from memem.gate import settling
from memem.gate.relation import CONTAINED, CONTAINS, NEAR, SAME
from memem.gate.verdict import MAX_ITEMS

VERY_ALIKE = 0.8
"""Of all the words of two texts so many have to be in both, before texts that are only near may be one."""
VERY_NEAR = 0.95
"""The same of their cosine, where there are vectors."""
OLD_DAYS = 180
"""Half as long as receipts are remembered: whoever used a memory in all that time is known."""
LEAST_PROMPTS = 50
"""So many prompts have to have passed a memory by: in a project that rests nobody had a use for anything."""
LOW_IMPORTANCE = 2
"""Three is what a memory has of which nobody has said anything."""
WANTED = ("convention", "preference")
"""What holds whether or not it was ever asked for."""

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")


@dataclass(frozen=True, slots=True)
class Merge:
    """The memory that stays, the one that ends, what the two are to each other, and what has to be added to the first.

    `untouched` says that the first is a person's and stays as it is; `yours` why only a person may do it.
    """

    kept: Entry
    ended: Entry
    relation: str
    added: tuple[str, ...] = ()
    untouched: bool = False
    yours: str = ""


def relation(one: Memory, other: Memory, likeness: float, cosine: float | None = None) -> str:
    """What the second is to the first, if the two could be one: same, contains, contained or near; else nothing."""
    if one.project != other.project or one.valid_to != other.valid_to:
        return ""
    found = settling.compared(one, other).relation
    if found == SAME:
        return SAME
    if found == CONTAINS:
        return CONTAINS if _stands_in(one, other) else ""
    if found == CONTAINED:
        return CONTAINED if _stands_in(other, one) else ""
    alike = found == NEAR and (likeness >= VERY_ALIKE or (cosine or 0.0) >= VERY_NEAR) and _say_it_alike(one, other)
    return NEAR if alike and (_stands_in(one, other) or _stands_in(other, one)) else ""


def merge(one: Entry, other: Entry, relation: str, theirs: frozenset[str]) -> Merge | None:
    """Which of the two stays. `theirs` are the ids of those that are a person's."""
    kept, ended = one, other
    if relation == CONTAINS or (relation in (SAME, NEAR) and _rank(other, theirs) < _rank(one, theirs)):
        kept, ended = other, one
    if kept.memory.layer > ended.memory.layer:
        return None  # what is told with every session would no longer be
    added = tuple(each for each in sentences(ended.body) if not says(kept.body, each)) if relation == NEAR else ()
    return Merge(kept, ended, relation, added, kept.id in theirs, _yours(kept, ended, added, theirs))


def gained(kept: Memory, ended: Memory) -> dict[str, tuple[str, ...]]:
    """What the memory that stays is to be found by besides, and stands on, since the other one was."""
    lists = {name: (getattr(kept, name), getattr(ended, name)) for name in ("keys", "paths", "anchors")}
    both = {name: tuple(dict.fromkeys((*own, *more)))[:MAX_ITEMS] for name, (own, more) in lists.items()}
    return {name: items for name, items in both.items() if items != lists[name][0]}


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text as they are written, bullets without their mark."""
    from memem.gate.comparing.wording import unwrapped

    parts = (re.sub(r"^\s*[-*+•]\s+", "", part).strip() for part in _SENTENCE_END.split(unwrapped(text)))
    return tuple(part for part in parts if re.search(r"\w", part))


def says(text: str, sentence: str) -> bool:
    """Whether a text holds a sentence as one of its own: `guest sessions expire` does not say that sessions do."""
    if " ".join(sentence.split()) in (" ".join(own.split()) for own in sentences(text)):
        return True
    wanted = _claimed(sentence, exactly=True)
    return bool(wanted) and wanted <= _claimed(text, exactly=True)


def idle(memory: Memory, now: datetime, *, prompts: int, shown: int, used: int) -> str:
    """Why nobody needs a memory, in plain words: it is old, was called for by none of so many prompts, and matters
    little; nothing when it is to stay as it is."""
    written = moment(memory.updated or memory.created)
    if memory.source_type != "mined" or memory.layer != ORDINARY or memory.kind in WANTED or written is None:
        return ""
    days = (now - written).days
    if used or memory.importance > LOW_IMPORTANCE or days < OLD_DAYS or prompts < LEAST_PROMPTS:
        return ""
    seen = f"shown {shown} time{'s' * (shown != 1)} and never used" if shown else "never of use"
    return f"{seen} in {prompts:,} prompts, unchanged for {days} days, importance {memory.importance}"


def _yours(kept: Entry, ended: Entry, added: tuple[str, ...], theirs: frozenset[str]) -> str:
    if ended.id in theirs:
        return f"{ended.memory.id8} is yours"
    changes = added or gained(kept.memory, ended.memory)
    return f"{kept.memory.id8}, which would have to change, is yours" if kept.id in theirs and changes else ""


def _rank(entry: Entry, theirs: frozenset[str]) -> tuple[bool, int, int, int, str, str]:
    """Of two that say the same, the one with the lower rank stays: a person's, the weightier, the longer, the older."""
    memory = entry.memory
    words = len(memory.body.split())
    return (entry.id not in theirs, memory.layer, -memory.importance, -words, memory.created, memory.id)


def _say_it_alike(one: Memory, other: Memory) -> bool:
    """Whether the words of one are all among those of the other, in the same order, and all that tells two statements
    apart is the same in both: numbers, names, denials, limits, what is over or only thought of, who is meant."""
    left, right = sorted((list(_told(one.body)), list(_told(other.body))), key=len)
    rest = iter(right)
    in_order = all(any(word == beside for beside in rest) for word in left)
    return in_order and _marks(one.body) == _marks(other.body)


def _stands_in(one: Memory, other: Memory) -> bool:
    """Whether every sentence of one memory is one of the other's: a word more within it may limit what it says."""
    return _claimed(one.body) <= _claimed(other.body)


def _claimed(text: str, *, exactly: bool = False) -> frozenset[tuple[object, ...]]:
    """What each sentence of a text says: the words that tell something, in their order, and what limits them; `exactly`
    also which small words there are."""
    from memem.gate.comparing.claims import sentences as claims

    return frozenset(
        (
            tuple((token.key if token.exact else token.stem, token.state) for token in sentence.content),
            tuple(sorted(sentence.limits.items())),
            sentence.denials,
            sentence.marks if exactly else None,
        )
        for sentence in claims(text)
    )


def _told(text: str) -> Iterator[str]:
    from memem.gate.comparing.claims import sentences as claims

    for sentence in claims(text):
        yield from (token.stem for token in sentence.content)


def _marks(text: str) -> list[object]:
    from memem.gate.comparing.claims import sentences as claims
    from memem.gate.comparing.verbs import COPULAS, HEDGES

    told = claims(text)
    values = [token.key for sentence in told for token in sentence.content if token.is_value]
    states = [(token.stem, token.state) for sentence in told for token in sentence.content if token.state]
    limits = sorted((limit, word) for sentence in told for limit, word in sentence.limits.items())
    opposites = sorted(map(str, (each for sentence in told for each in sentence.opposites.items())))
    persons = sorted(person for sentence in told for person in sentence.persons)
    moods = sorted(token.low for sentence in told for token in sentence.tokens if token.low in COPULAS | HEDGES)
    return [values, states, limits, opposites, persons, moods, sum(sentence.denials for sentence in told)]
