"""Find out which options and account the installed `claude` CLI has: releases differ; unknown options fail."""

import json
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memem.core import files
from memem.core.files import from_json

# Keep the user's tools, hooks, servers, settings and instructions out, and make the answer one JSON object.
WANTED = (
    "--safe-mode",
    "--tools",
    "--system-prompt",
    "--no-session-persistence",
    "--strict-mcp-config",
    "--setting-sources",
    "--disable-slash-commands",
    "--model",
    "--session-id",
    "--output-format",
    "--json-schema",
)

_LISTED = re.compile(r"^ {1,8}(?:-\w, )?(--[a-z-]+)", re.MULTILINE)  # further in stand the descriptions


@dataclass(frozen=True, slots=True)
class Question:
    """A question without its text, which is never an argument: arguments are short, and visible to all users."""

    system: str
    instruction: str
    schema: Mapping[str, Any]
    model: str
    session: str = ""

    def arguments(self, flags: Collection[str]) -> list[str]:
        """Return the command line for a CLI with these options; the prompt says what options cannot."""
        values = {
            "--tools": [""],
            "--system-prompt": [self.system],
            "--setting-sources": [""],
            "--model": [self.model],
            "--session-id": [self.session],
            "--output-format": ["json"],
            "--json-schema": [json.dumps(self.schema)],
        }
        given = [flag for flag in WANTED if flag in flags and (flag != "--session-id" or self.session)]
        options = [part for flag in given for part in (flag, *values.get(flag, []))]
        return ["-p", *options, "--", "\n\n".join(self._words(flags))]

    def _words(self, flags: Collection[str]) -> list[str]:
        words = [self.instruction]
        if "--system-prompt" not in flags:
            words.insert(0, self.system)
        if "--json-schema" not in flags:
            schema = json.dumps(self.schema)
            words.append(f"Answer with one JSON object of this schema and nothing else: {schema}")
        return words


class Flags:
    """The wanted options that the CLI at `command` has, cached in `file` for as long as it is the same CLI."""

    def __init__(self, command: str, file: Path, ask_help: Callable[[], str]) -> None:
        self._command = Path(command)
        self._file = file
        self._ask_help = ask_help
        self._refused: set[str] = set()

    def load(self) -> frozenset[str]:
        """Return the options, from the cache if it is about this CLI."""
        try:
            kept = from_json(self._file.read_bytes())
            if kept["cli"] == self._cli():
                return frozenset(kept["flags"]).intersection(WANTED)
        except (OSError, ValueError, LookupError, TypeError):
            pass  # nothing is kept yet, or nothing that can be read
        return self._keep(self._listed())

    def after_refusal(self, flags: frozenset[str], refused: str) -> frozenset[str]:
        """Return the options without one that the CLI has refused, whatever its help says.

        The cache may be about another CLI behind the same file, so the first time the help is read again.
        """
        current = flags if self._refused else self._listed()
        self._refused.add(refused)
        return self._keep(current - self._refused)

    def _listed(self) -> frozenset[str]:
        # Help that failed, or names none of them, says nothing about them: a newer CLI may hide what it still has.
        listed = _LISTED.findall(self._ask_help())
        return frozenset(WANTED).intersection(listed) or frozenset(WANTED)

    def _keep(self, flags: frozenset[str]) -> frozenset[str]:
        with suppress(OSError):  # it is asked again next time, which takes half a second
            kept = json.dumps({"cli": self._cli(), "flags": sorted(flags)}).encode()
            files.make_private_folder(self._file.parent)
            files.write_atomic(self._file, kept, fsync=False, mode=files.PRIVATE_FILE)
        return flags

    def _cli(self) -> list[str | int]:
        """Identify the CLI without asking for its version: a new release is a new file."""
        real = self._command.resolve()
        status = real.stat()
        return [str(real), status.st_mtime_ns, status.st_size]


_HAS_ACCOUNTS = re.compile(r"^ {1,8}auth\b", re.MULTILINE)
_VERSION = re.compile(r"(?<![\d.])\d+(?:\.\d+)+\S*")


@dataclass(frozen=True, slots=True)
class Account:
    """`version` is empty and `logged_in` None if the CLI does not say; `method` is in its own words."""

    version: str
    logged_in: bool | None
    method: str = ""


def look_at_account(says: Callable[..., str]) -> Account:
    """Ask the CLI; `says` returns its output for some arguments."""
    version = _VERSION.search(says("--version"))
    return Account(version[0] if version else "", *_login(says))


def _login(says: Callable[..., str]) -> tuple[bool | None, str]:
    # A CLI without that command would take its name for a question to the model.
    if not _HAS_ACCOUNTS.search(says("--help")):
        return None, ""
    try:
        told = from_json(says("auth", "status"))
    except ValueError:
        return None, ""
    logged_in = told.get("loggedIn") if isinstance(told, dict) else None
    if not isinstance(logged_in, bool):
        return None, ""
    return logged_in, str(told.get("authMethod") or "")
