"""Find periods in text, and the day until which a statement is valid, with the words and patterns of `dates.toml`."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from functools import cache
from typing import Any

from memem.core.data_files import load_table

Period = tuple[date, date]  # first and last day, both included
Span = tuple[date | None, date | None]  # the same, with either side open

RECENT_DAYS = 30
MAX_STATEMENT_CHARS = 500  # a longer statement is rarely outdated by one date
LEAP_YEARS = 8  # every eight years contain a 29 February
_SLACK_DAYS = {"day": 1, "week": 3, "month": 15, "year": 183}  # "two weeks ago" is rarely exact
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}
_QUOTED = re.compile(r'`[^`]*`|"[^"]*"|“[^”]*”')
_SENTENCE_END = re.compile(r"(?<=\w\w)[.!](?=\s+[A-Z])|[。！\n]")
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
        is_range = lead in ("between", "from") and matches and _get_lead(matches[0]) in words["joints"]
        if is_range and not text[match.end() : matches[0].start()].strip():
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
    unit = groups.get("unit") or groups.get("ago") or groups.get("rolling") or ""
    unit = words["units"].get(unit, unit)
    if "day" in groups:
        return get_day(today, words["days"][groups["day"]])
    if "unit" in groups:
        return get_calendar_unit(unit, today, last=groups["which"] in words["last"])
    if "ago" in groups:
        least, most = _count(groups["count"], words)
        slack = 0 if unit == "day" and most <= 2 else _SLACK_DAYS[unit]  # one and two days are exact
        first, last = (add_days(today, -round(count * _UNIT_DAYS[unit])) for count in (most, least))
        return add_days(first, -slack), add_days(last, min(slack, least * _SLACK_DAYS[unit]))
    if "rolling" in groups:
        _, most = _count(groups.get("many", "1"), words)
        return add_days(today, -round(most * _UNIT_DAYS[unit])), today
    return (add_days(today, -RECENT_DAYS), today) if "recent" in groups else None


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
    if unit == "week":
        monday = add_days(today, -today.weekday() - 7 * last)
        return monday, add_days(monday, 6)
    if unit == "year":
        return get_date(today.year - last, None, None, today)
    count = 3 if unit == "quarter" else 1
    first_month = today.year * 12 + ((today.month - 1) // count - last) * count
    first, final = (get_month(number // 12, number % 12 + 1) for number in (first_month, first_month + count - 1))
    return (first[0], final[1]) if first and final else None


def find_deadline(statement: str, written: date) -> date | None:
    """The last day a statement names for itself: "code freeze until 2026-12-01", "the sale ends on 5 December"."""
    if len(statement) > MAX_STATEMENT_CHARS:
        return None
    first = _SENTENCE_END.split(statement.strip(), maxsplit=1)[0]  # the rest may outlast it
    text = " ".join(_QUOTED.sub(" … ", first).split())
    if text.endswith(("?", "？")):
        return None
    days = [_read_english_deadline(match, written) for match in compile_pattern("english", "deadline").finditer(text)]
    for match in (match for name in ("until", "ends") for match in compile_pattern("chinese", name).finditer(text)):
        if _is_subject(text[: match.start()], has_year=bool(match["y"])):
            days.append(_find_next(match["y"] or "", int(match["m"]), int(match["d"]), written))
    return max((day for day in days if day and day >= written), default=None)


def _is_subject(before: str, *, has_year: bool) -> bool:
    if compile_pattern("english", "aside").search(before):
        return False
    return has_year or not any(compile_pattern("english", name).search(before) for name in ("recurring", "range_start"))


def _read_english_deadline(match: re.Match[str], written: date) -> date | None:
    groups = get_groups(match)
    before = match.string[: match.start()]
    if not _is_subject(before, has_year=bool(groups.keys() & {"iso", "y", "year"})) or not _is_date(match, groups):
        return None
    if year := groups.get("iso") or groups.get("year"):
        return to_date(int(year), int(groups.get("m0", 12)), int(groups.get("d0", 31)))
    if "month" in groups:
        day = groups.get("d1") or groups.get("d2")
        return _find_next(groups.get("y", ""), get_month_number(groups["month"]), int(day or 0), written)
    if "unit" in groups:
        name = groups["unit"].removeprefix("next ")
        span = get_calendar_unit(name, written, last=False)
        if span and name != groups["unit"]:
            span = get_calendar_unit(name, add_days(span[1], 1), last=False)
        return span[1] if span else None
    if "weekday" not in groups:
        return add_days(written, 1)  # tomorrow
    ahead = (load_words("english")["weekdays"].index(groups["weekday"]) - written.weekday() - 1) % 7 + 1
    is_this_week = ahead <= 6 - written.weekday()  # "next Friday" is the one after this week's
    return add_days(written, ahead + 7 * ("next" in groups and is_this_week))


def _is_date(match: re.Match[str], groups: Groups) -> bool:
    """Rule out a year that may be a number, a month that may be a verb, and an unspecified week."""
    is_until = groups["cue"].startswith(("until", "till", "til", "'til"))
    if "year" in groups:
        return "end" in groups or groups["cue"].startswith(("through", "thru"))
    if "unit" in groups:
        return "end" in groups or groups["unit"].startswith("next")
    if "month" in groups and not groups.keys() & {"y", "d1", "d2"}:
        return is_until and match["month"][0].isupper() and groups["month"] in load_words("english")["months"]
    return is_until or "month" in groups or "iso" in groups


def _find_next(year: str, month: int, day: int, written: date) -> date | None:
    """A day of a month, or the last one when `day` is 0; without a year the next that comes."""
    for tried in [int(year)] if year else (written.year, written.year + 1):
        span = get_month(tried, month)
        last = to_date(tried, month, day) if day else span and span[1]
        if last and (year or last >= written):
            return last
    return None
