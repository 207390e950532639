"""The tools and how a call is checked. `tools.json` describes them; `answers.py` has a function for each."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.core.errors import InputError
from memem.core.files import from_json
from memem.pages.catch_up import catching_up

if TYPE_CHECKING:
    from memem.workspace import Workspace


MOST_ITEMS = 50


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as clients see it. Those that are `full` are offered only to who asks for all of them.

    One that `derives` makes something anew from the notes and changes none of them: done twice it is done once.
    """

    name: str
    description: str
    schema: dict[str, Any]
    reads: bool = True
    destroys: bool = False
    derives: bool = False
    full: bool = False


def _load() -> tuple[Tool, ...]:
    """The tools of `tools.json`, which the server's loop reads as well."""
    return tuple(
        Tool(
            row["name"],
            row["description"],
            row["inputSchema"],
            reads=row["annotations"]["readOnlyHint"],
            destroys=row["annotations"]["destructiveHint"],
            derives=row["derives"],
            full=row["full"],
        )
        for row in from_json(Path(__file__).with_name("tools.json").read_bytes())
    )


TOOLS = _load()


def offered(setting: str) -> tuple[Tool, ...]:
    """The tools of a setting: `default`, or `full`, which is all of them."""
    return tuple(tool for tool in TOOLS if setting == "full" or not tool.full)


def changes_no_note(name: str) -> bool:
    """Whether a tool only reads, or derives: whoever has the encoder may do it for another."""
    return any(tool.name == name and (tool.reads or tool.derives) for tool in TOOLS)


def call(ws: "Workspace", name: str, arguments: dict[str, Any], *, cwd: Path, session: str = "") -> str:
    """The answer of a tool to its arguments. Raises MememError; InputError when the call itself is wrong."""
    given = checked(_tool(name, ws.settings.tools), arguments)
    from memem.doors.mcp import answers

    with catching_up(ws):
        answer: str = getattr(answers, name)(answers.Here(ws, cwd, session), **given)
    return answer


def checked(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as the tool takes them; what is null or blank is as if it were not there."""
    known: dict[str, dict[str, Any]] = tool.schema["properties"]
    unknown = sorted(set(arguments) - set(known))
    if unknown:
        raise InputError(f"{tool.name} takes no {unknown[0][:40]!r}. It takes {', '.join(known)}.")
    given = {
        name: _READINGS[known[name]["type"]](f"{name} of {tool.name}", value)
        for name, value in arguments.items()
        if value is not None and not (isinstance(value, str) and not value.strip())
    }
    for name in tool.schema.get("required", ()):
        if not given.get(name):
            raise InputError(f"{tool.name} needs {name}: {known[name]['description']}.")
    return given


def _tool(name: str, setting: str) -> Tool:
    tools = {tool.name: tool for tool in TOOLS}
    here = [tool.name for tool in offered(setting)]
    if name not in tools:
        raise InputError(f"There is no tool {name[:40]!r}. There are {', '.join(here)}.")
    if name not in here:
        raise InputError(f"{name} is offered only with MEMEM_TOOLS=full. There are {', '.join(here)}.")
    return tools[name]


def _as_text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"The {what} should be text, not {_kind(value)}.")
    return value


def _as_whole(what: str, value: object) -> int:
    """Models also write numbers as texts, and whole ones with a fraction of nothing."""
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,9}\s*", value):
        return int(value)
    if type(value) is int or (isinstance(value, float) and value.is_integer()):
        return int(value)
    raise InputError(f"The {what} should be a whole number, not {_kind(value)}.")


def _as_texts(what: str, value: object) -> tuple[str, ...]:
    """Models also write a list as one text, with commas or as JSON."""
    if isinstance(value, str):
        value = _split(value)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError(f"The {what} should be a list of texts, not {_kind(value)}.")
    if len(value) > MOST_ITEMS:
        raise InputError(f"The {what} are {len(value):,}: give at most {MOST_ITEMS} at once.")
    return tuple(item.strip() for item in value if item.strip())


def _split(text: str) -> object:
    if text.lstrip().startswith("["):
        try:
            return from_json(text)
        except ValueError:
            pass
    return text.split(",")


def _kind(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)


_READINGS = {"string": _as_text, "integer": _as_whole, "array": _as_texts}
