"""Fixtures shared by the tests of the command line."""

import os
from pathlib import Path

import pytest

from memem.core.home import Home
from memem.doors import cli
from tests.command_line import Outcome, Run


@pytest.fixture(autouse=True)
def _nobody_gives_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A command that steps back would take the tests along."""
    monkeypatch.setattr(os, "nice", lambda _: 0, raising=False)
    monkeypatch.setattr("memem.core.processes.AUTOGROUP", tmp_path / "no group")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """A command as a person calls it; those that need more around it have a `run` of their own."""

    def call(*arguments: str) -> Outcome:
        code = cli.main(list(arguments))
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """The home that commands use when no variable names another."""
    return Home(tmp_path / "user" / ".memem")
