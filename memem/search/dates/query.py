"""Read the time that a query asks about: "last week", "in March", "before 2024", or how things used to be.

In doubt it asks about none: a "may" that is a verb, a version, a number of files, work still to be done. Most prompts
have no word of time at all; the patterns are loaded only for one that has.
"""

import re
from datetime import date
from typing import NamedTuple

from memem.core.dates import moment

MAX_QUERY_CHARS = 1_000  # dates in a longer text are mostly those of a log that was pasted
_QUOTED = r'`[^`]*`|"[^"]*"|“[^”]*”'  # code, and the words on a button
_TIME_WORDS = frozenset(
    """day week weeks month months quarter year years days yesterday today night morning recently lately monday tuesday
    wednesday thursday friday saturday sunday january february march april may june july august september october
    november december jan feb mar apr jun jul aug sep sept oct nov dec""".split()
)
_TIME_SIGNS = frozenset("天日昨周週期拜月季年近")
_PAST_WORDS = tuple(
    "original|former|historical|previous|initial|before| old |used to|at first|back then|in the past".split("|")
)
_PAST_SIGNS = frozenset("前原初始")


class When(NamedTuple):
    """The first and last day asked about, either of them open, or that the query asks about the past.

    A tuple, since importing dataclasses would cost a prompt a millisecond.
    """

    start: date | None = None
    end: date | None = None
    past: bool = False

    @property
    def has_period(self) -> bool:
        return self.start is not None or self.end is not None

    def __bool__(self) -> bool:
        return self.has_period or self.past


ANY_TIME = When()


def parse_time(text: str, today: date) -> When:
    """The days that all periods of a query share; mostly it names none."""
    if len(text) > MAX_QUERY_CHARS:
        return ANY_TIME
    text = " ".join(re.sub(_QUOTED, " … ", text).split())
    spans = _find_spans(text, today)
    if not spans:
        return When(past=_asks_for_past(text))
    start = max((first for first, _ in spans if first), default=None)
    end = min((last for _, last in spans if last), default=None)
    return ANY_TIME if start and end and start > end else When(start, end)


def is_within(when: When, valid_from: str, valid_to: str, dated: str) -> bool:
    """Whether a memory was valid within the period or, where it does not say, was written in it.

    False without a period, and for a memory with an unreadable date.
    """
    begins = valid_from or dated
    stated = [text for text in (begins, valid_to) if text]
    days = [read.date() for read in map(moment, stated) if read]
    if not when.has_period or not days or len(days) < len(stated):
        return False
    first = days[0] if begins else date.min
    last = days[-1] if valid_to or not valid_from else date.max
    return first <= (when.end or date.max) and last >= (when.start or date.min)


def _find_spans(text: str, today: date) -> list[tuple[date | None, date | None]]:
    words = re.findall(r"[a-z]+|(?:19|20)\d\d", text.lower())
    is_english = any(word in _TIME_WORDS or word.isdigit() for word in words)
    is_chinese = not _TIME_SIGNS.isdisjoint(text)
    if not is_english and not is_chinese:
        return []
    from memem.search.dates import parse

    spans = list(parse.find_english(text, today)) if is_english else []
    return [*spans, *parse.find_chinese(text, today)] if is_chinese else spans


def _asks_for_past(text: str) -> bool:
    lowered = text.lower()
    if not any(word in lowered for word in _PAST_WORDS) and _PAST_SIGNS.isdisjoint(text):
        return False
    from memem.search.dates import parse

    return parse.asks_for_past(text)
