"""The benchmark of moving in and out measures what it says."""

from pathlib import Path

import pytest

from bench import moving
from bench.__main__ import main


def test_everything_is_moved_and_takes_its_time(tmp_path: Path) -> None:
    moved = moving.measure(tmp_path, 20, fsync=False)
    assert min(moved.save, moved.first, moved.again, moved.export, moved.restore, moved.growth) > 0
    notes = list((tmp_path / "other" / "vault" / "memem" / "memories").iterdir())
    assert len(notes) == len(list((tmp_path / "vault" / "vault" / "memem" / "memories").iterdir())) == 20


def test_the_table_counts_in_saves(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["moving", "--notes", "10", "--no-fsync"]) == 0
    assert capsys.readouterr().out.count(" saves\n") == 4
