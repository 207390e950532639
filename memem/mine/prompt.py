"""The prompt for the mining model and the schema of its answer. The instructions are in `prompt.md`.

VERSION rises with any change.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from memem.core.conversation import HUMAN, NOOP, OPERATIONS, OWN_CALL, PROJECT_SCOPE, SCOPES, Chunk, Operation, Turn
from memem.core.errors import NotSchema
from memem.core.memory import KINDS, Memory

VERSION = 2
INSTRUCTION = "Which operations on the memories follow from the conversation on standard input?"
PACKED_INSTRUCTION = (
    "Which operations on the memories follow from the conversations on standard input? They are separate: judge each by"
    " itself, and quote from one of them only."
)
MEMORY_CHARACTERS = 400
_TAGS = re.compile(r"<(?=\s*(?:/\s*)?(?:conversation|memories)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ModelPrompt:
    """One question to the model: two fixed parts, and the data, which goes in on standard input."""

    system: str
    instruction: str
    text: str


def build(chunk: Chunk, memories: Sequence[Memory]) -> ModelPrompt:
    """Build the question about a chunk and the closest memories."""
    return build_packed([chunk], memories)


def build_packed(chunks: Sequence[Chunk], memories: Sequence[Memory]) -> ModelPrompt:
    """Build one question about chunks of several sessions of a project, each in tags of its own."""
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
    return ModelPrompt(load_instructions(), instruction, "\n".join(parts) + "\n")


def _conversation(chunk: Chunk) -> list[str]:
    return [
        "<conversation>",
        *(f"[{turn.role}{_day(turn.time)}]\n{turn.text}\n" for turn in chunk.turns),
        *([f"[work: what was done meanwhile, not speech]\n{escape_tags(chunk.work)}\n"] if chunk.work else []),
        "</conversation>",
    ]


def add_correction(prompt: ModelPrompt, problem: str) -> ModelPrompt:
    """Repeat a question after an answer that could not be used."""
    again = f"{prompt.instruction} Your last answer could not be used: {problem} Answer again, by the schema alone."
    return ModelPrompt(prompt.system, again, prompt.text)


@cache
def load_instructions() -> str:
    return Path(__file__).with_name("prompt.md").read_text(encoding="utf-8")


def escape_tags(text: str) -> str:
    """Escape our tags, so that a text cannot leave its place."""
    return _TAGS.sub(r"<\\", text)


def _memory(memory: Memory) -> str:
    text = " ".join(memory.body.split())
    cut = text if len(text) <= MEMORY_CHARACTERS else text[:MEMORY_CHARACTERS] + " […]"
    by = "the person's own, " if memory.author == HUMAN else ""
    return escape_tags(f"- {memory.id8} ({by}{memory.kind}, {memory.project}) {memory.title}: {cut}")


def _day(time: str) -> str:
    return f", {time[:10]}" if time else ""


MOST_OPERATIONS = 40
SHORTEST_QUOTE = 6
_TEXTS = ("title", "content", "kind", "scope", "quote")
_LISTS = ("keys", "paths")
_STRINGS = {"type": "array", "items": {"type": "string"}}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "operations": {
            "type": "array",
            "maxItems": MOST_OPERATIONS,
            "items": {
                "type": "object",
                "properties": {
                    "op": {"type": "string", "enum": list(OPERATIONS)},
                    "target": {"type": ["string", "null"]},
                    "title": {"type": "string"},
                    "content": {"type": "string"},
                    "kind": {"type": "string", "enum": list(KINDS)},
                    "scope": {"type": "string", "enum": list(SCOPES)},
                    "importance": {"type": "integer", "minimum": 1, "maximum": 5},
                    "keys": _STRINGS,
                    "paths": _STRINGS,
                    "quote": {"type": "string"},
                },
                "required": ["op", "target", *_TEXTS, "importance", *_LISTS],
                "additionalProperties": False,
            },
        }
    },
    "required": ["operations"],
    "additionalProperties": False,
}
_SAME = str.maketrans("“”„«»‘’‚`", '"""""\'\'\'\'')


def parse_operations(answer: Any) -> list[Operation]:
    """Return the operations of an answer; raises NotSchema, which says what is wrong with it."""
    if not isinstance(answer, dict) or not isinstance(answer.get("operations"), list):
        raise NotSchema("The answer has no list `operations`.")
    if len(answer["operations"]) > MOST_OPERATIONS:
        raise NotSchema(f"The answer has more than {MOST_OPERATIONS} operations.")
    return [_operation(number, each) for number, each in enumerate(answer["operations"], 1)]


def operations_as_json(operations: Sequence[Operation]) -> list[dict[str, Any]]:
    """Return the answer that would give these operations."""
    return [{**asdict(each), "keys": list(each.keys), "paths": list(each.paths)} for each in operations]


def _operation(number: int, value: Any) -> Operation:
    def wrong(what: str) -> NotSchema:
        return NotSchema(f"Operation {number}: {what}.")

    if not isinstance(value, dict) or value.get("op") not in OPERATIONS:
        raise wrong(f"`op` is not one of {', '.join(OPERATIONS)}")
    if value["op"] == NOOP:  # nothing is done, so nothing else matters
        return Operation(NOOP, None, "", "", "fact", PROJECT_SCOPE, 1, (), (), "")
    target, importance = value.get("target"), value.get("importance")
    if target is not None and not isinstance(target, str):
        raise wrong("`target` is neither an id nor null")
    for name in _TEXTS:
        if not isinstance(value.get(name), str):
            raise wrong(f"`{name}` is not a text")
    for name in _LISTS:
        if not isinstance(value.get(name), list) or not all(isinstance(item, str) for item in value[name]):
            raise wrong(f"`{name}` is not a list of texts")
    if isinstance(importance, bool) or not isinstance(importance, int) or not 1 <= importance <= 5:
        raise wrong("`importance` is not a whole number from 1 to 5")
    if value["kind"] not in KINDS:
        raise wrong(f"`kind` is not one of {', '.join(KINDS)}")
    if value["scope"] not in SCOPES:
        raise wrong(f"`scope` is not one of {', '.join(SCOPES)}")
    if not value["content"].strip():
        raise wrong("`content` is empty")
    return Operation(
        op=value["op"],
        target=target and _encodable(target),
        title=_encodable(value["title"]),
        content=_encodable(value["content"]),
        kind=value["kind"],
        scope=value["scope"],
        importance=importance,
        keys=tuple(map(_encodable, value["keys"])),
        paths=tuple(map(_encodable, value["paths"])),
        quote=_encodable(value["quote"]),
    )


def _encodable(text: str) -> str:
    """Replace lone surrogates, which JSON can express but which cannot be stored or shown."""
    return text.encode("utf-8", "replace").decode()


def find_quoted_turn(turns: Sequence[Turn], quote: str) -> Turn | None:
    """Return the turn that a quote is from: a person's own words before pasted ones, then the assistant's."""
    wanted = _wanted(quote)
    if len(wanted.encode()) < SHORTEST_QUOTE:
        return None
    said = [turn for turn in turns if wanted in _folded(turn.text)]
    return min(said, key=lambda turn: (turn.role != HUMAN, not is_own_wording(turn, quote)), default=None)


def is_own_wording(turn: Turn, quote: str, *, even_if_pasted: bool = False) -> bool:
    """Whether the words are the speaker's own, not repeated from a tool's output, nor pasted."""
    text, wanted = _folded(turn.text), _wanted(quote)
    for part in (*turn.repeats, *(() if even_if_pasted else turn.pasted)):
        text = text.replace(_folded(part), " \0 ")
    return wanted in text


def _wanted(quote: str) -> str:
    return _folded(quote).strip("\"'.… ")


def _folded(text: str) -> str:
    """Normalise white space, quotation marks, case and Unicode form, which copying may change."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_SAME).split()).casefold()
