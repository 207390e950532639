"""Decide what a candidate does to its neighbours. In doubt both are saved and linked.

A wish to UPDATE or SUPERSEDE a note is granted within limits: an update loses nothing the note said, a changed value
is never an update, a longer statement never gives way to a shorter one, and only a note that `yields` is changed.
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
    """The relation of a candidate to a memory, whether that may be changed for it, and whether it came later."""

    comparison: Comparison
    yields: bool = False
    overrules: bool = False  # it was said after the candidate, by someone who may overrule it
    retires: bool = False  # and says itself that it replaces what the candidate says
    proven: bool = False  # on a person's word

    @property
    def relation(self) -> str:
        return self.comparison.relation


@dataclass(frozen=True, slots=True)
class Decision:
    """An operation (ADD, UPDATE, SUPERSEDE or KNOWN), the neighbour it is about, and the neighbours to link.

    With a `successor`, a neighbour said later has replaced the candidate already.
    """

    what: str
    place: int | None = None
    related: tuple[int, ...] = ()
    contradicts: tuple[int, ...] = ()
    successor: int | None = None


def compared(old: Memory, new: Memory, common: Collection[str] = ()) -> Comparison:
    """Compare a memory with an earlier one. `common` words do not show that both are about one thing."""
    from memem.compare.statements import compare

    return compare(_statement(old), _statement(new), common)


def common_words(memories: Sequence[Memory]) -> frozenset[str]:
    """The words of many of these memories, which do not show that two of them are about one thing."""
    from memem.compare.tokens import content_keys

    held = Counter(key for memory in memories for key in content_keys(memory.title, memory.body))
    return frozenset(key for key, holders in held.items() if holders > MAX_HOLDERS)


def are_of_two_things(one: Memory, other: Memory) -> bool:
    """Whether the titles of two memories name different things, so that even equal texts differ."""
    if one.title == other.title:
        return False
    from memem.compare.replacements import titles_differ

    return titles_differ(_statement(one), _statement(other))


def _statement(memory: Memory) -> Statement:
    from memem.compare.replacements import Statement

    return Statement(memory.body, memory.title, memory.kind)


def decide(
    neighbours: Sequence[Neighbour],
    *,
    own: bool = False,
    proven: bool = False,
    wish: str = ADD,
    target: int | None = None,
) -> Decision:
    """Decide. `own`: a person wrote it; `proven`: a person's words prove it; `target`: the neighbour of the wish."""
    if target is None:
        what, place = _decide_without_wish(neighbours, own=own, proven=proven)
    else:
        what, place = _grant(neighbours[target], wish, proven=proven), target
    successor = None if what == KNOWN else _find_successor(neighbours, wish, target)
    if what == UPDATE and successor is not None:
        what = ADD  # an addition that was replaced belongs in no note that is in force
    related: list[int] = []
    contradicts: list[int] = []
    for number, neighbour in enumerate(neighbours):
        if (number == place and what != ADD) or number == successor:
            continue
        if neighbour.relation == CHANGED or (number == target and wish == SUPERSEDE):
            contradicts.append(number)
        elif neighbour.relation in (CONTAINS, CONTAINED, NEAR) or number == target:
            related.append(number)
    acting = None if what == ADD else place
    return Decision(what, acting, tuple(related[:MOST_RELATED]), tuple(contradicts[:MOST_CONTRADICTED]), successor)


def _decide_without_wish(neighbours: Sequence[Neighbour], *, own: bool, proven: bool) -> tuple[str, int | None]:
    for number, neighbour in enumerate(neighbours):
        if neighbour.relation == SAME or (neighbour.relation == CONTAINED and not own):
            return KNOWN, number
    for number, neighbour in enumerate(neighbours):
        if neighbour.yields and neighbour.relation == CONTAINS:
            return (SUPERSEDE if own else UPDATE), number
        if neighbour.yields and neighbour.comparison.replaces and proven:
            return SUPERSEDE, number
    return ADD, None


def _find_successor(neighbours: Sequence[Neighbour], wish: str, target: int | None) -> int | None:
    """Find the neighbour that has replaced the candidate, by the rules that would let a later candidate replace it."""
    for number, neighbour in enumerate(neighbours):
        # A model that names it as the target says that the two contradict each other.
        is_named = number == target and neighbour.relation not in (SAME, CONTAINED, CONTAINS)
        is_changed = wish == UPDATE and neighbour.relation == CHANGED
        by_wish = is_named and (wish == SUPERSEDE or (is_changed and neighbour.proven))
        if neighbour.overrules and (by_wish or (neighbour.retires and neighbour.proven)):
            return number
    return None


def _grant(neighbour: Neighbour, wish: str, *, proven: bool) -> str:
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
