"""The benchmark of curation finds what it planted, and not what must not be found."""

import pytest

from bench import curation
from bench.curation import CHANGED, MORE, SAME, measure


def test_duplicates_and_extensions_are_suggested_and_other_numbers_are_not() -> None:
    looked = measure(200, 1)
    assert looked.planted == 2
    assert looked.found == {SAME: 2, MORE: 2, CHANGED: 0}
    assert looked.bare_starts > 0


def test_it_prints_a_row_for_each_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert curation.run(["--sizes", "100", "--rounds", "1"]) == 0
    heading, _, row = capsys.readouterr().out.splitlines()
    assert heading.split()[:2] == ["notes", "x"]
    assert row.split()[0] == "100"
