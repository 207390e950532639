"""The tools: what each is for, what it takes, and how a call is checked. `answers.py` has a function for each.

Light, since a client waits for the list: what answers is imported with the first call.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.core.errors import InputError
from memem.core.formats import from_json

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


def _text(meaning: str) -> dict[str, Any]:
    return {"type": "string", "description": meaning}


def _whole(meaning: str, **more: int) -> dict[str, Any]:
    return {"type": "integer", "description": meaning, **more}


def _texts(meaning: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": meaning}


def _takes(*required: str, **parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": parameters,
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }


_QUERY = _text("A question, some words, an identifier or an error message")
_LIMIT = _whole("At most so many", default=10, minimum=1)
_SCOPE = _text("A project's name: only its memories")
_AS_OF = _text("A date such as 2026-06-01: what was held true then, whatever became of it")

TOOLS = (
    Tool(
        "active_memory_slice",
        "What is remembered for the task at hand: the project's pinned notes and the few memories that fit the query "
        "well. Helps when a task begins or its topic changes. A prompt that needed a slice may hold one already.",
        _takes(
            "query",
            query=_text("The task or question, in plain words"),
            task_mode=_text("debug, build, review, test, plan ...; taken from the query when absent"),
        ),
    ),
    Tool(
        "memory_search",
        "Finds memories by meaning and by words, in all projects, the current one preferred. Helps before deciding "
        "what may be decided already, at an error that may be known, and when the user refers to something earlier.",
        _takes("query", query=_QUERY, limit=_LIMIT, scope_id=_SCOPE, as_of=_AS_OF),
    ),
    Tool(
        "memory_get",
        "Shows memories whole: statement, evidence, links, origin. Helps when a statement was shortened elsewhere, or "
        "when it matters where it comes from.",
        _takes("ids", ids=_texts("Ids, or their first characters"), scope_id=_SCOPE),
    ),
    Tool(
        "memory_save",
        "Keeps one memory as a note in the user's vault, for the current project. Meant for what the user asks to "
        "remember, and for decisions, corrections and fixes that outlive the session. Secrets are taken out; what is "
        "known already is not kept twice.",
        _takes(
            "content",
            content=_text("One statement that is understood without the conversation, with its reason"),
            title=_text("A short headline"),
            tags=_texts("Topics; decision, convention, preference, lesson or procedure also sets the kind"),
            layer=_whole(
                "1 conventions, 2 ordinary, 3 archive; by kind when absent. Only the user pins (0)",
                minimum=0,
                maximum=3,
            ),
            paths=_texts("Files it is about, as patterns such as src/auth/**"),
        ),
        reads=False,
    ),
    Tool(
        "memory_timeline",
        "Shows a memory in its time: what it replaced, what replaced it, its links, what changed around it. Helps when "
        "memories disagree or one seems outdated.",
        _takes("memory_id", memory_id=_text("An id, or its first characters"), scope_id=_SCOPE),
    ),
    Tool(
        "transcript_search",
        "Searches the words of earlier sessions, turn by turn. Helps when no memory answers, or when it matters what "
        "exactly was said, when and in which session.",
        _takes("query", query=_QUERY, limit=_LIMIT),
    ),
    Tool(
        "context_assemble",
        "Everything for a task in one text: the project's playbook (identity, conventions, decisions, traps, "
        "environment), the memories that fit the query, the few best turns of earlier sessions. Helps before larger "
        "work.",
        _takes(
            "query",
            query=_text("The task or question, in plain words"),
            project=_text("A project's name; that of the folder when absent"),
        ),
    ),
    Tool(
        "memory_forget",
        "Takes a memory out of recall; its note moves to .forgotten in the vault. Meant for what the user calls wrong "
        "or unwanted.",
        _takes("id", id=_text("The id, or its first characters")),
        reads=False,
        destroys=True,
    ),
    Tool(
        "memory_recall",
        "The same as memory_search.",
        _takes("query", query=_QUERY, limit=_LIMIT, scope_id=_SCOPE, as_of=_AS_OF),
        full=True,
    ),
    Tool(
        "memory_list",
        "Lists memories, the last changed first. Helps to see what there is without a question.",
        _takes(scope_id=_SCOPE, limit=_LIMIT),
        full=True,
    ),
    Tool(
        "memory_graph_neighbors",
        "Shows what is around a memory: what supports it, depends on it, replaced it, contradicts it or is of the same "
        "topic. Helps to see what a change would touch, and what else to know.",
        _takes(
            "memory_id",
            memory_id=_text("An id, or its first characters"),
            depth=_whole("How many steps to go", default=1, minimum=1, maximum=3),
            limit=_LIMIT,
        ),
        full=True,
    ),
    Tool(
        "memory_graph_audit",
        "Tells how memories hang together, in numbers, and what is out of order: memories without links, links that "
        "lead nowhere or to what is no more, memories that everything leads to; each with what mends it.",
        _takes(limit=_LIMIT),
        full=True,
    ),
    Tool(
        "memory_graph_rebuild",
        "Makes the edges between memories anew, from the notes' links and from what they mean. No note is changed. "
        "Helps when many notes were changed at once.",
        _takes(),
        reads=False,
        derives=True,
        full=True,
    ),
)


def offered(setting: str) -> tuple[Tool, ...]:
    """The tools of a setting: `default`, or `full`, which is all of them."""
    return tuple(tool for tool in TOOLS if setting == "full" or not tool.full)


def changes_no_note(name: str) -> bool:
    """Whether a tool only reads, or derives: whoever has the encoder may do it for another."""
    return any(tool.name == name and (tool.reads or tool.derives) for tool in TOOLS)


def call(ws: "Workspace", name: str, arguments: dict[str, Any], *, cwd: Path, session: str = "") -> str:
    """The answer of a tool to its arguments. Raises MememError; InputError when the call itself is wrong."""
    given = checked(_tool(name, ws.settings.tools), arguments)
    from memem.doors.mcp_server import answers

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
