"""Decide between a candidate and its neighbours. In doubt both are kept and linked: an extra note is the mildest error.

Whoever wants to keep it may have a wish: to rewrite a note (UPDATE), or to end what one says (SUPERSEDE). These are
granted only behind rails: an update keeps all that the note said, a changed value is never an update, a statement that
says more never gives way to one that says less, and only a note that `yields` is changed at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memem.compare.relation import CHANGED, CONTAINED, CONTAINS, NEAR, SAME, Comparison
from memem.core.conversation import ADD, SUPERSEDE, UPDATE
from memem.core.memory import Memory

if TYPE_CHECKING:
    from memem.compare.replacements import Statement

KNOWN = "KNOWN"
MOST_RELATED = 3
MOST_CONTRADICTED = 5
MAX_HOLDERS = 2  # more neighbours than that make a word common


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The relation of a candidate to a memory, and whether that memory may be changed for it."""

    comparison: Comparison
    yields: bool = False

    @property
    def relation(self) -> str:
        return self.comparison.relation


@dataclass(frozen=True, slots=True)
class Decision:
    """An operation (ADD, UPDATE, SUPERSEDE or KNOWN), the neighbour it is about, and the neighbours to link."""

    what: str
    place: int | None = None
    related: tuple[int, ...] = ()
    contradicts: tuple[int, ...] = ()


def compared(old: Memory, new: Memory, common: Collection[str] = ()) -> Comparison:
    """Compare a memory with an earlier one. `common` words do not show that both are about one thing."""
    from memem.compare.statements import compare

    return compare(_statement(old), _statement(new), common)


def common_words(memories: Sequence[Memory]) -> frozenset[str]:
    """The words that many of these memories hold, so that no two of them are about one thing for holding them."""
    from memem.compare.tokens import content_keys

    held = Counter(key for memory in memories for key in content_keys(memory.title, memory.body))
    return frozenset(key for key, holders in held.items() if holders > MAX_HOLDERS)


def are_of_two_things(one: Memory, other: Memory) -> bool:
    """Whether the titles of two memories name different things, so that even one text says two things."""
    if one.title == other.title:
        return False
    from memem.compare.replacements import titles_differ

    return titles_differ(_statement(one), _statement(other))


def _statement(memory: Memory) -> Statement:
    from memem.compare.replacements import Statement

    return Statement(memory.body, memory.title, memory.kind)


def decide(
    beside: Sequence[Neighbour], *, own: bool = False, proven: bool = False, wish: str = ADD, target: int | None = None
) -> Decision:
    """The decision. `own` is what a person wrote themselves, `proven` what a person's words prove.

    `target` is the place of the neighbour that the wish is about.
    """
    if target is None:
        what, place = _unasked(beside, own=own, proven=proven)
    else:
        what, place = _wished(beside[target], wish, proven=proven), target
    related: list[int] = []
    contradicts: list[int] = []
    for number, neighbour in enumerate(beside):
        if number == place and what != ADD:
            continue
        if neighbour.relation == CHANGED or (number == target and wish == SUPERSEDE):
            contradicts.append(number)
        elif neighbour.relation in (CONTAINS, CONTAINED, NEAR) or number == target:
            related.append(number)
    acting = None if what == ADD else place
    return Decision(what, acting, tuple(related[:MOST_RELATED]), tuple(contradicts[:MOST_CONTRADICTED]))


def _unasked(beside: Sequence[Neighbour], *, own: bool, proven: bool) -> tuple[str, int | None]:
    """Without a wish: known, if something says it; else it betters or ends what says less, or says what is no more."""
    for number, neighbour in enumerate(beside):
        if neighbour.relation == SAME or (neighbour.relation == CONTAINED and not own):
            return KNOWN, number
    for number, neighbour in enumerate(beside):
        if neighbour.yields and neighbour.relation == CONTAINS:
            return (SUPERSEDE if own else UPDATE), number
        if neighbour.yields and neighbour.comparison.replaces and proven:
            return SUPERSEDE, number
    return ADD, None


def _wished(neighbour: Neighbour, wish: str, *, proven: bool) -> str:
    """The operation that the rules allow for a wish."""
    relation, yields = neighbour.relation, neighbour.yields
    if relation == SAME:
        return UPDATE if wish == UPDATE and yields else KNOWN
    if wish == SUPERSEDE:
        return SUPERSEDE if yields and relation != CONTAINED else ADD
    if relation == CONTAINED:
        return KNOWN
    if relation == CONTAINS:
        return UPDATE if yields else ADD
    return SUPERSEDE if relation == CHANGED and yields and proven else ADD
