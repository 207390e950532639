"""The words of time in an English query.

A date without a word that makes it one ("in", "since") is mostly part of a name, and so is left alone.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache

from memem.search.dates import periods
from memem.search.dates.periods import MONTHS, RECENT, WEEKDAYS, Period, Span

Named = dict[str, str]
"""The groups of a match, in small letters."""

_NUMBERS = {
    word: (count, count) for count, word in enumerate("one two three four five six seven eight nine ten".split(), 1)
}
_NUMBERS |= {"a": (1, 1), "an": (1, 1), "couple": (2, 3), "few": (2, 5), "several": (3, 7)}
_PLAIN = frozenset("in on during from of between around".split())
_BOUNDS = {
    "since": periods.since,
    "after": periods.after,
    "before": periods.before,
    "until": periods.until,
    "till": periods.until,
    "up to": periods.until,
}
_JOINTS = frozenset(("and", "to", "through", "until", "till"))
_LEADS = _PLAIN | set(_BOUNDS)
_ROLLING = frozenset("in during from since over within for".split())
_NOW = frozenset(("today", "this morning", "this"))
"""As often when something is to be done as when it was."""
_HAPPENED = r"\b(?:did|was|were|had|has|have|happened|said|\w+ed)\b"
_UNCLEAR = frozenset("mar oct dec may".split())
"""A verb, and what else these are short for: alone or with a day they are a month only behind a word like "in"."""


def spans(text: str, today: date) -> Iterator[Span]:
    """Every period of a text, with the side open that is."""
    found = list(_pattern().finditer(text))
    number = 0
    while number < len(found):
        match, following = found[number], found[number + 1 : number + 2]
        number += 1
        if following and _is_range(match, following[0]):
            first, last = _period(match, today), _period(following[0], today, joined=True)
            number += 1
            if first and last and first[0] <= last[1]:
                yield first[0], last[1]
        elif (period := _period(match, today)) and _lead(match) not in ("to", "through"):
            yield from _BOUNDS.get(_lead(match), periods.within)(period, today)


def _is_range(first: re.Match[str], second: re.Match[str]) -> bool:
    between = first.string[first.end() : second.start()]
    return _lead(first) in ("between", "from") and _lead(second) in _JOINTS and not between.strip()


def _lead(match: re.Match[str]) -> str:
    return " ".join((match["lead"] or "").lower().split())


def _period(match: re.Match[str], today: date, *, joined: bool = False) -> Period | None:
    """The period that a match names, its lead aside; `joined` to another one it has a lead, whatever that is."""
    named = {name: value.lower() for name, value in match.groupdict().items() if value}
    if (named.get("day") or named.get("which")) in _NOW and not re.search(_HAPPENED, match.string.lower()):
        return None
    if joined:
        named["lead"] = "until"
    if "May" in (match["name1"], match["name2"]):
        named["capital"] = "M"
    read = next((reader for name, reader in _READERS.items() if name in named), _month)
    return read(named, today)


def _ago(named: Named, today: date) -> Period:
    return periods.ago(*_count(named["count"]), named["ago"], today)


def _rolling(named: Named, today: date) -> Period | None:
    """ "The last week" may be that of a project; "in the last week" is not."""
    is_sure = "past" in named or named.get("lead") in _ROLLING
    return periods.lately(_count(named.get("many", "one"))[1], named["rolling"], today) if is_sure else None


def _day(named: Named, today: date) -> Period:
    day = named["day"]
    return periods.day_before(today, 2 if "before" in day else int(day in ("yesterday", "last night")))


def _unit(named: Named, today: date) -> Period | None:
    return periods.calendar(named["unit"], today, last=named["which"] != "this")


def _weekday(named: Named, today: date) -> Period | None:
    """A Monday that is not said to be over may be the next one."""
    is_over = "which_day" in named or named.get("lead") == "since"
    return periods.weekday(WEEKDAYS.index(named["weekday"]), today) if is_over else None


def _recent(_: Named, today: date) -> Period:
    return periods.lately(RECENT, "day", today)


def _numbered(named: Named, today: date) -> Period | None:
    """A year, or a month or a day in digits."""
    year = int(named.get("iso") or named["alone"])
    if named.get("lead") not in _LEADS or ("alone" in named and named["lead"] in ("on", "of", "around")):
        return None
    if "d0" in named:
        return periods.one_day(year, int(named["m0"]), int(named["d0"]), today)
    return periods.month(year, int(named["m0"])) if "m0" in named else periods.year(year)


def _month(named: Named, today: date) -> Period | None:
    """A month by its name, or a day of it."""
    name = named.get("name1") or named["name2"]
    number = next(place for place, month in enumerate(MONTHS, 1) if month.startswith(name[:3]))
    year, day = _year(named, today), named.get("d1") or named.get("d2")
    if not (year or _is_month(name, named)):
        return None
    if day:
        return periods.one_day(year, number, int(day), today)
    if year:
        return periods.month(year, number)
    return periods.last_month_named(number, today, over=named.get("which_month") == "last")


def _is_month(name: str, named: Named) -> bool:
    """Whether a name without a year is that of a month, and no verb or something else that it is short for."""
    is_led = named.get("lead") in _LEADS
    if "which_month" in named:
        return name != "may" or "capital" in named or named["which_month"] == "last"
    if "d1" in named:
        return name not in _UNCLEAR or "capital" in named or (is_led and name != "may")
    if "d2" in named:
        return name not in _UNCLEAR or "capital" in named or is_led
    return is_led and named["lead"] != "on" and (name == "may" or name not in _UNCLEAR)


_READERS: dict[str, Callable[[Named, date], Period | None]] = {
    "ago": _ago,
    "rolling": _rolling,
    "day": _day,
    "unit": _unit,
    "weekday": _weekday,
    "recent": _recent,
    "iso": _numbered,
    "alone": _numbered,
}


def _year(named: Named, today: date) -> int | None:
    text = named.get("y1") or named.get("y2") or ""
    if text.endswith("year"):
        return today.year - text.startswith("last")
    return int(text) if text else None


def _count(text: str) -> tuple[int, int]:
    """The least and the most that a number in words may mean."""
    word = text.removesuffix(" of").split()[-1]
    return _NUMBERS[word] if word in _NUMBERS else (int(word), int(word))


@cache
def _pattern() -> re.Pattern[str]:
    month = rf"(?:{'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
    weekday = "|".join(WEEKDAYS)
    leads = "|".join(sorted(_LEADS | _JOINTS | _ROLLING)).replace(" ", r"\ ")
    count = r"\d{1,3}|an?|(?:a\ )?few|(?:a\ )?couple(?:\ of)?|several|" + "|".join(list(_NUMBERS)[:10])
    day, year = r"[0-3]?\d", r"(?:(?:19|20)\d\d|(?:last|this)\ year)"
    return re.compile(
        rf"""(?<![\w./:@#$-])
        (?:(?P<lead>{leads})\s+(?:(?:early|mid|late)[\s-])?)?
        (?: (?P<day>(?:the\ )?day\ before\ yesterday|yesterday|today(?!(?:['’]s)?\ date)|last\ night|this\ morning)
          | (?P<which>last|this|previous)\ (?P<unit>week|month|quarter|year)(?!\ of\b)
          | (?P<count>{count})\ (?P<ago>day|week|month|year)s?\ ago
          | the\ (?:last|(?P<past>past))\ (?:(?P<many>{count})\ )?(?P<rolling>day|week|month|year)s?(?!\ of\b)
          | (?:(?P<which_day>last|(?:this\ )?past)\ )?(?P<weekday>{weekday})(?!\ of\b)
          | (?P<iso>(?:19|20)\d\d)(?P<between>[-/])(?P<m0>[01]?\d)(?:(?P=between)(?P<d0>{day})(?:T[\d:.+Z-]*)?)?
          | (?P<d1>{day})(?:st|nd|rd|th)?\ (?:of\ )?(?P<name1>{month})(?:,?\ (?P<y1>{year}))?
          | (?:(?P<which_month>last|this)\ )?(?P<name2>{month})
            (?:\.?\ (?P<d2>{day})(?:st|nd|rd|th)?(?!\d))?(?:,?\ (?P<y2>{year}))?
          | (?P<alone>(?:19|20)\d\d)
            (?!\ (?:edition|version|release|(?!(?:was|is|does|has|this|its|as)\b)[a-z]+s)\b)
          | (?P<recent>(?<!most\ )(?<!least\ )recently(?!\ (?:viewed|used|played|visited|opened|seen|active))|lately)
        ) (?![\w/@$%-]|[.:]\w)""",
        re.VERBOSE | re.IGNORECASE | re.ASCII,
    )
