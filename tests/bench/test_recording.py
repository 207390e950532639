"""The terminal recording in the README is drawn from what real commands print."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import recording

SVG = "{http://www.w3.org/2000/svg}"


def lines_of(picture: str) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(picture).iter(f"{SVG}text")]  # noqa: S314 - ours


def test_long_lines_wrap_and_markup_is_escaped() -> None:
    long = "x" * (recording.COLUMNS + 3)
    lines = lines_of(recording.draw([(("get", "<id> 1"), f"a < b\n{long}\n")]))
    assert lines == ['$ memem get "<id> 1"', "a < b", long[: recording.COLUMNS], "xxx"]


def test_colours_of_the_terminal_are_kept() -> None:
    picture = recording.draw([(("status",), "\x1b[1;31mfailed\x1b[0m\n")])
    assert re.search(r'<tspan fill="#\w{6}" font-weight="bold">failed</tspan>', picture)


@pytest.mark.slow
def test_every_command_is_run_for_real(tmp_path: Path) -> None:
    file = tmp_path / "terminal.svg"
    assert recording.run([str(file)]) == 0
    shown = lines_of(file.read_text(encoding="utf-8"))
    assert [line for line in shown if line.startswith("$ ")] == [
        f"$ {recording.command_line(command)}" for command in recording.COMMANDS
    ]
    assert any("5433" in line and not line.startswith("$ ") for line in shown)


def test_a_failing_command_stops_the_recording(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="memem get failed"):
        recording.record(("get", "ffffffff"), cwd=tmp_path, environ=recording.recording_environ(tmp_path))
