"""Find the day until which a statement is valid: "code freeze until 2026-12-01", "the sale ends on 5 December".

Only the first sentence is read, since the rest may outlast it, and only a date that is its subject.
"""

import re
from datetime import date

from memem.search.dates import parse
from memem.search.dates.parse import Groups, compile_pattern, get_groups, get_month_number, load_words

MAX_STATEMENT_CHARS = 500  # a longer statement is rarely outdated by one date
_QUOTED = re.compile(r'`[^`]*`|"[^"]*"|“[^”]*”')
_SENTENCE_END = re.compile(r"(?<=\w\w)[.!](?=\s+[A-Z])|[。！\n]")


def find_deadline(statement: str, written: date) -> date | None:
    """The last day a statement names for itself, seen from the day it was written."""
    if len(statement) > MAX_STATEMENT_CHARS:
        return None
    text = " ".join(_QUOTED.sub(" … ", _SENTENCE_END.split(statement.strip(), maxsplit=1)[0]).split())
    if text.endswith(("?", "？")):
        return None
    days = [_read_english(match, written) for match in compile_pattern("english", "deadline").finditer(text)]
    for name in ("until", "ends"):
        days += [_read_chinese(match, written) for match in compile_pattern("chinese", name).finditer(text)]
    return max((day for day in days if day and day >= written), default=None)


def _is_subject(before: str, *, has_year: bool) -> bool:
    if compile_pattern("english", "aside").search(before):
        return False
    return has_year or not any(compile_pattern("english", name).search(before) for name in ("recurring", "range_start"))


def _read_english(match: re.Match[str], written: date) -> date | None:
    groups = get_groups(match)
    before = match.string[: match.start()]
    if not _is_subject(before, has_year=bool(groups.keys() & {"iso", "y", "year"})) or not _is_date(match, groups):
        return None
    if year := groups.get("iso") or groups.get("year"):
        return parse.to_date(int(year), int(groups.get("m0", 12)), int(groups.get("d0", 31)))
    if "month" in groups:
        day = groups.get("d1") or groups.get("d2")
        return _find_next(groups.get("y", ""), get_month_number(groups["month"]), int(day or 0), written)
    if "unit" in groups:
        name = groups["unit"].removeprefix("next ")
        span = parse.get_calendar_unit(name, written, last=False)
        if span and name != groups["unit"]:
            span = parse.get_calendar_unit(name, parse.add_days(span[1], 1), last=False)
        return span[1] if span else None
    if "weekday" not in groups:
        return parse.add_days(written, 1)  # tomorrow
    ahead = (load_words("english")["weekdays"].index(groups["weekday"]) - written.weekday() - 1) % 7 + 1
    is_this_week = ahead <= 6 - written.weekday()  # "next Friday" is the one after this week's
    return parse.add_days(written, ahead + 7 * ("next" in groups and is_this_week))


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
        span = parse.get_month(tried, month)
        last = parse.to_date(tried, month, day) if day else span and span[1]
        if last and (year or last >= written):
            return last
    return None


def _read_chinese(match: re.Match[str], written: date) -> date | None:
    if not _is_subject(match.string[: match.start()], has_year=bool(match["y"])):
        return None
    return _find_next(match["y"] or "", int(match["m"]), int(match["d"]), written)
