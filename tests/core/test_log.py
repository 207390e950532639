"""The log of mining: a line for each thing that happened, in a file that is private and does not grow for ever."""

import os
import stat
from pathlib import Path

import pytest

from memem.core import files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "mine_delta.log"


def test_lines_are_added_below_each_other(path: Path) -> None:
    files.append_log(path, "first")
    files.append_log(path, "second")
    assert path.read_text() == "first\nsecond\n"


def test_log_entry_is_one_line(path: Path) -> None:
    files.append_log(path, "a\nb\r\n\tc \ud800 ü")
    assert path.read_text(encoding="utf-8") == "a b c ? ü\n"


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_the_log_is_private(path: Path) -> None:
    files.append_log(path, "a")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_long_log_is_rotated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LOG_BYTES", 10)
    for word in ("oldest......", "older.......", "new"):
        files.append_log(path, word)
    assert path.read_text() == "new\n"
    assert path.with_name("mine_delta.log.1").read_text() == "older.......\n"
    assert len(list(path.parent.iterdir())) == 2, "only one old log is kept"


def test_a_line_torn_by_a_crash_does_not_swallow_the_next(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"torn")
    files.append_log(path, "whole")
    assert path.read_text() == "torn\nwhole\n"


def test_unwritable_log_is_ignored(path: Path) -> None:
    path.mkdir(parents=True)
    files.append_log(path, "a")
    assert path.is_dir()
    files.append_log(path / "x" / "y" / "mine_delta.log", "there is no such folder")


def test_concurrent_rotation_is_tolerated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LOG_BYTES", 10)
    files.append_log(path, "a long line, so that it is put aside")
    real = os.replace

    def come_second(source: Path, target: Path) -> None:
        real(source, target)
        real(source, target)

    monkeypatch.setattr(os, "replace", come_second)
    files.append_log(path, "new")
    assert path.read_text() == "new\n"
