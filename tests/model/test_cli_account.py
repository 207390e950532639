"""Version and account of a claude CLI are read from its output, without a model call."""

import json

import pytest

from memem.model.plugin import Account, look_at_account

COMMANDS = "Commands:\n  agents [options]    Manage background agents\n  auth                Manage authentication\n"


class Cli:
    """A CLI that says what it is given to say."""

    def __init__(self, status: str = "", version: str = "2.1.325 (Claude Code)\n", help: str = COMMANDS) -> None:
        self.said = {("--version",): version, ("--help",): help, ("auth", "status"): status}
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, *arguments: str) -> str:
        self.asked.append(arguments)
        return self.said[arguments]


@pytest.mark.parametrize(
    ("status", "logged_in", "method"),
    [
        ({"loggedIn": True, "authMethod": "claude.ai", "apiProvider": "firstParty"}, True, "claude.ai"),
        ({"loggedIn": False, "authMethod": "none"}, False, "none"),
        ({"loggedIn": True, "authMethod": None}, True, ""),
        ({"loggedIn": "yes"}, None, ""),
        (["loggedIn"], None, ""),
    ],
)
def test_the_account_is_as_the_cli_says(status: object, logged_in: bool | None, method: str) -> None:
    assert look_at_account(Cli(json.dumps(status))) == Account("2.1.325", logged_in, method)


@pytest.mark.parametrize("status", ["", "Not logged in.", "[" * 100_000])
def test_non_json_answer_is_ignored(status: str) -> None:
    assert look_at_account(Cli(status)).logged_in is None


def test_a_cli_without_accounts_is_not_asked_since_it_would_ask_the_model() -> None:
    cli = Cli(help="Commands:\n  mcp    Manage servers\n            auth is described here\n")
    assert look_at_account(cli) == Account("2.1.325", None)
    assert cli.asked == [("--version",), ("--help",)]


def test_a_cli_that_does_not_tell_its_version_has_none() -> None:
    assert look_at_account(Cli(version="")).version == ""
