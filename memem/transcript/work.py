"""The work in a line: calls of tools, results of earlier calls, commands that the person ran."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from memem.transcript.harness import shell_command
from memem.transcript.utterances import is_text, read_result_text

Object = dict[str, Any]

FILE_TOOLS = dict.fromkeys(("Read", "Edit", "Write", "MultiEdit"), "file_path") | {"NotebookEdit": "notebook_path"}
READING_TOOL, SHELL_TOOL = "Read", "Bash"
LONGEST_ITEM = 200


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool, with the file or the command that it is about."""

    identity: str
    tool: str
    target: str = ""
    folder: str = ""  # that it was made in

    @property
    def is_file(self) -> bool:
        return self.tool in FILE_TOOLS


@dataclass(frozen=True, slots=True)
class Result:
    """The result of the call with this identity; a denied call was never run."""

    identity: str
    text: str = ""
    is_error: bool = False
    is_denied: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    calls: tuple[ToolCall, ...] = ()
    results: tuple[Result, ...] = ()
    commands: tuple[str, ...] = ()  # that the person ran with `!`

    @property
    def files(self) -> tuple[str, ...]:
        """The files that calls of this line want to read or write."""
        return _items(call.target for call in self.calls if call.is_file)

    @property
    def written(self) -> tuple[str, ...]:
        """The files that calls of this line want to write."""
        return _items(call.target for call in self.calls if call.is_file and call.tool != READING_TOOL)


def work_of_assistant(blocks: Iterable[Object], folder: str) -> Work | None:
    calls = tuple(read_calls(blocks, folder))
    return Work(calls=calls) if calls else None


def work_of_user(value: Object, blocks: list[Object]) -> Work | None:
    commands = _items(filter(None, (shell_command(block["text"]) for block in blocks if is_text(block))))
    is_denied = bool(value.get("toolDenialKind"))
    results = tuple(
        Result(str(block.get("tool_use_id")), read_result_text(block), block.get("is_error") is True, is_denied)
        for block in blocks
        if block.get("type") == "tool_result"
    )
    return Work(results=results, commands=commands) if results or commands else None


def read_calls(blocks: Iterable[Object], folder: str) -> Iterator[ToolCall]:
    for block in blocks:
        name, given = block.get("name"), block.get("input")
        if block.get("type") == "tool_use" and isinstance(name, str):
            key = "command" if name == SHELL_TOOL else FILE_TOOLS.get(name, "")
            target = given.get(key) if isinstance(given, dict) else None
            yield ToolCall(str(block.get("id")), name, target if isinstance(target, str) else "", folder)


def _items(texts: Iterable[str]) -> tuple[str, ...]:
    lines = (text.strip().partition("\n")[0].strip() for text in texts)
    return tuple(line[:LONGEST_ITEM] for line in lines if line)
