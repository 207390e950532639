"""Look up facts about a line that only earlier lines state: the tool of a call, the queue of prompts."""

import hashlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO

from memem.transcript.objects import objects

MAX_BYTES = 4_000_000  # a call is rarely further from its result


@dataclass(frozen=True, slots=True)
class QueuedPrompt:
    """A prompt that was typed while Claude worked."""

    text: str
    time: str

    @property
    def uuid(self) -> str:
        """An id made of its content: lines of the queue have none."""
        content = f"{self.time}\0{self.text}".encode("utf-8", "surrogatepass")
        return f"q-{hashlib.sha256(content).hexdigest()[:32]}"


class Lookback:
    """The lines before a place; they are read only if something is looked up."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read

    @cached_property
    def _data(self) -> bytes:
        return self._read()

    def name_tool(self, call: str) -> str:
        """Return the name of the tool that a call was made to; empty if the call is not there."""
        for line in self._lines(call.encode(), b'"tool_use"'):
            content = _part(line, "message").get("content")
            for block in content if isinstance(content, list) else ():
                is_call = isinstance(block, dict) and block.get("type") == "tool_use" and block.get("id") == call
                if line.get("type") == "assistant" and is_call:
                    return str(block.get("name"))
        return ""

    def lines_with_calls(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of Claude in which tools are called, the last one first."""
        return (line for line in self._lines(b'"tool_use"') if line.get("type") == "assistant")

    def find_removed_prompt(self) -> QueuedPrompt | None:
        """Return the prompt that a removal at this place takes from the queue."""
        pending = self._list_pending()
        return pending[0] if pending else None

    def find_queued_prompt(self, text: str) -> QueuedPrompt | None:
        """Return the prompt with these words that was queued last."""
        for line in self._lines(b'"queue-operation"', b'"enqueue"'):
            if line.get("operation") == "enqueue" and line.get("content") == text:
                return QueuedPrompt(text, str(line.get("timestamp")))
        return None

    def find_folder_and_branch(self) -> dict[str, str]:
        """Return `cwd` and `gitBranch` of the latest line that has them: lines of the queue do not."""
        for line in self._lines(b'"cwd"'):
            if isinstance(line.get("cwd"), str):
                return {"cwd": line["cwd"], "gitBranch": str(line.get("gitBranch") or "")}
        return {}

    def _list_pending(self) -> list[QueuedPrompt]:
        pending: list[QueuedPrompt] = []
        for line in reversed(list(self._lines(b'"queue-operation"'))):
            operation, content = line.get("operation"), line.get("content")
            if operation == "enqueue":
                pending.append(QueuedPrompt(content if isinstance(content, str) else "", str(line.get("timestamp"))))
            elif operation == "popAll":
                pending.clear()
            elif pending:
                pending.pop(0)
        return pending

    def _lines(self, *marks: bytes) -> Iterator[dict[str, Any]]:
        """Yield the lines that contain all marks, the last one first."""
        data, end = self._data, len(self._data)
        while (place := data.rfind(marks[0], 0, end)) >= 0:
            start, stop = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)
            row = data[start : stop if stop >= 0 else len(data)]
            if all(mark in row for mark in marks):
                yield from reversed([each.value for each in objects(io.BytesIO(row))])
            end = start


def look_back(file: BinaryIO, end: int) -> Lookback:
    """Look back from a place in a file that is being read."""

    def read() -> bytes:
        place, start = file.tell(), max(0, end - MAX_BYTES)
        file.seek(start)
        data = file.read(end - start)
        file.seek(place)
        return data

    return Lookback(read)


def look_back_in(data: bytes, end: int) -> Lookback:
    return Lookback(lambda: data[max(0, end - MAX_BYTES) : end])


NOTHING = Lookback(lambda: b"")


def _part(value: dict[str, Any], key: str) -> dict[str, Any]:
    part = value.get(key)
    return part if isinstance(part, dict) else {}
