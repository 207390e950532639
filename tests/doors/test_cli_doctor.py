"""memem doctor and memem --integrity-check: the verdict, a line for each thing, and the exit codes."""

import io
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memem.core.home import Home
from memem.doors import cli
from memem.upkeep.checks.result import fine
from memem.workspace import Workspace
from tests.command_line import Outcome, Run
from tests.fakes import FakeEncoder

NOT_ONE = b"this is not a database " * 100


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command in a home with a memory and a model, apart from what this machine has."""
    monkeypatch.setenv("MEMEM_ENCODER", "minilm")
    monkeypatch.setenv("MEMEM_HOOKS_OFF", "1")
    monkeypatch.setattr("memem.upkeep.checks.machine.check_environment", lambda: [fine("python", "is there")])
    monkeypatch.setattr("memem.upkeep.checks.machine.LEAST_FREE", 0)

    def call(*arguments: str) -> Outcome:
        code = cli.main(list(arguments))
        return Outcome(code, *capsys.readouterr())

    assert call("save", "The vehicle was mended by Anna.").code == 0
    return call


@pytest.fixture
def index_file(run: Run, tmp_path: Path) -> Path:
    """That of the only vault."""
    (file,) = Home(tmp_path / "user" / ".memem").indexes.glob("*/index.db")
    return file


@pytest.fixture
def _loaded(run: Run, encoder: FakeEncoder, small_weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workspace, "_load_encoder", lambda _: encoder)
    assert run("encode").code == 0


def rows(outcome: Outcome) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in (line.split("\t") for line in outcome.out.splitlines()[1:])}


@pytest.mark.usefixtures("_loaded")
def test_a_home_where_nothing_is_missing_is_healthy(run: Run) -> None:
    done = run("doctor")
    assert (done.code, done.err, done.out.splitlines()[0]) == (0, "", "HEALTHY")
    assert {row[0] for row in rows(done).values()} == {"fine"}
    assert {"python", "home", "vault", "index", "vectors", "claude", "mining", "plugin"} <= set(rows(done))


def test_degraded_recall_exits_0(run: Run) -> None:
    done = run("doctor")
    assert done.code == 0
    assert done.out.splitlines()[0] == f"DEGRADED: 1 of {len(rows(done))} checks needs attention"
    assert rows(done)["encoder"][0] == "degraded"
    assert rows(done)["encoder"][2] == "Run `memem index model fetch`."


def of_a_newer_memem(index_file: Path) -> None:
    with closing(sqlite3.connect(index_file)) as connection:
        connection.execute("PRAGMA user_version = 99")


def test_broken_checks_exit_1(run: Run, index_file: Path) -> None:
    of_a_newer_memem(index_file)
    done = run("doctor")
    assert (done.code, done.out.split(":")[0]) == (1, "FAILING")
    assert rows(done)["index"][0] == "broken"


def test_json_is_a_list_of_diagnoses(run: Run, index_file: Path) -> None:
    done = run("doctor", "--json")
    assert done.code == 0
    assert {tuple(each) for each in done.data} == {("what", "state", "detail", "fix")}
    of_a_newer_memem(index_file)
    assert run("doctor", "--json").code == 1


def test_a_terminal_shows_the_fix_below_its_finding(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    run("doctor")
    lines = [line.strip() for line in terminal.getvalue().splitlines()]
    (number,) = [number for number, line in enumerate(lines) if line.startswith("encoder")]
    assert lines[number + 1] == "→ Run `memem index model fetch`."


def test_settings_that_cannot_be_used_are_a_finding_like_any_other(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMEM_DAILY_CALLS", "many")
    done = run("doctor")
    assert (done.code, done.err, done.out.split(":")[0]) == (1, "", "FAILING")
    assert list(rows(done)) == ["python", "settings"]


@pytest.mark.usefixtures("_loaded")
def test_the_databases_alone_are_a_line_each(run: Run, index_file: Path) -> None:
    done = run("--integrity-check")
    assert (done.code, done.out.splitlines()[0], list(rows(done))) == (0, "HEALTHY", ["index", "vectors"])
    assert run("doctor", "--integrity-check").out == done.out
    assert [each["what"] for each in run("--integrity-check", "--json").data] == ["index", "vectors"]
    index_file.write_bytes(NOT_ONE)
    assert run("--integrity-check").code == 1


def test_other_verbs_refuse_the_integrity_check(run: Run) -> None:
    assert run("--integrity-check", "search", "x").code == 2
    assert run("search", "x", "--integrity-check").code == 2
    assert "--integrity-check" in run("--help").out
