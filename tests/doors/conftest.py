"""What the tests of the command line have in common."""

import pytest

from memem.doors import cli
from tests.command_line import Outcome, Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """A command as a person calls it; those that need more around it have a `run` of their own."""

    def call(*arguments: str) -> Outcome:
        code = cli.main(list(arguments))
        return Outcome(code, *capsys.readouterr())

    return call
