"""Read the time that a query asks about, if any: "last week", "in March", "before 2024", or how things used to be."""

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
    """The days asked about; a tuple, since importing dataclasses would cost a prompt a millisecond."""

    start: date | None = None
    end: date | None = None
    past: bool = False  # asks how things used to be

    @property
    def has_period(self) -> bool:
        return bool(self.start or self.end)

    def __bool__(self) -> bool:
        return self.has_period or self.past


ANY_TIME = When()


def parse_time(text: str, today: date) -> When:
    """The days that all periods of a query share; mostly it names none."""
    if len(text) > MAX_QUERY_CHARS:
        return ANY_TIME
    text = " ".join(re.sub(_QUOTED, " … ", text).split())
    lowered, characters = text.lower(), frozenset(text)
    words = re.findall(r"[a-z]+|(?:19|20)\d\d", lowered)
    is_english = any(word in _TIME_WORDS or word.isdigit() for word in words)
    is_chinese = bool(_TIME_SIGNS & characters)
    may_ask_for_past = any(word in lowered for word in _PAST_WORDS) or bool(_PAST_SIGNS & characters)
    if not (is_english or is_chinese or may_ask_for_past):
        return ANY_TIME  # most prompts lack a word of time, and need no patterns
    from memem.search.dates import parse

    spans = list(parse.find_english(text, today)) if is_english else []
    spans += parse.find_chinese(text, today) if is_chinese else ()
    if not spans:
        return When(past=may_ask_for_past and parse.asks_for_past(text))
    start = max((first for first, _ in spans if first), default=None)
    end = min((last for _, last in spans if last), default=None)
    return ANY_TIME if start and end and start > end else When(start, end)


def is_within(when: When, valid_from: str, valid_to: str, dated: str) -> bool:
    """Whether a memory was valid within a period or, without such dates, written in it; not if a date is unreadable."""
    begins = valid_from or dated
    stated = [text for text in (begins, valid_to) if text]
    days = [read.date() for read in map(moment, stated) if read]
    if not when.has_period or not days or len(days) < len(stated):
        return False
    first = days[0] if begins else date.min
    last = days[-1] if valid_to or not valid_from else date.max
    return first <= (when.end or date.max) and last >= (when.start or date.min)
