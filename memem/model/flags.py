"""Find out which options and account the installed `claude` CLI has: releases differ, and unknown options fail."""

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
    *("--safe-mode", "--tools", "--system-prompt", "--no-session-persistence", "--strict-mcp-config"),
    *("--setting-sources", "--disable-slash-commands", "--model", "--session-id", "--output-format", "--json-schema"),
)
_LISTED = re.compile(r"^ {1,8}(?:-\w, )?(--[a-z-]+)", re.MULTILINE)  # descriptions are indented more


@dataclass(frozen=True, slots=True)
class Question:
    """A question without its text, which is never an argument: all users can see arguments."""

    system: str
    instruction: str
    schema: Mapping[str, Any]
    model: str
    session: str = ""

    def arguments(self, flags: Collection[str]) -> list[str]:
        """Return the command line for a CLI with these options; the prompt replaces missing ones."""
        schema = json.dumps(self.schema)
        values = {
            "--tools": [""],
            "--system-prompt": [self.system],
            "--setting-sources": [""],
            "--model": [self.model],
            "--session-id": [self.session],
            "--output-format": ["json"],
            "--json-schema": [schema],
        }
        given = [flag for flag in WANTED if flag in flags and (flag != "--session-id" or self.session)]
        options = [part for flag in given for part in (flag, *values.get(flag, []))]
        prompt = [] if "--system-prompt" in flags else [self.system]
        prompt.append(self.instruction)
        if "--json-schema" not in flags:
            prompt.append(f"Answer with one JSON object of this schema and nothing else: {schema}")
        return ["-p", *options, "--", "\n\n".join(prompt)]


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
            cached = from_json(self._file.read_bytes())
            if cached["cli"] == self._identify_cli():
                return frozenset(cached["flags"]).intersection(WANTED)
        except (OSError, ValueError, LookupError, TypeError):
            pass  # missing or unreadable
        return self._store(self._read_help())

    def after_refusal(self, flags: frozenset[str], refused: str) -> frozenset[str]:
        """Return the options without a refused one; first read the help again, the cache may describe another CLI."""
        current = flags if self._refused else self._read_help()
        self._refused.add(refused)
        return self._store(current - self._refused)

    def _read_help(self) -> frozenset[str]:
        # Help that fails or names none of them proves nothing: a newer CLI may hide options.
        listed = _LISTED.findall(self._ask_help())
        return frozenset(WANTED).intersection(listed) or frozenset(WANTED)

    def _store(self, flags: frozenset[str]) -> frozenset[str]:
        with suppress(OSError):  # the help is read again next time, which takes half a second
            data = json.dumps({"cli": self._identify_cli(), "flags": sorted(flags)}).encode()
            files.make_private_folder(self._file.parent)
            files.write_atomic(self._file, data, fsync=False, mode=files.PRIVATE_FILE)
        return flags

    def _identify_cli(self) -> list[str | int]:
        # A new release is a new file; asking for the version would take longer.
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
    unknown = Account(version[0] if version else "", None)
    # A CLI without that command would send its name to the model.
    if not _HAS_ACCOUNTS.search(says("--help")):
        return unknown
    try:
        login = from_json(says("auth", "status"))
    except ValueError:
        return unknown
    logged_in = login.get("loggedIn") if isinstance(login, dict) else None
    if not isinstance(logged_in, bool):
        return unknown
    return Account(unknown.version, logged_in, str(login.get("authMethod") or ""))
