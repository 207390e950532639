"""The labelled memories are drawn."""

from pathlib import Path

import pytest

from bench import picture


def test_the_labelled_memories_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert picture.run([str(tmp_path / "g.svg"), "--words"]) == 0
    assert "148 of 148 memories" in capsys.readouterr().out
    assert (tmp_path / "g.svg").stat().st_size < 150_000
