"""Explain failures of the claude CLI from its exit code and output; `failures.toml` lists the kinds.

It exits with 1 for every failure, and may report a failed call as a "success": check `is_error`, status and words.
"""

import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from memem.core.data_files import load_table
from memem.core.errors import CallFailed, ExtractError, NotLoggedIn, Overloaded, RateLimited, Refused

MAX_QUOTE_CHARS = 200
MAX_WAIT = timedelta(days=32)  # the longest limits are monthly; longer ones are a misunderstanding

_SECRET = re.compile(r"sk-ant-[\w-]*|\bbearer\s+\S+|\beyJ[\w.-]+", re.IGNORECASE)
_UNKNOWN_OPTION = re.compile(r"unknown option '(--[\w-]+)")
_STATUS = re.compile(r"(?:API Error: |\bHTTP |\bstatus(?: code)?[\"': ]*|\()([45]\d\d)\b", re.IGNORECASE)

_EPOCH = re.compile(r"limit reached\|(\d{10})")
_WAIT = re.compile(r"(?:retry.after\W{0,4}|(?:resets|again) in )(\d{1,6}) ?([smh]?)", re.IGNORECASE)
_ISO = re.compile(r"resets (?:at )?(\d{4}-\d\d-\d\dT[\d:]+(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)")
_CLOCK = re.compile(
    r"resets (?:at )?(?:(?P<month>[a-z]{3})[a-z]* (?P<day>\d{1,2}),? (?:\d{4},? )?(?:at )?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>[ap]m)?\b(?!-)(?: \((?P<zone>[\w+/-]+)\))?",
    re.IGNORECASE,
)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()

_ERRORS = {each.__name__: each for each in (RateLimited, NotLoggedIn, Overloaded, CallFailed, Refused)}


class _Kind(NamedTuple):
    error: type[ExtractError]
    statuses: list[int]
    words: re.Pattern[str]
    message: str


_KINDS = [
    _Kind(_ERRORS[row["error"]], row["statuses"], re.compile("|".join(row["patterns"]), re.IGNORECASE), row["message"])
    for row in load_table(__file__, "failures.toml")["kinds"]
]


def explain(
    code: int, result: Mapping[str, Any] | None, output: str, complaint: str, now: datetime
) -> ExtractError | None:
    """Return the failure of a call; None if it has an answer, of whatever shape."""
    words = _words(result, output, complaint)
    if code < 0:
        names = {each.value: each.name for each in signal.Signals}
        return CallFailed(f"The claude CLI was killed by {names.get(-code, f'signal {-code}')}. Nothing is lost.")
    if result and result.get("stop_reason") == "refusal":
        return Refused(_KINDS[-1].message.format(quote_words(words)))
    if code or _is_failure(result, output):
        if problem := _classify(result, words, now):
            return problem
        ending = f"with exit code {code}" if code else "with an error"
        reason = quote_words(words) or "it gave no reason"
        return CallFailed(f"The claude CLI ended {ending} ({reason}). Run claude -p hello to see whether it works.")
    if result is None:
        has_answer = bool(output.strip())
    else:
        has_answer = result.get("structured_output") is not None or bool(str(result.get("result") or "").strip())
    if not has_answer:
        return CallFailed("The claude CLI ended without an answer. Run claude -p hello to see whether it works.")
    return None


def unknown_option(complaint: str) -> str | None:
    match = _UNKNOWN_OPTION.search(complaint)
    return match[1] if match else None


def quote_words(words: str) -> str:
    """Quote foreign words within one line: short, printable and without a secret."""
    line = " ".join(_SECRET.sub("[redacted]", words).split())
    line = "".join(each for each in line if each.isprintable()).rstrip(".")
    return line if len(line) <= MAX_QUOTE_CHARS else line[: MAX_QUOTE_CHARS - 1] + "…"


def _is_failure(result: Mapping[str, Any] | None, output: str) -> bool:
    """Words without a report are an error message when they read like one: some are printed with exit code 0."""
    if result is None:
        is_prose = len(output) < 500 and not output.lstrip().startswith(("{", "[", "`"))
        return is_prose and any(kind.words.search(output) for kind in _KINDS)
    return bool(result.get("is_error")) or str(result.get("subtype", "")).startswith("error")


def _words(result: Mapping[str, Any] | None, output: str, complaint: str) -> str:
    if result is None:
        return f"{complaint} {output[:500]}".strip()
    errors = result.get("errors")
    listed = errors if isinstance(errors, list) else [errors]
    answer = result.get("result") if result.get("is_error") else None
    words = " ".join(each for each in (answer, *listed, complaint) if isinstance(each, str))
    return words.strip() or str(result.get("api_error") or result.get("subtype", ""))


def _classify(result: Mapping[str, Any] | None, words: str, now: datetime) -> ExtractError | None:
    reported, code = (result.get("api_error_status"), result.get("api_error")) if result else (None, None)
    match = _STATUS.search(words)
    status = reported or (int(match[1]) if match else None)
    by_status = [kind for kind in _KINDS if status in kind.statuses]
    by_words = [kind for kind in _KINDS if kind.words.search(f"{words} {code}")]
    for kind in by_status + by_words:
        message = kind.message.format(quote_words(words))
        is_limit = kind.error is RateLimited
        return RateLimited(message, retry_at=read_retry_at(words, now)) if is_limit else kind.error(message)
    return None


def read_retry_at(words: str, now: datetime) -> datetime | None:
    """Return the end of the wait that words state; None if they state none."""
    with suppress(ValueError, OverflowError):  # not a date
        return next((moment for moment in _moments(words, now) if now < moment <= now + MAX_WAIT), None)
    return None


def _moments(words: str, now: datetime) -> Iterator[datetime]:
    if match := _EPOCH.search(words):
        yield datetime.fromtimestamp(int(match[1]), now.tzinfo)
    if match := _WAIT.search(words):
        yield now + int(match[1]) * timedelta(seconds={"m": 60, "h": 3600}.get(match[2].lower(), 1))
    if match := _ISO.search(words):
        with suppress(ValueError):  # such as 24:30; the words may also give a time of day
            moment = datetime.fromisoformat(match[1])
            yield moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)
    if match := _CLOCK.search(words):
        yield _next_time(match, now)


def _next_time(match: re.Match[str], now: datetime) -> datetime:
    """Return the next such time: "4:01am (Europe/Berlin)", "Nov 19, 3am"."""
    zone = now.tzinfo
    with suppress(ValueError, OSError, KeyError):  # not a zone, or one that this system does not have
        zone = ZoneInfo(match["zone"]) if match["zone"] else zone
    here = now.astimezone(zone)
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"].lower() == "pm" else 0)
    moment = here.replace(hour=hour, minute=int(match["minute"] or 0), second=0, microsecond=0)
    if match["month"]:
        moment = moment.replace(month=_MONTHS.index(match["month"].lower()) + 1, day=int(match["day"]))
    moment += timedelta(minutes=1)  # the seconds are unknown: a minute later the limit is over for certain
    if moment > here:
        return moment
    return moment.replace(year=moment.year + 1) if match["month"] else moment + timedelta(days=1)
