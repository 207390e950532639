"""Find periods in text with the words and patterns of `dates.toml`. A date needs a leading word ("in", "since")."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from functools import cache
from typing import Any

from memem.core.data_files import load_table

Period = tuple[date, date]  # first and last day, both included
Span = tuple[date | None, date | None]  # the same, with either side open

RECENT_DAYS = 30
LEAP_YEARS = 8  # every eight years contain a 29 February
_SLACK_DAYS = {"day": 1, "week": 3, "month": 15, "year": 183}  # "two weeks ago" is rarely exact
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}
Groups = Mapping[str, str]  # the non-empty groups of a match, in lower case


def load_words(language: str) -> dict[str, Any]:
    words: dict[str, Any] = load_table(__file__, "dates.toml")[language]
    return words


def get_month_number(name: str) -> int:
    months = load_words("english")["months"]
    return next(number for number, month in enumerate(months, 1) if month.startswith(name[:3]))


@cache
def compile_pattern(language: str, name: str) -> re.Pattern[str]:
    words = load_words(language)
    pattern: str = words["patterns"][name]
    for part, expression in words["parts"].items():
        pattern = pattern.replace(f"{{{part}}}", expression)
    return re.compile(pattern, re.VERBOSE | re.IGNORECASE | re.ASCII)


def get_groups(match: re.Match[str]) -> dict[str, str]:
    return {name: value.lower() for name, value in match.groupdict().items() if value}


def asks_for_past(text: str) -> bool:
    """Whether a question is about how things used to be."""

    def has(language: str, name: str) -> bool:
        return compile_pattern(language, name).search(text) is not None

    is_past = has("english", "past") or (has("english", "maybe_past") and has("english", "past_verb"))
    return is_past or has("chinese", "past")


def find_english(text: str, today: date) -> Iterator[Span]:
    words = load_words("english")
    matches = list(compile_pattern("english", "period").finditer(text))
    while matches:
        match = matches.pop(0)
        lead = _get_lead(match)
        if lead in ("between", "from") and matches and _is_joined(match, matches[0], words):
            first, last = _read_english(match, today), _read_english(matches.pop(0), today, joined=True)
            if first and last and first[0] <= last[1]:
                yield first[0], last[1]
        elif lead not in ("to", "through") and (period := _read_english(match, today)):
            yield from get_bounded(words["bounds"].get(lead, ""), period, today)


def find_chinese(text: str, today: date) -> Iterator[Span]:
    bounds = load_words("chinese")["bounds"]
    for match in compile_pattern("chinese", "period").finditer(text):
        if period := _read_chinese(get_groups(match), today):
            bound = bounds[match["bound"][-1]] if match["bound"] else "since" if match["lead"] else ""
            yield from get_bounded(bound, period, today)


def _get_lead(match: re.Match[str]) -> str:
    return " ".join((match["lead"] or "").lower().split())


def _is_joined(first: re.Match[str], second: re.Match[str], words: Mapping[str, Any]) -> bool:
    return _get_lead(second) in words["joints"] and not first.string[first.end() : second.start()].strip()


def _read_english(match: re.Match[str], today: date, *, joined: bool = False) -> Period | None:
    """The period of a match; the second of a range counts as led by a word like "in"."""
    words, groups = load_words("english"), get_groups(match)
    lead = "until" if joined else groups.get("lead", "")
    is_now = (groups.get("day") or groups.get("which")) in words["now"]
    if is_now and not compile_pattern("english", "happened").search(match.string):
        return None
    if "rolling" in groups and "past" not in groups and lead not in words["rolling_leads"]:
        return None  # "the last week" may be that of a project, "in the last week" is not
    if "weekday" in groups:  # without "last" or "since" it may be the next one
        days = (today.weekday() - words["weekdays"].index(groups["weekday"]) - 1) % 7 + 1
        return get_day(today, days) if "which_day" in groups or lead == "since" else None
    lead = lead if lead in words["leads"] else ""
    return _read_relative(groups, today, words) or _read_date(match, groups, lead, today)


def _read_date(match: re.Match[str], groups: Groups, lead: str, today: date) -> Period | None:
    """A date in digits, or a month by its name."""
    if number := groups.get("iso") or groups.get("alone"):
        if not lead or ("alone" in groups and lead in ("on", "of", "around")):
            return None
        return get_date(int(number), _to_int(groups.get("m0")), _to_int(groups.get("d0")), today)
    name, year = groups.get("name1") or groups.get("name2"), groups.get("y1") or groups.get("y2")
    if not name or not (year or _is_month(match, groups, lead)):
        return None
    if year and year.endswith("year"):
        year = str(today.year - year.startswith("last"))
    day, is_over = _to_int(groups.get("d1") or groups.get("d2")), groups.get("which_month") == "last"
    return get_date(_to_int(year), get_month_number(name), day, today, is_over=is_over)


def _is_month(match: re.Match[str], groups: Groups, lead: str) -> bool:
    """Whether a name without a year is a month, and not a verb or short for another word."""
    name = groups.get("name1") or groups["name2"]
    is_clear = name not in load_words("english")["unclear_months"] or "May" in (match["name1"], match["name2"])
    if "which_month" in groups:
        return name != "may" or is_clear or groups["which_month"] == "last"
    if groups.keys() & {"d1", "d2"}:
        return is_clear or (bool(lead) and (name != "may" or "d1" not in groups))
    return lead not in ("", "on") and (is_clear or name == "may")


def _read_chinese(groups: Groups, today: date) -> Period | None:
    words = load_words("chinese")
    if period := _read_relative(groups, today, words):
        return period
    if "weekday" in groups:  # of last week
        return get_day(today, today.weekday() + 7 - words["weekdays"].index(groups["weekday"]) % 7)
    year = _to_int(groups.get("year") or groups.get("year_alone"))
    if this := groups.get("this") or groups.get("this_alone"):
        year = today.year - words["years"][this]
    month = _count(groups["month"], words)[0] if "month" in groups else None
    return get_date(year, month, _to_int(groups.get("date")), today)


def _read_relative(groups: Groups, today: date, words: Mapping[str, Any]) -> Period | None:
    """A period counted from today: yesterday, last week, two weeks ago, the last ten days, recently."""
    unit = groups.get("unit") or groups.get("ago") or groups.get("rolling") or ""
    unit = words["units"].get(unit, unit)
    if "day" in groups:
        return get_day(today, words["days"][groups["day"]])
    if "unit" in groups:
        return get_calendar_unit(unit, today, last=groups["which"] in words["last"])
    if "ago" in groups:
        return get_ago(*_count(groups["count"], words), unit, today)
    if "rolling" in groups:
        return get_recent(_count(groups.get("many", "1"), words)[1], unit, today)
    return get_recent(RECENT_DAYS, "day", today) if "recent" in groups else None


def _count(text: str, words: Mapping[str, Any]) -> tuple[int, int]:
    """The least and the most that a number may mean; Chinese digits add up, as in 十二."""
    word = text.removesuffix(" of").split()[-1]
    if word.isdecimal():
        return int(word), int(word)
    numbers = [words["numbers"][part] for part in ([word] if word in words["numbers"] else word)]
    return sum(least for least, _ in numbers), sum(most for _, most in numbers)


def _to_int(text: str | None) -> int | None:
    return int(text) if text else None


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
