"""memem graph draw, as a person calls it."""

from pathlib import Path

import pytest

from memem.pages import draw
from tests.command_line import Run


def test_draw_writes_the_picture_and_prints_its_path(run: Run, tmp_path: Path) -> None:
    run("save", "Tokens are signed with RS256.", "--project", "shop")
    file = tmp_path / "graph.svg"
    done = run("graph", "draw", str(file))
    assert (done.code, done.out) == (0, f"1 of 1 memory, 0 edges, 1 project: {file}\n")
    assert file.read_text().startswith("<svg ")
    assert run("graph", "draw", str(file), "--project", "shop", "--json").data["drawn"] == 1


def test_draw_reports_memories_left_out(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "MAX_DOTS", 1)
    run("save", "Tokens are signed with RS256.")
    run("save", "Tyres are changed in October.")
    done = run("graph", "draw", str(tmp_path / "graph.svg"))
    assert done.out.startswith("1 of 2 memories, ")
    assert "the largest projects are drawn" in done.err


def test_another_kind_of_file_is_refused(run: Run, tmp_path: Path) -> None:
    run("save", "Tokens are signed with RS256.")
    done = run("graph", "draw", str(tmp_path / "graph.png"))
    assert done.code == 1
    assert "must end in .svg" in done.err
