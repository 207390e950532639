"""Parsers for the commands, built from `commands.toml`."""

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Never

from memem.core.data_files import load_table
from memem.doors.cli import output

TABLE = load_table(__file__, "commands.toml")
VERBS: dict[str, tuple[str, str]] = {verb: row for verbs in TABLE["groups"].values() for verb, row in verbs.items()}


def _split(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(","))))


_TYPES = {"int": int, "path": Path, "list": _split}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and whose help lists the subcommands."""

    def __init__(self, command: str, subcommands: Mapping[str, str] | None = None) -> None:
        meaning = TABLE["subcommands"].get(command) or VERBS[command][1]
        super().__init__(prog=f"memem {command}", description=meaning[0].upper() + meaning[1:], allow_abbrev=False)
        self.subcommands = subcommands or {}
        _add_arguments(self, TABLE["arguments"].get(command, ()))

    @property
    def takes_words(self) -> bool:
        return any(not action.option_strings for action in self._actions)

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
            settings["type"] = _TYPES[settings["type"]]
        names = settings.pop("name").split()
        parser.add_argument(*names, **{"help": argparse.SUPPRESS, **settings})


def listing(heading: str, meanings: Mapping[str, str]) -> str:
    """Format names and their meanings in two columns."""
    import shutil  # costs the other commands milliseconds

    columns = max(40, shutil.get_terminal_size().columns - 2)
    indent = max(14, *map(len, meanings)) + 4
    text = f"\n{heading}:\n"
    for name, meaning in meanings.items():
        first = f"  {name}".ljust(indent)
        text += textwrap.fill(meaning, columns, initial_indent=first, subsequent_indent=" " * indent) + "\n"
    return text
