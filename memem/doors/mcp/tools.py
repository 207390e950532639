"""Checks of tool calls against `tools.json`; `answers.py` implements the tools."""

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.core.errors import InputError
from memem.core.files import from_json
from memem.doors.mcp import protocol
from memem.pages.catch_up import catching_up

if TYPE_CHECKING:
    from memem.workspace import Workspace

MAX_ITEMS = 50
TOOLS: dict[str, dict[str, Any]] = {tool["name"]: tool for tool in protocol.TOOLS}


def changes_no_note(name: str) -> bool:
    """Whether the leader may do the call for another server: it reads, or derives something and can be done twice."""
    return name in TOOLS and (TOOLS[name]["annotations"]["readOnlyHint"] or TOOLS[name]["derives"])


def call(ws: "Workspace", name: str, arguments: dict[str, Any], *, cwd: Path, session: str = "") -> str:
    """Call a tool. Raises MememError; InputError if the call itself is wrong."""
    offered = [each for each, tool in TOOLS.items() if ws.settings.tools == "full" or not tool["full"]]
    if name not in offered:
        why = f"{name} is offered only with MEMEM_TOOLS=full" if name in TOOLS else f"There is no tool {name[:40]!r}"
        raise InputError(f"{why}. Available tools: {', '.join(offered)}.")
    given = checked(name, arguments)
    from memem.doors.mcp import answers

    with catching_up(ws):
        answer: str = getattr(answers, name)(answers.Here(ws, cwd, session), **given)
    return answer


def checked(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Convert the arguments for the tool, ignoring null and blank ones. Raises InputError."""
    schema = TOOLS[tool]["inputSchema"]
    known: dict[str, dict[str, Any]] = schema["properties"]
    unknown = sorted(set(arguments) - set(known))
    if unknown:
        raise InputError(f"{tool} has no argument {unknown[0][:40]!r}. Its arguments: {', '.join(known)}.")
    given = {
        name: _READINGS[known[name]["type"]](f"{name} argument of {tool}", value)
        for name, value in arguments.items()
        if value is not None and not (isinstance(value, str) and not value.strip())
    }
    for name in schema.get("required", ()):
        if not given.get(name):
            raise InputError(f"{tool} needs {name}: {known[name]['description']}.")
    return given


def _as_text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"The {what} must be text, not {_kind(value)}.")
    return value


def _as_whole(what: str, value: object) -> int:
    """Models also write numbers as text, or as 3.0."""
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,9}\s*", value):
        return int(value)
    if type(value) is int or (isinstance(value, float) and value.is_integer()):
        return int(value)
    raise InputError(f"The {what} must be a whole number, not {_kind(value)}.")


def _as_texts(what: str, value: object) -> tuple[str, ...]:
    """Models also write a list as one text, with commas or as JSON."""
    if isinstance(value, str):
        text = value
        value = text.split(",")
        if text.lstrip().startswith("["):
            with suppress(ValueError):
                value = from_json(text)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError(f"The {what} must be a list of strings, not {_kind(value)}.")
    if len(value) > MAX_ITEMS:
        raise InputError(f"The {what} has {len(value):,} items; give at most {MAX_ITEMS}.")
    return tuple(item.strip() for item in value if item.strip())


def _kind(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)


_READINGS = {"string": _as_text, "integer": _as_whole, "array": _as_texts}
