"""Ask whether pairs of memories contradict each other. The system text is `contradiction.md`."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from memem.core.errors import NotSchema
from memem.core.memory import Memory
from memem.core.mining import OWN_CALL
from memem.extract.prompt import Prompt, fenced
from memem.jobs.suspicions import COMPATIBLE, CONTRADICT

VERSION = 1
VERDICTS = (CONTRADICT, COMPATIBLE)
INSTRUCTION = "Which of the pairs on standard input contradict each other?"
MEMORY_CHARACTERS = 600
WHY_CHARACTERS = 200
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "pairs": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer", "minimum": 1},
                    "verdict": {"type": "string", "enum": list(VERDICTS)},
                    "why": {"type": "string"},
                },
                "required": ["number", "verdict", "why"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["pairs"],
    "additionalProperties": False,
}


def build(pairs: Sequence[tuple[Memory, Memory]]) -> Prompt:
    """The question about some pairs, the earlier memory of each first."""
    told = [
        f"<pair number={number}>\n{_memory(one)}\n{_memory(other)}\n</pair>"
        for number, (one, other) in enumerate(pairs, 1)
    ]
    return Prompt(_system(), INSTRUCTION, "\n".join([f"{OWN_CALL} version {VERSION}", "", *told]) + "\n")


def parse(answer: Any) -> dict[int, tuple[str, str]]:
    """From the number of a pair to the verdict and why; raises NotSchema."""
    if not isinstance(answer, dict) or not isinstance(answer.get("pairs"), list):
        raise NotSchema("The answer has no list `pairs`.")
    verdicts = {}
    for each in answer["pairs"]:
        number, verdict = (each.get("number"), each.get("verdict")) if isinstance(each, dict) else (None, None)
        if type(number) is not int or verdict not in VERDICTS:
            raise NotSchema(f"A pair has no number, or its verdict is not one of {', '.join(VERDICTS)}.")
        why = " ".join(str(each.get("why", "")).encode("utf-8", "replace").decode().split())
        verdicts[number] = (verdict, why[:WHY_CHARACTERS])
    return verdicts


@cache
def _system() -> str:
    return Path(__file__).with_name("contradiction.md").read_text(encoding="utf-8")


def _memory(memory: Memory) -> str:
    since = (memory.valid_from or memory.created)[:10]
    text = " ".join(memory.body.split())[:MEMORY_CHARACTERS]
    return fenced(f"- {since} ({memory.kind}, {memory.project}) {memory.title}: {text}".replace("<", "‹"))
