"""The command line. Modules declare their commands in a `COMMANDS` table; this one finds, parses and runs them.

argparse rather than a richer library, because those take longer to import than a search takes to run. Only the module
of the verb that is called is imported.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Never

from memem import __version__
from memem.core import files
from memem.core.data_files import load_table
from memem.core.errors import IndexDamaged, MememError
from memem.doors.cli import output
from memem.workspace import open_workspace

if TYPE_CHECKING:
    from memem.doors.cli.command import Command

_TABLE = load_table(__file__, "commands.toml")
GROUPS: dict[str, dict[str, tuple[str, str]]] = _TABLE["groups"]
VERBS = {verb: row for verbs in GROUPS.values() for verb, row in verbs.items()}
ALIASES: dict[str, str] = _TABLE["aliases"]
HIDDEN = "hidden"
HOOK_EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest"),
    *("Stop", "PreCompact", "SessionEnd"),
)

OtherDoors = Mapping[str, Callable[[argparse.Namespace], int]]


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and whose help lists the subcommands."""

    def __init__(self, name: str, meaning: str, subcommands: Mapping[str, str]) -> None:
        super().__init__(prog=f"memem {name}", description=f"{meaning[0].upper()}{meaning[1:]}", allow_abbrev=False)
        self.subcommands = subcommands

    def format_help(self) -> str:
        return super().format_help() + (_listing("commands", self.subcommands) if self.subcommands else "")

    def error(self, message: str) -> Never:
        output.aside(f"{self.prog}: {message}; `{self.prog} --help` describes the options.")
        raise SystemExit(2)


def commands_of(verb: str) -> dict[str, Command]:
    """Import the module of a verb, and return the commands that start with it."""
    module = import_module(f"memem.doors.cli.{VERBS[verb][0]}")
    return {name: command for name, command in module.COMMANDS.items() if name.split()[0] == verb}


def main(arguments: list[str] | None = None, outside: OtherDoors | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 failed with a message, 2 wrong usage, 130 interrupted.

    `outside` runs the verbs that belong to other doors.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    # Bytes that are not valid in the user's encoding arrive as surrogates, which can be neither stored nor shown.
    arguments = [argument.encode("utf-8", "replace").decode() for argument in arguments]
    try:
        code = _dispatch(_current_spelling(arguments), outside or {})
        output.flush()
    except SystemExit as leaving:  # argparse has printed its message
        return int(leaving.code or 0)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader closed the pipe: `memem list | head`
        output.abandon()
        return 0
    except Exception as error:
        if not isinstance(error, MememError) and _is_debugging():
            raise
        from memem.safety.gate import clean_line

        output.aside(f"memem: {clean_line(_explained(error))}")
        output.abandon()
        return 1
    return code


def _current_spelling(arguments: list[str]) -> list[str]:
    for length in (2, 1):
        if replaced := ALIASES.get(" ".join(arguments[:length])):
            return [*replaced.split(), *arguments[length:]]
    return arguments


def _dispatch(arguments: list[str], outside: OtherDoors) -> int:
    verb, *rest = arguments or ["--help"]
    if verb in ("-h", "--help", "--version"):
        output.say(f"memem {__version__}" if verb == "--version" else _help())
        return 0
    if verb not in VERBS:
        return _refuse(verb, [name for name in VERBS if name not in GROUPS[HIDDEN]])
    if not VERBS[verb][0]:
        options = _parse_for_door(verb, rest)
        return outside[verb](options)
    return _run(verb, rest)


def _run(verb: str, arguments: list[str]) -> int:
    commands = commands_of(verb)
    subcommands = {name: _TABLE["subcommands"][name] for name in commands if name != verb}
    name, meaning, word = verb, VERBS[verb][1], arguments[0] if arguments else "-"
    if f"{verb} {word}" in subcommands:
        name, arguments = f"{verb} {word}", arguments[1:]
        meaning, subcommands = subcommands[name], {}
    command = commands.get(name)
    if subcommands and not word.startswith("-") and not (command and command.takes_words):
        return _refuse(f"{verb} {word}", list(subcommands))
    parser = Parser(name, meaning, subcommands)
    if command:
        command.add_arguments(parser)
    options = parser.parse_args(arguments)
    if command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        return command.invoke(options)
    except IndexDamaged:  # it was set aside, so the second run builds a new one
        return command.invoke(options)


def _parse_for_door(verb: str, arguments: list[str]) -> argparse.Namespace:
    parser = Parser(verb, VERBS[verb][1], {})
    if verb == "hook":
        parser.add_argument("event", metavar="EVENT", choices=HOOK_EVENTS, help=f"one of {', '.join(HOOK_EVENTS)}")
        parser.add_argument("--later", action="store_true", help=argparse.SUPPRESS)
        parser.add_argument("--inbox", default="", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _refuse(name: str, known: list[str]) -> int:
    from difflib import get_close_matches

    by_last_word = {command.split()[-1]: command for command in known}
    closest = get_close_matches(name.rsplit(maxsplit=1)[-1], by_last_word, n=1)
    advice = f"did you mean {by_last_word[closest[0]]!r}?" if closest else "`memem --help` lists the commands."
    output.aside(f"memem: unknown command {name!r}; {advice}")
    return 2


def _help() -> str:
    parts = [
        "usage: memem COMMAND [OPTIONS]\n\nA memory for Claude Code that you own: Markdown notes in an Obsidian vault\n"
    ]
    for heading, verbs in GROUPS.items():
        if heading != HIDDEN:
            parts.append(_listing(heading, {verb: meaning for verb, (_, meaning) in verbs.items()}))
    parts.append(_listing("Options", _TABLE["options"]))
    return "".join(parts).rstrip()


def _listing(heading: str, meanings: Mapping[str, str]) -> str:
    import shutil

    columns = max(40, shutil.get_terminal_size().columns - 2)
    indent = max(14, *map(len, meanings)) + 4
    text = f"\n{heading}:\n"
    for name, meaning in meanings.items():
        first = f"  {name}".ljust(indent)
        text += textwrap.fill(meaning, columns, initial_indent=first, subsequent_indent=" " * indent) + "\n"
    return text


def _explained(error: Exception) -> str:
    if isinstance(error, MememError):
        return str(error)
    if isinstance(error, OSError):
        return f"cannot use {error.filename or 'the output'}: {files.reason(error)}."
    return f"unexpected {type(error).__name__}: {error}. MEMEM_DEBUG=1 shows where."


def _is_debugging() -> bool:
    try:
        return open_workspace(actor="cli").settings.debug
    except Exception:  # noqa: BLE001 - the first error is the one to show
        return False
