"""Stretches of days, counted from a today that is given. A day before the calendar begins is its first one."""

from collections.abc import Iterator
from datetime import date, timedelta

Period = tuple[date, date]
"""A first and a last day; both belong to it."""
Span = tuple[date | None, date | None]
"""The same, with a side open or not."""

RECENT = 30
"""In days: what "recently" means."""

MONTHS = "january february march april may june july august september october november december".split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_SLACK = {"day": 1, "week": 3, "month": 15, "year": 183}
"""In days: who says "two weeks ago" did not count."""
_LEAP = 8
"""In so many years there is a 29th of February, whatever the century."""


def plus(day: date, days: int) -> date:
    return date.fromordinal(min(max(1, day.toordinal() + days), date.max.toordinal()))


def since(period: Period, today: date) -> Iterator[Span]:
    """All that is not before a period. What lies ahead cannot be remembered yet, and is not asked for."""
    if period[0] <= today:
        yield period[0], None


def after(period: Period, today: date) -> Iterator[Span]:
    return since(day_before(period[1], -1), today)


def until(period: Period, today: date) -> Iterator[Span]:
    if period[1] <= today:
        yield None, period[1]


def before(period: Period, today: date) -> Iterator[Span]:
    return until(day_before(period[0], 1), today)


def within(period: Period, today: date) -> Iterator[Span]:
    if period[0] <= today:
        yield period


def day_before(today: date, days: int) -> Period:
    return (plus(today, -days),) * 2


def month(year: int, number: int) -> Period | None:
    if not (1 <= number <= 12 and date.min.year <= year < date.max.year):
        return None
    following = date(year + number // 12, number % 12 + 1, 1)
    return date(year, number, 1), following - timedelta(days=1)


def last_month_named(number: int, today: date, *, over: bool = False) -> Period | None:
    """The last one of this name that has begun; with `over`, that has ended."""
    begun = number < today.month if over else number <= today.month
    return month(today.year - (not begun), number)


def year(number: int) -> Period:
    return date(max(1, number), 1, 1), date(max(1, number), 12, 31)


def one_day(year: int | None, month: int, day: int, today: date) -> Period | None:
    """A day of the calendar; without a year the last one that was."""
    for tried in [year] if year else range(today.year, max(0, today.year - _LEAP), -1):
        try:
            found = date(tried, month, day)
        except ValueError:
            continue
        if year or found <= today:
            return found, found
    return None


def weekday(number: int, today: date) -> Period:
    """The last Monday, or whichever, before today."""
    return day_before(today, (today.weekday() - number - 1) % 7 + 1)


def weekday_of_last_week(number: int, today: date) -> Period:
    return day_before(today, today.weekday() + 7 - number)


def calendar(unit: str, today: date, *, last: bool) -> Period | None:
    """This week, month, quarter or year, or the one before it."""
    if unit == "week":
        monday = plus(today, -today.weekday() - 7 * last)
        return monday, plus(monday, 6)
    if unit == "month":
        return _months(today, (today.month - 1) - last, 1)
    if unit == "quarter":
        return _months(today, 3 * ((today.month - 1) // 3 - last), 3)
    return year(today.year - last)


def ago(least: int, most: int, unit: str, today: date) -> Period:
    """About so many units back. One day and two are what they are."""
    slack = 0 if unit == "day" and most <= 2 else _SLACK[unit]
    return plus(_back(most, unit, today), -slack), plus(_back(least, unit, today), min(slack, least * _SLACK[unit]))


def lately(most: int, unit: str, today: date) -> Period:
    """From so many units back until today."""
    return _back(most, unit, today), today


def _back(count: int, unit: str, today: date) -> date:
    return plus(today, -round(count * {"day": 1, "week": 7, "month": 30.44, "year": 365.25}[unit]))


def _months(today: date, first: int, count: int) -> Period | None:
    """Some months from one on, counted from January of this year."""
    begin = month(today.year + first // 12, first % 12 + 1)
    end = month(today.year + (first + count - 1) // 12, (first + count - 1) % 12 + 1)
    return (begin[0], end[1]) if begin and end else None
