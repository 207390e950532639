"""Ask for the lines of a playbook in fewer words. The system text is `playbook.md`."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from memem.core.errors import NotSchema
from memem.core.memory import Memory
from memem.core.mining import OWN_CALL
from memem.extract.prompt import Prompt, fenced

VERSION = 1
INSTRUCTION = "Which of the lines on standard input can be said shorter, and how?"
MEMORY_CHARACTERS = 600
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "text": {"type": "string"}},
                "required": ["id", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["lines"],
    "additionalProperties": False,
}


def build(project: str, memories: Sequence[Memory]) -> Prompt:
    """The question about the lines that some memories have on a page."""
    told = [f"<line id={memory.id8}>\n{_statement(memory)}\n</line>" for memory in memories]
    return Prompt(
        _system(), INSTRUCTION, "\n".join([f"{OWN_CALL} version {VERSION}", f"Project: {project}", *told]) + "\n"
    )


def parse(answer: Any) -> dict[str, str]:
    """From the beginning of a memory's id to the new text; raises NotSchema."""
    if not isinstance(answer, dict) or not isinstance(answer.get("lines"), list):
        raise NotSchema("The answer has no list `lines`.")
    texts: dict[str, str] = {}
    for each in answer["lines"]:
        known = each if isinstance(each, dict) else {}
        if not isinstance(known.get("id"), str) or not isinstance(known.get("text"), str):
            raise NotSchema("A line has no id or no text.")
        texts[known["id"]] = " ".join(known["text"].encode("utf-8", "replace").decode().split())
    return texts


@cache
def _system() -> str:
    return Path(__file__).with_name("playbook.md").read_text(encoding="utf-8")


def _statement(memory: Memory) -> str:
    return fenced(" ".join(memory.body.split())[:MEMORY_CHARACTERS].replace("<", "‹"))
