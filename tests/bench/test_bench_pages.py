"""The benchmark of pages works, in a small vault."""

from pathlib import Path

from bench import pages


def test_everything_is_measured_against_a_bare_start(tmp_path: Path) -> None:
    rows = pages.measure(tmp_path / "bench", 30, 1)
    assert [what for what, _, _ in rows] == [
        "bare start",
        pages.REFRESH,
        pages.AGAIN,
        pages.ONE,
        pages.WITHOUT,
        pages.FIRST,
        pages.START,
    ]
    assert all(milliseconds > 0 and multiple > 0 for _, milliseconds, multiple in rows)
