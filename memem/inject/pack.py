"""Fit memories into a budget: the best first, each cut to its share."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memem.core.memory import MOST_HITS, PINNED_MAX_CHARACTERS, PINNED_MAX_NOTES, Entry, Hit, Memory
from memem.safety import quote

BODY_CHARACTERS = 500
SHORTER = (300, 150)  # lengths to which the first memory is cut if it does not fit otherwise
PINNED_CHARACTERS = 400
SAME_WORDS = 0.9  # the share of common words at which two memories say the same
_WORD = re.compile(r"[\w./:-]*\w")
_NEGATIONS = frozenset("no not never none without don doesn isn won cannot can off on before after".split())


@dataclass(frozen=True, slots=True)
class PackedSlice:
    """A slice's text, the hits in it, and the ids of the pinned memories in it."""

    text: str
    hits: tuple[Hit, ...]
    pinned: tuple[str, ...] = ()


def drop_repeats(hits: Sequence[Hit]) -> list[Hit]:
    """Drop hits that differ little from a better one, and in nothing decisive: a number, a name, a negation."""
    kept: list[tuple[Hit, set[str]]] = []
    for hit in hits:
        words = set(_WORD.findall(f"{hit.title} {hit.body}".lower()))
        if not any(_repeats(words, better) for _, better in kept):
            kept.append((hit, words))
    return [hit for hit, _ in kept]


def _repeats(words: set[str], better: set[str]) -> bool:
    is_decisive = any(word in _NEGATIONS or not word.isalpha() for word in words ^ better)
    return not is_decisive and len(words & better) >= SAME_WORDS * len(words | better)


def pack(hits: Sequence[Hit], pinned: Sequence[Memory], facts: list[str], project: str, budget: int) -> PackedSlice:
    """Render facts, pinned memories and hits, in this order, until the budget is used."""
    facts = fit_budget(facts, budget - len(quote.render_slice([], [])))
    room = budget - len(quote.render_slice(facts, []))
    kept = fit_budget(
        [quote.render_pinned(memory, PINNED_CHARACTERS) for memory in pinned[:PINNED_MAX_NOTES]],
        min(PINNED_MAX_CHARACTERS, budget // 2, room),
    )
    working = facts + kept
    shown: list[Hit] = []
    items: list[str] = []
    for hit in hits[:MOST_HITS]:
        for most in (BODY_CHARACTERS, *(() if shown else SHORTER)):
            text = quote.render_item(len(shown) + 1, hit, project, most, hit.passage)
            if len(quote.render_slice(working, [*items, text])) <= budget:
                shown.append(hit)
                items.append(text)
                break
    return PackedSlice(
        quote.render_slice(working, items), tuple(shown), tuple(memory.id for memory in pinned[: len(kept)])
    )


def fit_budget(texts: list[str], budget: int) -> list[str]:
    """Return as many texts as fit, from the first on."""
    kept: list[str] = []
    for text in texts:
        budget -= len(text) + 1
        if budget < 0:
            break
        kept.append(text)
    return kept


def render_numbered(entries: Sequence[Entry], project: str, most: int, budget: int) -> list[str]:
    """Render as many memories as fit, each cut to `most` characters."""
    return fit_budget([quote.render_item(rank, entry, project, most) for rank, entry in enumerate(entries, 1)], budget)
