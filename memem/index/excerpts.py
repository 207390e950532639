"""The part of a long text that a query found it by."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from operator import itemgetter

from memem.core.query import Term
from memem.index import words

LEAD = 120
"""How much of what stands before the first word asked for is shown with it."""
CUT = "…"


def excerpt(text: str, weights: Mapping[Term, float], length: int) -> str:
    """As much of a text as `length` allows, from where most of what was asked for stands together."""
    text = text.strip()
    if len(text) <= length:
        return text
    start = _richest(_places(text, weights), weights, length - LEAD)
    return _between(text, max(0, min(start - LEAD, len(text) - length)), length)


def beginning(text: str, length: int) -> str:
    """A text in one line, as far as `length` allows."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - len(CUT)].rstrip() + CUT


def _places(text: str, terms: Iterable[Term]) -> list[tuple[int, Term]]:
    """Where the terms stand, about, in order: a word counts for every other one that begins like it."""
    folded = _folded(text)
    found = [(match.start(), term) for term in terms for match in re.finditer(_beginning(term.text), folded)]
    return sorted(found, key=itemgetter(0))


def _richest(places: list[tuple[int, Term]], weights: Mapping[Term, float], span: int) -> int:
    """The first place behind which most, by weight, of what was asked for stands within a span."""
    best, most = 0, 0.0
    for number, (start, _) in enumerate(places):
        end = bisect_left(places, start + span, key=itemgetter(0))
        worth = sum(weights[term] for term in {term for _, term in places[number:end]})
        if worth > most:
            best, most = start, worth
    return best


def _beginning(word: str) -> str:
    """What a word has in common with its other forms, as a pattern: `restart`, `restarted`, `restarting`."""
    stem = word[: max(4, len(word) - 3)] if word.isalpha() and word.isascii() else word
    return (r"(?<![a-z0-9])" if stem[0].isascii() else "") + re.escape(stem)


def _folded(text: str) -> str:
    """Folded like the words of the index, each character in its place."""
    folded = words.fold(text)
    return folded if len(folded) == len(text) else "".join(words.fold(each)[:1] or " " for each in text)


def _between(text: str, start: int, length: int) -> str:
    """A part of a text between two spaces, where there are some, with marks where something is left out."""
    part = text[start : start + length]
    cut_before, cut_behind = start > 0, start + length < len(text)
    if cut_before:
        part = CUT + (re.sub(r"\A\S{0,40}\s+", "", part) or part)
    if cut_behind:
        part = (re.sub(r"\s+\S{0,40}\Z", "", part) or part) + CUT
    return part
