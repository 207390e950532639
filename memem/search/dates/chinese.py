"""The words of time in a Chinese query, in both its scripts."""

import re
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache

from memem.search.dates import periods
from memem.search.dates.periods import RECENT, Period, Span

Named = dict[str, str]

_WEEK = "一二三四五六日天"
_DAYS = {"今": 0, "昨": 1, "前": 2}
_YEARS = {"今": 0, "去": 1, "前": 2}
_UNITS = {"天": "day", "日": "day", "月": "month", "季": "quarter", "年": "year"}  # all others are weeks
_DIGITS = {sign: place for place, sign in enumerate("一二三四五六七八九十", 1)} | {"两": 2, "兩": 2}
_FEW = (2, 5)


def spans(text: str, today: date) -> Iterator[Span]:
    """Every period of a text, with the side open that is."""
    for match in _pattern().finditer(text):
        named = {name: value for name, value in match.groupdict().items() if value}
        if period := _period(named, today):
            yield from _bounded(named.get("since", ""), named.get("bound", ""), period, today)


def _bounded(lead: str, bound: str, period: Period, today: date) -> Iterator[Span]:
    if bound.endswith(("来", "來", "起")) or (lead and not bound):
        return periods.since(period, today)
    if bound.endswith(("后", "後")):
        return periods.after(period, today)
    if bound.endswith("止"):
        return periods.until(period, today)
    return periods.before(period, today) if bound else periods.within(period, today)


def _period(named: Named, today: date) -> Period | None:
    read = next((reader for name, reader in _READERS.items() if name in named), _of_calendar)
    return read(named, today)


def _of_calendar(named: Named, today: date) -> Period | None:
    """A year, a month of it, a day of that."""
    written, this = (named.get(name) or named.get(f"{name}_alone") for name in ("year", "this"))
    year = int(written) if written else today.year - _YEARS[this] if this else None
    number = _count(named["month"])[0] if "month" in named else 0
    if "date" in named:
        return periods.one_day(year, number, int(named["date"]), today)
    if year is None:
        return periods.last_month_named(number, today)
    return periods.month(year, number) if number else periods.year(year)


_READERS: dict[str, Callable[[Named, date], Period | None]] = {
    "day": lambda named, today: periods.day_before(today, _DAYS[named["day"]]),
    "weekday": lambda named, today: periods.weekday_of_last_week(_WEEK.index(named["weekday"]) % 7, today),
    "unit": lambda named, today: periods.calendar(_unit(named["unit"]), today, last=named["which"] == "上"),
    "ago": lambda named, today: periods.ago(*_count(named["count"]), _unit(named["ago"]), today),
    "rolling": lambda named, today: periods.lately(_count(named["many"])[1], _unit(named["rolling"]), today),
    "recent": lambda _, today: periods.lately(RECENT, "day", today),
}


def _unit(sign: str) -> str:
    return _UNITS.get(sign[0], "week")


def _count(text: str) -> tuple[int, int]:
    """The least and the most that a number may mean."""
    if text in ("几", "幾"):
        return _FEW
    number = int(text) if text.isdecimal() else sum(_DIGITS[sign] for sign in text)  # up to nineteen: 十二
    return number, number


@cache
def _pattern() -> re.Pattern[str]:
    week, of = "周|週|星期|礼拜|禮拜", "[个個]?"
    count = r"[0-9]{1,3}|十[一二三四五六七八九]|[一二两兩三四五六七八九十几幾]"
    unit = f"天|日|{week}|月|年"
    return re.compile(
        rf"""(?P<since>自从?|自從?|从|從)?
        (?: (?P<day>[今昨前])(?:天|日|晚)
          | 上{of}(?:{week})(?P<weekday>[一二三四五六日天])
          | (?P<which>[上本这這])(?:[个個一])?(?P<unit>{week}|月|季度?)
          | (?<![0-9])(?P<count>{count}){of}(?P<ago>{unit})[之以]?前
          | (?:最近|[过過]去|(?<![附最接])近)[这這的]?(?P<many>{count}){of}(?P<rolling>{unit})
          | (?:(?P<year>(?:19|20)[0-9]{{2}})年|(?P<this>[今去前])年)?(?<![0-9一二三四五六七八九十])
            (?P<month>1?[0-9]|十[一二]?|[一二三四五六七八九])月(?:份|(?P<date>[0-3]?[0-9])[日号號])?
          | (?<![0-9])(?:(?P<year_alone>(?:19|20)[0-9]{{2}})年|(?P<this_alone>[今去前])年)
          | (?P<recent>最近(?!的|一次|一[个個]|使用|[浏瀏]|[访訪])|近[来來期])
        )
        (?P<bound>以来|以來|起|[之以]?[后後]|[之以]?前|为止|為止)?""",
        re.VERBOSE,
    )
