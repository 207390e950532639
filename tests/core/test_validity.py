"""When a memory holds: the dates that a note states, as moments."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memem.core import dates
from memem.core.dates import Span
from memem.core.memory import Memory

ZONE = timezone(timedelta(hours=2))
CHANGED = 7.0


def at(*when: int, zone: timezone = ZONE) -> float:
    return datetime(*when, tzinfo=zone).timestamp()  # type: ignore[arg-type,misc]


def memory(**properties: str) -> Memory:
    return Memory("00000001", "Title", "Body.", **properties)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "begins", "ends"),
    [
        ("2026-06-01", at(2026, 6, 1), at(2026, 6, 2)),
        (" 2026-06-01 ", at(2026, 6, 1), at(2026, 6, 2)),
        ("2026-06-01T12:00", at(2026, 6, 1, 12), at(2026, 6, 1, 12)),
        ("2026-06-01T12:00:00Z", at(2026, 6, 1, 12, zone=UTC), at(2026, 6, 1, 12, zone=UTC)),
        ("9999-12-31", at(9999, 12, 31), None),
        ("", None, None),
        ("soon", None, None),
        ("2026-13-01", None, None),
    ],
)
def test_a_day_counts_from_its_beginning_and_through_its_end(
    text: str, begins: float | None, ends: float | None
) -> None:
    assert (dates.begin_of(text, ZONE), dates.end_of(text, ZONE)) == (begins, ends)


def test_a_moment_that_no_clock_can_tell_is_none() -> None:
    assert dates.begin_of("0001-01-01T00:00:00", None) is None


def test_only_invalid_dates_are_unreadable() -> None:
    assert [dates.is_unreadable(text) for text in ("", "2026-06-01", "2026-06-01T12:00", "soon")] == [
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("properties", "span"),
    [
        ({}, (None, None)),
        ({"created": "2026-01-01T00:00:00+02:00"}, (at(2026, 1, 1), None)),
        ({"created": "2026-01-01", "valid_from": "2025-12-24"}, (at(2025, 12, 24), None)),
        ({"created": "2026-01-01", "valid_from": "someday"}, (at(2026, 1, 1), None)),
        ({"valid_to": "2026-06-01"}, (None, at(2026, 6, 2))),
        ({"status": "deprecated"}, (None, CHANGED)),
        ({"status": "stale"}, (None, CHANGED)),
        ({"superseded_by": "[[x-00000002]]"}, (None, CHANGED)),
        ({"status": "deprecated", "valid_to": "2026-06-01"}, (None, at(2026, 6, 2))),
    ],
)
def test_it_was_held_from_its_writing_until_it_was_set_aside_unless_it_says_otherwise(
    properties: dict[str, str], span: tuple[float | None, float | None]
) -> None:
    assert dates.get_valid_span(memory(**properties), ZONE, CHANGED) == Span(*span)


def test_span_contains_its_beginning_but_not_its_end() -> None:
    span = Span(1.0, 2.0)
    assert [span.contains(moment) for moment in (0.9, 1.0, 1.9, 2.0)] == [False, True, True, False]
    assert Span().contains(0.0)


@pytest.mark.parametrize(
    ("properties", "remark", "period"),
    [
        ({}, "", ""),
        ({"created": "2026-01-01T09:00:00+02:00"}, "", "valid from 2026-01-01"),
        ({"valid_to": "2026-06-01"}, "until 2026-06-01", "valid until 2026-06-01"),
        ({"status": "deprecated", "updated": "2026-05-01T09:00:00Z"}, "deprecated", "valid until 2026-05-01"),
        ({"status": "stale", "stale_because": "a.py is gone"}, "stale: a.py is gone", ""),
        ({"stale_because": "a.py is gone"}, "", ""),
        (
            {"valid_from": "2026-01-01", "updated": "2026-05-01T09:00:00Z", "superseded_by": "[[new-00000002]]"},
            "until 2026-05-01, replaced by 00000002",
            "valid from 2026-01-01 until 2026-05-01",
        ),
    ],
)
def test_outdated_memory_is_described_in_a_few_words(properties: dict[str, str], remark: str, period: str) -> None:
    assert (dates.describe_status(memory(**properties)), dates.describe_period(memory(**properties))) == (
        remark,
        period,
    )
