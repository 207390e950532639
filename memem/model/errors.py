"""Explain failures of the claude CLI from its exit code and output.

It exits with 1 for every failure, and a failed call is a "success" in its `subtype`: check `is_error`, then the API's
status, then the words.
"""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from memem.core.errors import CallFailed, ExtractError, NotLoggedIn, Overloaded, RateLimited, Refused

MOST_CHARACTERS = 200
LONGEST_WAIT = timedelta(days=32)  # the longest limits are monthly; longer ones are a misunderstanding

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


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of failure: its status codes and words, and the message for the user."""

    error: type[ExtractError]
    statuses: tuple[int, ...]
    words: re.Pattern[str]
    message: str


_KINDS = (
    _Kind(
        RateLimited,
        (429,),
        re.compile(r"(usage|rate|spend)[ _]limit|hit your .*limit|reached your .*limit|retry.after", re.IGNORECASE),
        "The account has reached a limit ({}). Nothing is lost.",
    ),
    _Kind(
        NotLoggedIn,
        (401, 403),
        re.compile(
            r"invalid api key|/login|not logged in|login expired|failed to authenticate|authentication_(error|failed)"
            r"|oauth token (has )?(been )?(expired|revoked)|credit balance is too low",
            re.IGNORECASE,
        ),
        "The claude CLI has no account that it can ask with ({}). Run claude and type /login.",
    ),
    _Kind(
        Overloaded,
        (500, 502, 503, 504, 529),
        re.compile(
            r"overloaded|internal server error|connection (error|refused|reset)|connection_failed|unable to connect"
            r"|can't reach|fetch failed|socket hang up|timed out"
            r"|\b(ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH)\b",
            re.IGNORECASE,
        ),
        "The service cannot be reached or is overloaded ({}). Nothing is lost.",
    ),
    _Kind(
        CallFailed,
        (413,),
        re.compile(r"prompt is too long|output token maximum", re.IGNORECASE),
        "These turns are too much for one call ({}).",
    ),
    _Kind(
        Refused,
        (),
        re.compile(r"usage policy|legal/aup", re.IGNORECASE),
        "The model does not want to answer about these turns ({}).",
    ),
)


def explain(
    code: int, result: Mapping[str, Any] | None, output: str, complaint: str, now: datetime
) -> ExtractError | None:
    """Return the failure of a call; None if it has an answer, of whatever shape."""
    words = _words(result, output, complaint)
    if code < 0:
        return CallFailed(f"The claude CLI was ended by {_signal(-code)}. Nothing is lost.")
    if result and result.get("stop_reason") == "refusal":
        return Refused(_KINDS[-1].message.format(quote_words(words)))
    if code or _is_failure(result, output):
        return _of_kind(result, words, now) or _other(code, words)
    if not _has_answer(result, output):
        return CallFailed("The claude CLI ended without an answer. Run claude -p hello to see whether it works.")
    return None


def unknown_option(complaint: str) -> str | None:
    """Return the option that the CLI complains about, if it does."""
    found = _UNKNOWN_OPTION.search(complaint)
    return found[1] if found else None


def quote_words(words: str) -> str:
    """Somebody else's words as a piece of one line: short, printable and without a secret."""
    line = " ".join(_SECRET.sub("[redacted]", words).split())
    line = "".join(each for each in line if each.isprintable()).rstrip(".")
    return line if len(line) <= MOST_CHARACTERS else line[: MOST_CHARACTERS - 1] + "…"


def _is_failure(result: Mapping[str, Any] | None, output: str) -> bool:
    """Words without a report are an error message when they read like one: some are printed with exit code 0."""
    if result is None:
        is_prose = len(output) < 500 and not output.lstrip().startswith(("{", "[", "`"))
        return is_prose and any(kind.words.search(output) for kind in _KINDS)
    return bool(result.get("is_error")) or str(result.get("subtype", "")).startswith("error")


def _has_answer(result: Mapping[str, Any] | None, output: str) -> bool:
    if result is None:
        return bool(output.strip())
    return result.get("structured_output") is not None or bool(str(result.get("result") or "").strip())


def _words(result: Mapping[str, Any] | None, output: str, complaint: str) -> str:
    """Return what the CLI said about its failure, the most informative first."""
    if result is None:
        return f"{complaint} {output[:500]}".strip()
    errors = result.get("errors")
    listed = errors if isinstance(errors, list) else [errors]
    answer = result.get("result") if result.get("is_error") else None
    words = " ".join(each for each in (answer, *listed, complaint) if isinstance(each, str))
    return words.strip() or str(result.get("api_error") or result.get("subtype", ""))


def _of_kind(result: Mapping[str, Any] | None, words: str, now: datetime) -> ExtractError | None:
    reported, code = (result.get("api_error_status"), result.get("api_error")) if result else (None, None)
    found = _STATUS.search(words)
    status = reported or (int(found[1]) if found else None)
    by_status = [kind for kind in _KINDS if status in kind.statuses]
    by_words = [kind for kind in _KINDS if kind.words.search(f"{words} {code}")]
    for kind in by_status + by_words:
        message = kind.message.format(quote_words(words))
        return (
            RateLimited(message, retry_at=_retry_at(words, now)) if kind.error is RateLimited else kind.error(message)
        )
    return None


def _other(code: int, words: str) -> CallFailed:
    ending = f"with exit code {code}" if code else "with an error"
    said = quote_words(words) or "it did not say why"
    return CallFailed(f"The claude CLI ended {ending} ({said}). Run claude -p hello to see whether it works.")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _retry_at(words: str, now: datetime) -> datetime | None:
    """Return when the limit ends, if the words give a plausible time."""
    for read in (_at_epoch, _after_a_wait, _at_iso, _at_clock):
        try:
            moment = read(words, now)
        except (ValueError, OverflowError):
            continue
        if moment and now < moment <= now + LONGEST_WAIT:
            return moment
    return None


def _at_epoch(words: str, now: datetime) -> datetime | None:
    found = _EPOCH.search(words)
    return datetime.fromtimestamp(int(found[1]), now.tzinfo) if found else None


def _after_a_wait(words: str, now: datetime) -> datetime | None:
    found = _WAIT.search(words)
    return now + int(found[1]) * timedelta(seconds={"m": 60, "h": 3600}.get(found[2].lower(), 1)) if found else None


def _at_iso(words: str, now: datetime) -> datetime | None:
    found = _ISO.search(words)
    moment = datetime.fromisoformat(found[1]) if found else None
    return moment.replace(tzinfo=now.tzinfo) if moment and moment.tzinfo is None else moment


def _at_clock(words: str, now: datetime) -> datetime | None:
    """Return the next such time: "4:01am (Europe/Berlin)", "Nov 19, 3am"."""
    found = _CLOCK.search(words)
    if not found:
        return None
    here = now.astimezone(_zone(found["zone"]) or now.tzinfo)
    hour = int(found["hour"])
    if found["half"]:
        hour = hour % 12 + (12 if found["half"].lower() == "pm" else 0)
    moment = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
    if found["month"]:
        moment = moment.replace(month=_MONTHS.index(found["month"].lower()) + 1, day=int(found["day"]))
    moment += timedelta(minutes=1)  # the seconds are not told: a minute later the limit is over for certain
    if moment > here:
        return moment
    return moment.replace(year=moment.year + 1) if found["month"] else moment + timedelta(days=1)


def _zone(name: str | None) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, KeyError):  # not a zone, or one that this system does not have
        return None
