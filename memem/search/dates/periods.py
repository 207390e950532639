"""Periods of days, counted from a given today and kept within the calendar."""

from collections.abc import Iterator
from datetime import date, timedelta

Period = tuple[date, date]  # first and last day, both included
Span = tuple[date | None, date | None]  # the same, with either side open

RECENT_DAYS = 30
LEAP_YEARS = 8  # every eight years contain a 29 February
_SLACK_DAYS = {"day": 1, "week": 3, "month": 15, "year": 183}  # "two weeks ago" is rarely exact
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}


def add_days(day: date, days: int) -> date:
    return date.fromordinal(min(max(1, day.toordinal() + days), date.max.toordinal()))


def get_bounded(bound: str, period: Period, today: date) -> Iterator[Span]:
    """The span since, after, before, until or within a period, unless it lies in the future."""
    first, last = period
    if bound in ("after", "before"):
        first, last = add_days(last, 1), add_days(first, -1)
    if bound in ("until", "before"):
        if last <= today:
            yield None, last
    elif first <= today:
        yield first, None if bound in ("since", "after") else last


def get_day(today: date, days_ago: int) -> Period:
    return (add_days(today, -days_ago),) * 2


def get_month(year: int, month: int) -> Period | None:
    if not (1 <= month <= 12 and date.min.year <= year < date.max.year):
        return None
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


def get_date(
    year: int | None, month: int | None, day: int | None, today: date, *, is_over: bool = False
) -> Period | None:
    """A year, a month or a day; without a year the last one that has begun or, with `is_over`, has ended."""
    if month is None:
        first_year = max(1, year or 1)
        return date(first_year, 1, 1), date(first_year, 12, 31)
    if day is None:
        has_begun = month < today.month if is_over else month <= today.month
        return get_month(today.year - (not has_begun) if year is None else year, month)
    for tried in range(today.year, max(0, today.year - LEAP_YEARS), -1) if year is None else [year]:
        if (exact := to_date(tried, month, day)) and (year is not None or exact <= today):
            return exact, exact
    return None


def to_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def get_calendar_unit(unit: str, today: date, *, last: bool) -> Period | None:
    """This week, month, quarter or year, or the one before it."""
    if unit == "week":
        monday = add_days(today, -today.weekday() - 7 * last)
        return monday, add_days(monday, 6)
    if unit == "year":
        return get_date(today.year - last, None, None, today)
    count = 3 if unit == "quarter" else 1
    first_month = today.year * 12 + ((today.month - 1) // count - last) * count
    first, final = (get_month(number // 12, number % 12 + 1) for number in (first_month, first_month + count - 1))
    return (first[0], final[1]) if first and final else None


def get_ago(least: int, most: int, unit: str, today: date) -> Period:
    """About `least` to `most` units back; one and two days are exact."""
    slack = 0 if unit == "day" and most <= 2 else _SLACK_DAYS[unit]
    first, last = (add_days(today, -round(count * _UNIT_DAYS[unit])) for count in (most, least))
    return add_days(first, -slack), add_days(last, min(slack, least * _SLACK_DAYS[unit]))


def get_recent(count: int, unit: str, today: date) -> Period:
    return add_days(today, -round(count * _UNIT_DAYS[unit])), today
