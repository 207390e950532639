"""The day until which a statement says that it holds: "code freeze until 2026-12-01", "the sale ends on 5 December".

In doubt it announces nothing. Only its first sentence is read, since what else a memory says may outlast it, and only
where the date is what that is about: not beside a "because", not in code, not in what comes every week or year.
"""

import re
from datetime import date
from functools import cache

from memem.search.dates import periods
from memem.search.dates.periods import MONTHS, WEEKDAYS

LONGEST = 500
"""In characters. What says more than that is seldom over with a date."""
Named = dict[str, str]

_QUOTED = re.compile(r'`[^`]*`|"[^"]*"|“[^”]*”')
_SENTENCE = re.compile(r"(?<=\w\w)[.!](?=\s+[A-Z])|[。！\n]")
_ASIDE = re.compile(
    r"""\b(?:because|since|whose|which|if|unless|when|once|after|before|so|although|though|whether|as\ of
    |(?<!note\ )(?<!remember\ )(?<!decided\ )(?<!agreed\ )that)\b|因为|因為|如果""",
    re.IGNORECASE | re.VERBOSE,
)
_AGAIN = re.compile(
    r"""\b(?:every|each|daily|weekly|monthly|quarterly|yearly|usually|always|fiscal|financial|academic|school|tax
    |was|were|had|did|used|(?:we|i|they|it|he|she)\ \w+ed)\b|每""",
    re.IGNORECASE | re.VERBOSE,
)
"""What comes again, or is over: a day without its year may then be any."""
_FROM_TO = re.compile(rf"\b(?:{'|'.join((*MONTHS, *WEEKDAYS))})(?:\W*\d+(?:st|nd|rd|th)?)?\W*$", re.IGNORECASE)
_UNTIL = re.compile(r"until|till?\b|'til", re.IGNORECASE)
_THROUGH = re.compile(r"through|thru", re.IGNORECASE)


def announced(statement: str, written: date) -> date | None:
    """The last day that a statement announces, as of the day it was written; None when it announces none."""
    if len(statement) > LONGEST:
        return None
    text = " ".join(_QUOTED.sub(" … ", _SENTENCE.split(statement.strip(), maxsplit=1)[0]).split())
    if text.endswith(("?", "？")):
        return None
    found = [_day(match, written) for match in _english().finditer(text)]
    found += [_chinese_day(match, written) for match in _chinese().finditer(text)]
    return max((day for day in found if day and day >= written), default=None)


def _day(match: re.Match[str], written: date) -> date | None:
    """The last day of what a match names, if the sentence announces it."""
    named = {name: value.lower() for name, value in match.groupdict().items() if value}
    before = match.string[: match.start()]
    comes_again = not named.keys() & {"iso", "y", "year"} and (_AGAIN.search(before) or _FROM_TO.search(before))
    if comes_again or _ASIDE.search(before) or not _is_one(named, match):
        return None
    if "iso" in named:
        return _of_calendar(int(named["iso"]), int(named["m0"]), int(named["d0"]))
    if "year" in named:
        return date(int(named["year"]), 12, 31)
    if "month" in named:
        return _in_month(named, written)
    return _end_of(named["unit"], written) if "unit" in named else _soon(named, written)


def _is_one(named: Named, match: re.Match[str]) -> bool:
    """Whether what looks like a date is one: a year may be a number, a month a verb, and a week must be said whose."""
    is_until = bool(_UNTIL.match(match["cue"]))
    if "year" in named:
        return "end" in named or bool(_THROUGH.match(match["cue"]))
    if "unit" in named:
        return "end" in named or named["unit"].startswith("next")
    if "month" in named and not named.keys() & {"y", "d1", "d2"}:
        return is_until and match["month"][0].isupper() and named["month"] in MONTHS
    return is_until or "month" in named or "iso" in named


def _in_month(named: Named, written: date) -> date | None:
    """A day of a month, or the last one of it; without a year the next that comes."""
    number = next(place for place, month in enumerate(MONTHS, 1) if month.startswith(named["month"][:3]))
    day = named.get("d1") or named.get("d2")
    return _next(named.get("y", ""), number, int(day) if day else 0, written)


def _next(year: str, month: int, day: int, written: date) -> date | None:
    for tried in [int(year)] if year else (written.year, written.year + 1):
        span = periods.month(tried, month)
        found = _of_calendar(tried, month, day) if day else span and span[1]
        if found and (year or found >= written):
            return found
    return None


def _soon(named: Named, written: date) -> date:
    """Tomorrow, or the next day of that name; "next Friday" is said of the one after this week's."""
    if "weekday" not in named:
        return periods.plus(written, 1)
    number = WEEKDAYS.index(named["weekday"])
    ahead = (number - written.weekday() - 1) % 7 + 1
    is_this_week = ahead <= 6 - written.weekday()
    return periods.plus(written, ahead + 7 * ("next" in named and is_this_week))


def _end_of(unit: str, written: date) -> date | None:
    """The last day of this week, month, quarter or year, or of the next one."""
    name = unit.removeprefix("next ")
    span = periods.calendar(name, written, last=False)
    if span and name != unit:
        span = periods.calendar(name, periods.plus(span[1], 1), last=False)
    return span[1] if span else None


def _of_calendar(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _chinese_day(match: re.Match[str], written: date) -> date | None:
    before = match.string[: match.start()]
    year, month, day = (next(filter(None, match.group(*(f"{name}{place}" for place in "1234"))), "") for name in "ymd")
    if _ASIDE.search(before) or (not year and _AGAIN.search(before)):
        return None
    return _next(year, int(month), int(day), written)


@cache
def _english() -> re.Pattern[str]:
    month = rf"(?:{'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
    weekday = "|".join(WEEKDAYS)
    day, year = r"[0-3]?\d", r"20\d\d"
    until = r"(?:until|till?|'til|through|thru)(?:\ and\ including)?"
    ends = r"(?:expires?|expiring|ends?|ending|lapses?|closes?|runs\ out)(?:\ (?:on|at|in))?"
    due = r"(?:deadline|cut-?off|expiry(?:\ date)?|end\ date)(?:\ (?:for|of|to)(?:\ [\w-]+){1,5}?)?(?:\ is|:)(?:\ on)?"
    return re.compile(
        rf"""(?<![\w`/-])(?P<cue>{until}|{ends}|{due}|due\ (?:on|by)|no\ later\ than)\s
        (?:(?:the\ )?(?P<end>(?:very\ )?end\ of)\ )?(?:the\ |this\ )?
        (?: (?P<iso>{year})[-/](?P<m0>[01]\d)[-/](?P<d0>[0-3]\d)(?:[T\ ]\d\d:\d\d\S*)?
          | (?:(?:{weekday}),?\ (?:the\ )?)?(?:(?P<d1>{day})(?:st|nd|rd|th)?\ (?:of\ )?)?(?P<month>{month})\b\.?
            (?:\ (?P<d2>{day})(?:st|nd|rd|th)?(?![\d:]))?(?:,?\ (?P<y>{year}))?
          | (?P<next>next\ )?(?P<weekday>{weekday})
          | (?P<tomorrow>tomorrow)
          | (?P<unit>(?:next\ )?(?:week|month|quarter|year))
          | (?P<year>{year})
        ) (?![\w/@$%-]|[.:]\w)(?!\ (?:of|release|version|build|edition|branch)\b)""",
        re.VERBOSE | re.IGNORECASE | re.ASCII,
    )


@cache
def _chinese() -> re.Pattern[str]:
    cue = "截止(?:日期|时间|時間)?(?:是|为|為|到|至|于|於)?|(?<!截)至|到"  # 截至 is "as of"
    end = "到期|截止|过期|過期|失效|为止|為止|结束|結束"
    whole = r"(?P<y{0}>20\d\d)\s?[-/年]\s?(?P<m{0}>[01]?\d)\s?[-/月]\s?(?P<d{0}>[0-3]?\d)(?!\d)日?"
    short = r"(?P<y{0}>)(?P<m{0}>[01]?\d)\s?月\s?(?P<d{0}>[0-3]?\d)[日号號]"
    first, last = (f"(?:{whole.format(place)}|{short.format(place + 1)})" for place in (1, 3))
    return re.compile(rf"(?:{cue})[:：]?\s*{first}|(?<![\d-]){last}\s*(?:{end})")
