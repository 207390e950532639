"""A command in a message is named as its reader can run it."""

from pathlib import Path

import pytest

from memem.core.surroundings import Reach, command_path, reach_of, reachable, slash_command

TERMINAL = Reach()
ELSEWHERE = Reach(command="/srv/data/venv/bin/memem")
CLAUDE = Reach(in_claude_code=True)
CLAUDE_UNLINKED = Reach(in_claude_code=True, command="'/srv/my data/venv/bin/memem'")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("review", "/memem-review"),
        ("review accept 3f2c9a1e", "/memem-review accept 3f2c9a1e"),
        ("undo 12ab", "/memem-undo 12ab"),
        ("conflicts", "/memem-conflicts"),
        ("status", "/memem-status"),
        ("doctor", "/memem-doctor"),
        ("mine on", "/memem-mine"),
        ("mine off", "/memem-mine off"),
        ("review suggestions", ""),
        ("mine --history", "/memem-mine-history"),
        ("forget 3f2c9a1e", "/forget 3f2c9a1e"),
        ("forget --vanished", ""),
        ("search", "/recall"),
        ("save --anyway", ""),
        ("mine --retry", ""),
        ("check", ""),
        ("status --json", ""),
    ],
)
def test_a_verb_has_a_slash_command_where_that_does_the_same(arguments: str, expected: str) -> None:
    assert slash_command(arguments) == expected


@pytest.mark.parametrize(
    ("reach", "expected"),
    [
        (TERMINAL, "`memem review` lists them, `memem index check` says why."),
        (ELSEWHERE, "`/srv/data/venv/bin/memem review` lists them, `/srv/data/venv/bin/memem index check` says why."),
        (CLAUDE, "`/memem-review` lists them, `memem index check` says why."),
        (CLAUDE_UNLINKED, "`/memem-review` lists them, `'/srv/my data/venv/bin/memem' index check` says why."),
    ],
)
def test_commands_are_named_for_the_place_they_are_read_in(reach: Reach, expected: str) -> None:
    assert reachable("`memem review` lists them, `memem index check` says why.", reach) == expected


def test_variables_before_a_command_stay_and_keep_it_a_command_line() -> None:
    text = "`MEMEM_DEBUG=1 memem doctor` shows where; please report it."
    assert reachable(text, CLAUDE) == text
    assert reachable(text, ELSEWHERE).startswith("`MEMEM_DEBUG=1 /srv/data/venv/bin/memem doctor`")


@pytest.mark.parametrize(
    "text",
    [
        "memem review without backquotes",
        "`claude auth login` logs in",
        "`/srv/memem/bootstrap.sh shell memem doctor` sets it up again.",
        "property 'title' must be text, not 'run `memem review` now'",
        'No memory has the id "`memem review`".',
        "not 'it\\'s `memem review`' here",
        "the file memem/memories/x.md",
    ],
)
def test_quotes_and_everything_else_stay_as_they_are(text: str) -> None:
    assert reachable(text, CLAUDE_UNLINKED) == text


def test_apostrophe_is_not_a_quotation_mark() -> None:
    text = "Obsidian's trash, or `memem forget --vanished`; the notes' files are `memem index check`'s."
    assert reachable(text, CLAUDE_UNLINKED).count("/srv/my data") == 2


def test_a_rewritten_message_is_not_rewritten_again() -> None:
    once = reachable("`memem review`, `memem index check`", CLAUDE_UNLINKED)
    assert reachable(once, CLAUDE_UNLINKED) == once


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An environment with memem's command in it."""
    folder = tmp_path / "it's a folder" / "venv"
    command = command_path(folder)
    command.parent.mkdir(parents=True)
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    return folder


def test_memem_is_named_by_its_path_until_it_is_on_the_path(prefix: Path, tmp_path: Path) -> None:
    links = tmp_path / "links"
    links.mkdir()
    environ = {"PATH": str(links)}
    assert reach_of(environ, prefix).command == "'" + str(command_path(prefix)).replace("'", "'\"'\"'") + "'"
    (links / "memem").symlink_to(command_path(prefix))
    assert reach_of(environ, prefix) == TERMINAL


def test_another_memem_on_the_path_is_not_this_one(prefix: Path, tmp_path: Path) -> None:
    other = tmp_path / "memem"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    assert str(prefix.parent.name)[:2] in reach_of({"PATH": str(tmp_path)}, prefix).command


def test_an_environment_without_the_command_can_only_be_called_by_its_name(tmp_path: Path) -> None:
    assert reach_of({"PATH": ""}, tmp_path) == TERMINAL


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"])
def test_claude_code_is_recognised_by_its_variables(mark: str, tmp_path: Path) -> None:
    assert reach_of({mark: "1"}, tmp_path).in_claude_code
    assert not reach_of({mark: ""}, tmp_path).in_claude_code
