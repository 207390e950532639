"""The command line: find, parse and run a command.

`commands.toml` lists the verbs and their arguments; `COMMANDS` in each module maps them to functions. Only the module
of the verb is imported, and argparse is used because richer libraries take longer to import than a search takes to run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from memem import __version__
from memem.core import files
from memem.core.errors import IndexDamaged, MememError
from memem.doors.cli import output
from memem.doors.cli.parser import TABLE, VERBS, Parser, listing
from memem.workspace import open_workspace

if TYPE_CHECKING:
    from memem.doors.cli.command import Command

OtherDoors = Mapping[str, Callable[[argparse.Namespace], int]]


def commands_of(verb: str) -> dict[str, Command]:
    """Import the module of a verb, and return its commands."""
    module = import_module(f"memem.doors.cli.{VERBS[verb][0]}")
    return {name: command for name, command in module.COMMANDS.items() if name.split()[0] == verb}


def main(arguments: list[str] | None = None, outside: OtherDoors | None = None) -> int:
    """Run a command, those of other doors with `outside`; return 0 done, 1 failed, 2 wrong usage or 130 interrupted."""
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
        if replaced := TABLE["aliases"].get(" ".join(arguments[:length])):
            return [*replaced.split(), *arguments[length:]]
    return arguments


def _dispatch(arguments: list[str], outside: OtherDoors) -> int:
    verb, *rest = arguments or ["--help"]
    if verb in ("-h", "--help", "--version"):
        output.say(f"memem {__version__}" if verb == "--version" else _help())
        return 0
    if verb not in VERBS:
        return _refuse(verb, [name for name in VERBS if name not in TABLE["groups"]["hidden"]])
    if not VERBS[verb][0]:
        options = Parser(verb).parse_args(rest)
        return outside[verb](options)
    return _run(verb, rest)


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
    text = (
        "usage: memem COMMAND [OPTIONS]\n\nA memory for Claude Code that you own: Markdown notes in an Obsidian vault\n"
    )
    for heading, verbs in TABLE["groups"].items():
        if heading != "hidden":
            text += listing(heading, {verb: meaning for verb, (_, meaning) in verbs.items()})
    return (text + listing("Options", TABLE["options"])).rstrip()


def _explained(error: Exception) -> str:
    if isinstance(error, MememError):
        return str(error)
    if isinstance(error, OSError):
        return f"cannot use {error.filename or 'the output'}: {files.reason(error)}."
    return f"unexpected {type(error).__name__}: {error}. Set MEMEM_DEBUG=1 to see the traceback."


def _is_debugging() -> bool:
    try:
        return open_workspace(actor="cli").settings.debug
    except Exception:  # noqa: BLE001 - the first error is the one to show
        return False
