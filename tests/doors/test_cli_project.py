"""memem project, as a person calls it."""

from pathlib import Path

import pytest

from memem.doors import cli
from tests.command_line import Run, assert_failed


@pytest.fixture
def clone(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that claims the name of another one, which was seen first."""
    for place in ("work/shop", "clones/shop"):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        monkeypatch.chdir(folder)
        run("save", f"A fact of {place}.")
    return folder


def test_nothing_is_listed_before_a_folder_was_seen(run: Run) -> None:
    done = run("project")
    assert (done.code, done.out) == (0, "")
    assert "not seen any folder" in done.err


def test_bindings_claims_and_refusals_are_listed(run: Run, clone: Path, tmp_path: Path) -> None:
    (clone / ".memem.toml").write_text("mining = false\n")
    run("save", "Another fact.")
    done = run("project")
    assert f"shop\tbound to\t{tmp_path / 'work' / 'shop'}" in done.out
    assert f"\tclaims shop\t{clone}" in done.out
    assert f"\tnot mined\t{clone}" in done.out
    assert "memem project trust FOLDER" in done.err
    found = run("project", "--json").data
    (waiting,) = found["waiting"]
    assert (waiting["folder"], waiting["claims"], waiting["distrusted"]) == (str(clone), "shop", False)
    assert found["refusals"] == [{"folder": str(clone), "file": str(clone / ".memem.toml")}]
    status = run("status")
    assert "untrusted\t1 folder; see `memem project`" in status.out
    assert "not mined\t1 folder; see `memem project`" in status.out


def test_trust_lets_the_current_folder_share_the_project(run: Run, clone: Path) -> None:
    assert run("project", "trust").out == f"{clone} now belongs to shop.\n"
    assert run("project", "trust", str(clone)).out == f"{clone} already belongs to shop.\n"
    run("save", "A third fact.")
    assert len(run("list", "-p", "shop", "--json").data) == 2
    taken = run("project", "distrust", str(clone), "--json").data
    assert (taken["claims"], taken["changed"], taken["project"] != "shop") == ("shop", True, True)
    assert run("project", "--json").data["waiting"][0]["distrusted"]


def test_the_home_folder_cannot_be_trusted(run: Run, tmp_path: Path) -> None:
    assert_failed(run("project", "trust", str(tmp_path / "user")), "always belongs to general")


def test_a_record_that_cannot_be_written_is_an_error(run: Run, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "no space", "projects.json")

    monkeypatch.setattr("memem.core.files.write_atomic", fail)
    assert_failed(run("project", "trust"), "the disk is full")


def test_a_mistyped_subcommand_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["project", "trsut"]) == 2
    assert "did you mean 'project trust'?" in capsys.readouterr().err
