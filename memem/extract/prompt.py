"""What the model is sent. The system text is `prompt.md`; VERSION rises whenever what is sent changes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memem.core.memory import Memory
from memem.core.mining import HUMAN, OWN_CALL, Chunk

VERSION = 2
INSTRUCTION = "Which operations on the memories follow from the conversation on standard input?"
PACKED_INSTRUCTION = (
    "Which operations on the memories follow from the conversations on standard input? They are separate: judge each by"
    " itself, and quote from one of them only."
)
MEMORY_CHARACTERS = 400
_TAGS = re.compile(r"<(?=\s*(?:/\s*)?(?:conversation|memories)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to the model: the two fixed parts, and the data, which goes in on standard input."""

    system: str
    instruction: str
    text: str


def build(chunk: Chunk, memories: Sequence[Memory]) -> Prompt:
    """The question about a chunk, beside the nearest memories there are."""
    return build_packed([chunk], memories)


def build_packed(chunks: Sequence[Chunk], memories: Sequence[Memory]) -> Prompt:
    """One question about chunks of several sessions of the same project, each in tags of its own."""
    parts = [
        f"{OWN_CALL} version {VERSION}",
        f"Project: {chunks[0].project}",
        "",
        "<memories>",
        *(_memory(memory) for memory in memories),
        "</memories>",
        *(line for chunk in chunks for line in ("", *_conversation(chunk))),
    ]
    instruction = INSTRUCTION if len(chunks) == 1 else PACKED_INSTRUCTION
    return Prompt(system(), instruction, "\n".join(parts) + "\n")


def _conversation(chunk: Chunk) -> list[str]:
    return [
        "<conversation>",
        *(f"[{turn.role}{_day(turn.time)}]\n{turn.text}\n" for turn in chunk.turns),
        *([f"[work: what was done meanwhile, not speech]\n{fenced(chunk.work)}\n"] if chunk.work else []),
        "</conversation>",
    ]


def corrected(prompt: Prompt, problem: str) -> Prompt:
    """The same question after an answer that could not be used."""
    again = f"{prompt.instruction} Your last answer could not be used: {problem} Answer again, by the schema alone."
    return Prompt(prompt.system, again, prompt.text)


@cache
def system() -> str:
    """The text that tells the model what it is for."""
    return Path(__file__).with_name("prompt.md").read_text(encoding="utf-8")


def fenced(text: str) -> str:
    """A text that cannot leave its place: it holds no tag of ours."""
    return _TAGS.sub(r"<\\", text)


def _memory(memory: Memory) -> str:
    text = " ".join(memory.body.split())
    cut = text if len(text) <= MEMORY_CHARACTERS else text[:MEMORY_CHARACTERS] + " […]"
    by = "the person's own, " if memory.author == HUMAN else ""
    return fenced(f"- {memory.id8} ({by}{memory.kind}, {memory.project}) {memory.title}: {cut}")


def _day(time: str) -> str:
    return f", {time[:10]}" if time else ""
