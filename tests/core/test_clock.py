"""Moments, as notes and transcripts write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memem.core.dates import iso, moment

BERLIN = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01T09:00:00+01:00", datetime(2026, 3, 1, 9, tzinfo=BERLIN)),
        ("2026-03-01T09:00:00.250Z", datetime(2026, 3, 1, 9, 0, 0, 250_000, tzinfo=UTC)),
        ("2026-03-01T09:00:00", datetime(2026, 3, 1, 9, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("", None),
        ("yesterday", None),
    ],
)
def test_a_text_names_a_moment_in_utc_unless_it_says_otherwise(text: str, expected: datetime | None) -> None:
    assert moment(text) == expected


def test_written_time_is_parsed_again() -> None:
    now = datetime(2026, 3, 1, 9, 30, 15, tzinfo=BERLIN)
    assert moment(iso(now)) == now
