"""The failures of the claude CLI, told apart. What is quoted here was said by 2.1.325 and 2.1.197."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.core.errors import CallFailed, ExtractError, NotLoggedIn, Overloaded, RateLimited, Refused
from memem.model import errors

BERLIN = timezone(timedelta(hours=1))
NOW = datetime(2026, 11, 17, 1, 0, 30, tzinfo=BERLIN)


def failed(words: str, status: int | None = None, **more: Any) -> dict[str, Any]:
    """The report of a failed call: a "success" in its subtype, whatever happened."""
    return {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "api_error_status": status,
        "result": words,
        "stop_reason": "stop_sequence",
    } | more


def explained(
    result: dict[str, Any] | None = None, *, code: int = 1, output: str = "", complaint: str = ""
) -> ExtractError:
    problem = errors.explain(code, result, output, complaint, NOW)
    assert problem
    return problem


def retry_at(words: str, now: datetime = NOW) -> datetime | None:
    problem = errors.explain(1, failed(words, 429), "", "", now)
    assert isinstance(problem, RateLimited)
    return problem.retry_at


@pytest.mark.parametrize(
    "result",
    [
        {"type": "result", "is_error": False, "structured_output": {"operations": []}, "result": "{}"},
        {"type": "result", "is_error": False, "result": "words about a rate limit, 401 and /login"},
        {"type": "result", "is_error": False, "structured_output": {}},
    ],
)
def test_answer_is_not_a_failure(result: dict[str, Any]) -> None:
    assert errors.explain(0, result, "", "a warning", NOW) is None


def test_words_without_a_report_may_be_an_answer() -> None:
    assert errors.explain(0, None, '{"operations": [{"content": "the queue was overloaded"}]}', "", NOW) is None
    assert errors.explain(0, None, "It is a matter of taste.", "", NOW) is None


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("Invalid API key · Fix external API key", 401),
        ("Failed to authenticate. API Error: 403 OAuth token revoked", 403),
        ("Failed to authenticate. API Error: 401 OAuth token has expired. Please obtain a new token.", 401),
        ("Not logged in · Please run /login", None),
        ("Login expired · Please run /login", None),
        ("Credit balance is too low", 400),
    ],
)
def test_an_account_that_cannot_be_used(words: str, status: int | None) -> None:
    problem = explained(failed(words, status))
    assert type(problem) is NotLoggedIn
    assert words.rstrip(".") in str(problem)
    assert "/login" in str(problem)


def test_an_old_cli_says_so_in_words_alone() -> None:
    assert type(explained(output="Invalid API key · Please run /login", code=0)) is NotLoggedIn
    assert type(explained(complaint="Invalid API key · Please run /login")) is NotLoggedIn


@pytest.mark.parametrize(
    ("words", "status", "more"),
    [
        ("API Error: Request rejected (429) · This request would exceed your rate limit", 429, {}),
        ("API Error: Request rejected (429) · no", None, {}),
        ("You've hit your 5-hour limit · resets 4:01am (Europe/Berlin)", None, {"api_error": "usage_limit_reached"}),
        ("You've hit your session limit · resets 4:05am (Europe/Berlin)", 429, {}),
        ("Claude AI usage limit reached|1794880000", None, {}),
        ("You've hit your monthly spend limit.", None, {}),
    ],
)
def test_a_limit_of_the_account(words: str, status: int | None, more: dict[str, Any]) -> None:
    assert type(explained(failed(words, status, **more))) is RateLimited


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Claude AI usage limit reached|1794880000", datetime.fromtimestamp(1794880000, BERLIN)),
        ("Claude AI usage limit reached|1794880000123", datetime.fromtimestamp(1794880000, BERLIN)),
        ("429, retry-after: 90", NOW + timedelta(seconds=90)),
        ("Rate limited, try again in 5 minutes", NOW + timedelta(minutes=5)),
        ("You've hit your fast limit · resets in 2h", NOW + timedelta(hours=2)),
        ("limit resets at 2026-11-17T03:00:00Z", datetime(2026, 11, 17, 3, tzinfo=UTC)),
        ("limit resets at 2026-11-17T03:00:00", datetime(2026, 11, 17, 3, tzinfo=BERLIN)),
        ("limit · resets 3am", datetime(2026, 11, 17, 3, 1, tzinfo=BERLIN)),
        ("limit · resets 12am", datetime(2026, 11, 18, 0, 1, tzinfo=BERLIN)),
        ("limit · resets 12pm", datetime(2026, 11, 17, 12, 1, tzinfo=BERLIN)),
        ("limit · resets at 15:30", datetime(2026, 11, 17, 15, 31, tzinfo=BERLIN)),
        ("limit · resets 4:01am (Europe/Berlin)", datetime(2026, 11, 17, 4, 2, tzinfo=BERLIN)),
        ("limit · resets 4pm (America/Los_Angeles)", datetime(2026, 11, 17, 0, 1, tzinfo=UTC)),
        ("limit · resets 5pm (Not/AZone)", datetime(2026, 11, 17, 17, 1, tzinfo=BERLIN)),
        ("limit · resets Nov 19, 3:01am (Europe/Berlin)", datetime(2026, 11, 19, 3, 2, tzinfo=BERLIN)),
        ("limit · resets December 1 at 9am", datetime(2026, 12, 1, 9, 1, tzinfo=BERLIN)),
    ],
)
def test_when_a_limit_is_over(words: str, expected: datetime) -> None:
    now = datetime(2026, 11, 16, 23, 30, tzinfo=UTC) if "Angeles" in words else NOW
    assert retry_at(words, now) == expected


def test_a_limit_that_ends_within_this_very_minute_does_not_wait_for_tomorrow() -> None:
    assert retry_at("limit · resets 1am") == NOW.replace(minute=1, second=0)


def test_a_date_may_be_in_the_next_year() -> None:
    last_day = datetime(2026, 12, 31, 20, tzinfo=BERLIN)
    assert retry_at("limit · resets Jan 2, 3am", last_day) == datetime(2027, 1, 2, 3, 1, tzinfo=BERLIN)


@pytest.mark.parametrize(
    "words",
    [
        "API Error: Request rejected (429) · no",
        "usage limit reached|1000000000",
        "usage limit reached|9999999999",
        "limit · resets 27:00",
        "limit · resets Foo 3, 3am",
        "limit · resets Feb 31, 3am",
        "limit · resets at 2026-99-99T03:00:00Z",
        "limit · resets soon",
    ],
)
def test_a_time_that_cannot_be_is_none(words: str) -> None:
    assert retry_at(words) is None


@given(words=st.text(), hour=st.integers(0, 99), minute=st.integers(0, 99))
def test_whatever_is_said_a_time_to_wait_for_is_ahead_and_not_far(words: str, hour: int, minute: int) -> None:
    moment = retry_at(f"resets {words} {hour}:{minute:02}")
    assert moment is None or NOW < moment <= NOW + errors.MAX_WAIT


@pytest.mark.parametrize(
    "result",
    [
        failed(
            "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment.", 529
        ),
        failed("API Error: 500 Internal server error. This is a server-side issue.", 500),
        failed("API Error: 503 no healthy upstream"),
        failed("API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)"),
        failed("API Error: Can't reach the API server — check your internet or DNS (ENOTFOUND)"),
        failed("API Error: Unable to connect to API (ConnectionRefused)"),
        failed("API Error: something else", api_error="connection_failed"),
        failed("", errors=["overloaded_error"], subtype="error_during_execution"),
    ],
)
def test_a_service_that_has_to_recover(result: dict[str, Any]) -> None:
    assert type(explained(result)) is Overloaded


@pytest.mark.parametrize(
    "result",
    [
        failed("API Error: Haiku 5.5 can't help with this. Start a new session to continue.", stop_reason="refusal"),
        failed(
            "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy"
            " (https://www.anthropic.com/legal/aup). Try rephrasing the request in a new session."
        ),
    ],
)
def test_a_refusal(result: dict[str, Any]) -> None:
    assert type(explained(result)) is Refused


def test_a_refusal_that_counts_as_done_is_one_all_the_same() -> None:
    assert type(explained(failed("", is_error=False, stop_reason="refusal"), code=0)) is Refused


@pytest.mark.parametrize(
    ("result", "code", "expected"),
    [
        (failed("Prompt is too long · the request is ~250000 tokens (limit 200000)", 400), 1, "too long for one call"),
        (failed("API Error: Claude's response exceeded the 128000 output token maximum."), 1, "too long for one call"),
        (failed("There's an issue with the selected model (claude-x).", 404), 1, "the selected model"),
        (failed("", subtype="error_max_turns", is_error=False), 0, "with an error (error_max_turns)"),
        (failed("", 7), 0, "with an error (success)"),
        (failed("a good answer", is_error=False), 3, "exit code 3"),
        (None, 1, "exit code 1 (it gave no reason)"),
        (None, -9, "SIGKILL"),
        (None, -200, "signal 200"),
        (None, 0, "without an answer"),
        ({"type": "result", "is_error": False, "result": ""}, 0, "without an answer"),
        ({"type": "result"}, 0, "without an answer"),
    ],
)
def test_any_other_failure(result: dict[str, Any] | None, code: int, expected: str) -> None:
    problem = explained(result, code=code)
    assert type(problem) is CallFailed
    assert expected in str(problem)


def test_an_answer_with_a_bad_ending_is_not_shown() -> None:
    assert "about the house" not in str(explained(failed("about the house", is_error=False)))


def test_an_option_that_the_cli_does_not_have() -> None:
    complaint = "error: unknown option '--safe-mode'\n(Did you mean --bare?)\n"
    assert errors.unknown_option(complaint) == "--safe-mode"
    assert errors.unknown_option("error: no such file") is None
    assert "unknown option '--safe-mode'" in str(explained(complaint=complaint))


def test_a_secret_is_not_passed_on_even_where_the_words_are_cut() -> None:
    key = "sk-ant-" + "api03-" + "x" * 90
    for words in (f"bad key {key}", "x" * 190 + f" {key}", f"Authorization: Bearer {'y' * 40}"):
        message = str(explained(complaint=words))
        assert "xxxx-" not in message
        assert "api03" not in message
        assert "yyy" not in message


@given(words=st.text())
def test_a_message_is_one_printable_line_with_few_of_the_words(words: str) -> None:
    told = errors.quote_words(words)
    assert len(told) <= errors.MAX_QUOTE_CHARS
    assert told.isprintable()
    assert len(str(explained(complaint=words * 50)).splitlines()) == 1
