"""The command line: find, parse and run a command.

`commands.toml` lists the verbs and their arguments; `COMMANDS` in each module maps them to functions. Only the module
of the verb is imported, and argparse is used because richer libraries take longer to import than a search takes to run.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

from memem import __version__
from memem.core import files
from memem.core.data_files import load_table
from memem.core.errors import IndexDamaged, MememError
from memem.doors.cli import output
from memem.workspace import open_workspace

if TYPE_CHECKING:
    from memem.doors.cli.command import Command

TABLE = load_table(__file__, "commands.toml")
VERBS: dict[str, tuple[str, str]] = {verb: row for verbs in TABLE["groups"].values() for verb, row in verbs.items()}
OtherDoors = Mapping[str, Callable[[argparse.Namespace], int]]


def commands_of(verb: str) -> dict[str, Command]:
    module = import_module(f"memem.doors.cli.{VERBS[verb][0]}")
    return {name: command for name, command in module.COMMANDS.items() if name.split()[0] == verb}


def main(arguments: list[str] | None = None, outside: OtherDoors | None = None) -> int:
    """Run a command, those of other doors with `outside`; return 0 done, 1 failed, 2 usage error or 130 interrupted."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # Bytes that are not valid in the user's encoding arrive as surrogates, which can be neither stored nor shown.
    arguments = [argument.encode("utf-8", "replace").decode() for argument in arguments]
    try:
        code = _dispatch(arguments, outside or {})
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

        message = str(error)
        if isinstance(error, OSError):
            action = f"use {error.filename}" if error.filename else "write the output"
            message = f"cannot {action}: {files.reason(error)}."
        elif not isinstance(error, MememError):
            message = f"unexpected {type(error).__name__}: {error}. Set MEMEM_DEBUG=1 to see the traceback."
        output.aside(f"memem: {clean_line(message)}")
        output.abandon()
        return 1
    return code


def _dispatch(arguments: list[str], outside: OtherDoors) -> int:
    for length in (2, 1):
        if replaced := TABLE["aliases"].get(" ".join(arguments[:length])):
            arguments = [*replaced.split(), *arguments[length:]]
            break
    verb, *rest = arguments or ["--help"]
    if verb in ("-h", "--help", "--version"):
        output.say(f"memem {__version__}" if verb == "--version" else _help())
        return 0
    if verb not in VERBS:
        return _refuse(verb, [name for name in VERBS if name not in TABLE["groups"]["hidden"]])
    if VERBS[verb][0]:
        return _run(verb, rest)
    options = Parser(verb).parse_args(rest)
    return outside[verb](options)


def _run(verb: str, arguments: list[str]) -> int:
    commands = commands_of(verb)
    subcommands = {name: TABLE["subcommands"][name] for name in commands if name != verb}
    word = arguments[0] if arguments else "-"
    if f"{verb} {word}" in subcommands:
        verb, arguments, subcommands = f"{verb} {word}", arguments[1:], {}
    parser = Parser(verb, subcommands)
    if subcommands and not word.startswith("-") and not parser.takes_words:
        return _refuse(f"{verb} {word}", list(subcommands))
    options = parser.parse_args(arguments)
    if verb not in commands:
        parser.print_help(sys.stderr)
        return 2
    try:
        return commands[verb].invoke(options)
    except IndexDamaged:  # it was set aside, so the second run builds a new one
        return commands[verb].invoke(options)


def _refuse(name: str, known: list[str]) -> int:
    from difflib import get_close_matches

    by_last_word = {command.split()[-1]: command for command in known}
    closest = get_close_matches(name.rsplit(maxsplit=1)[-1], by_last_word, n=1)
    advice = f"did you mean {by_last_word[closest[0]]!r}?" if closest else "`memem --help` lists the commands."
    output.aside(f"memem: unknown command {name!r}; {advice}")
    return 2


def _help() -> str:
    text = "usage: memem COMMAND [OPTIONS]\n\n"
    text += "A memory for Claude Code that you own: Markdown notes in an Obsidian vault\n"
    for heading, verbs in TABLE["groups"].items():
        if heading != "hidden":
            text += listing(heading, {verb: meaning for verb, (_, meaning) in verbs.items()})
    return (text + listing("Options", TABLE["options"])).rstrip()


def _is_debugging() -> bool:
    try:
        return open_workspace(actor="cli").settings.debug
    except Exception:  # noqa: BLE001 - the first error is the one to show
        return False


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and whose help lists the subcommands."""

    def __init__(self, command: str, subcommands: Mapping[str, str] | None = None) -> None:
        meaning = TABLE["subcommands"].get(command) or VERBS[command][1]
        super().__init__(prog=f"memem {command}", description=meaning[0].upper() + meaning[1:], allow_abbrev=False)
        self.subcommands = subcommands or {}
        _add_arguments(self, TABLE["arguments"].get(command, ()))
        self.takes_words = any(not action.option_strings for action in self._actions)

    def format_help(self) -> str:
        return super().format_help() + (listing("commands", self.subcommands) if self.subcommands else "")

    def error(self, message: str) -> Never:
        output.aside(f"{self.prog}: {message}; `{self.prog} --help` describes the options.")
        raise SystemExit(2)


def _add_arguments(parser: argparse._ActionsContainer, items: Sequence[Any]) -> None:
    for item in items:
        settings = dict(TABLE["shared"][item] if isinstance(item, str) else item)
        if "one_of" in settings:
            group = parser.add_mutually_exclusive_group(required=settings.get("required", False))
            _add_arguments(group, settings["one_of"])
            continue
        if "flag" in settings:
            settings |= {"name": settings.pop("flag"), "action": "store_true"}
        if "type" in settings:
            settings["type"] = {"int": int, "path": Path, "list": _split}[settings["type"]]
        names = settings.pop("name").split()
        parser.add_argument(*names, **{"help": argparse.SUPPRESS, **settings})


def _split(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(","))))


def listing(heading: str, meanings: Mapping[str, str]) -> str:
    import shutil  # costs the other commands milliseconds

    columns = max(40, shutil.get_terminal_size().columns - 2)
    indent = max(14, *map(len, meanings)) + 4
    text = f"\n{heading}:\n"
    for name, meaning in meanings.items():
        first = f"  {name}".ljust(indent)
        text += textwrap.fill(meaning, columns, initial_indent=first, subsequent_indent=" " * indent) + "\n"
    return text
