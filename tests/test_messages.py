"""Every command that a message of memem names exists: verbs on the command line, and slash commands of the plugin."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memem.core import surroundings
from memem.core.options import OPTIONS
from memem.doors.cli import VERBS, commands_of

ROOT = Path(__file__).parent.parent
MODULES = sorted(ROOT.glob("memem/**/*.py"))
COMMANDS = {path.stem for path in ROOT.glob("commands/*.md")} | {
    path.parent.name for path in ROOT.glob("commands/*/SKILL.md")
}
_VERB = re.compile(r"`(?:[A-Z_]+=\S+ )*memem (-{0,2}[a-z][\w-]*)")
_SUBCOMMAND = re.compile(r"`(?:[A-Z_]+=\S+ )*memem ((?:index|graph|config|conflicts|review|mine) [a-z_]+)")
_SLASH = re.compile(r"(?<![\w/}.~*<>)\"'])/(memem(?:-[a-z]+)*|remember|recall|forget)\b(?![\w/.])")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Every text in a module, docstrings too; of an f-string what is fixed, with {} for the rest."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            fixed = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(fixed)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value


def named(pattern: re.Pattern[str]) -> set[tuple[str, str]]:
    return {
        (f"{path.relative_to(ROOT)}:{line}", name)
        for path in MODULES
        for line, text in texts(path)
        for name in pattern.findall(text)
    }


def test_every_verb_that_a_message_names_exists() -> None:
    found = named(_VERB)
    assert len(found) > 50
    assert {each for each in found if each[1] not in {*VERBS, "--help", "--integrity-check"}} == set()


def test_every_subcommand_that_a_message_names_exists() -> None:
    found = named(_SUBCOMMAND)
    assert len(found) > 10
    settings = {f"config {option.key}" for option in OPTIONS}
    assert {each for each in found if each[1] not in {*commands_of(each[1].split()[0]), *settings}} == set()


def test_every_slash_command_that_a_message_names_exists() -> None:
    found = named(_SLASH)
    assert len(found) > 5
    assert {each for each in found if each[1] not in COMMANDS} == set()


def test_every_slash_command_named_for_a_verb_exists() -> None:
    used = {*surroundings._WITH_ARGUMENTS.values(), *(each.partition(" ")[0] for each in surroundings._EXACT.values())}
    assert used <= COMMANDS
    verbs = {*surroundings._WITH_ARGUMENTS, *(each.partition(" ")[0] for each in surroundings._EXACT)}
    assert verbs <= set(VERBS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see `memem nonsense`", ["nonsense"]),
        ("`MEMEM_DEBUG=1 memem doctor` shows where", ["doctor"]),
        ("the folder memem/memories", []),
    ],
)
def test_the_walk_sees_verbs(text: str, expected: list[str]) -> None:
    assert _VERB.findall(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mining off (/memem-mine)", ["memem-mine"]),
        ("type /memem-nonsense now", ["memem-nonsense"]),
        ("{}/memem/memories and run/memem-calls", []),
        ("/memem.toml", []),
    ],
)
def test_the_walk_sees_slash_commands(text: str, expected: list[str]) -> None:
    assert _SLASH.findall(text) == expected
