"""The prompt for the mining model and the schema of its answer. The instructions are in `prompt.md`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from memem.core.conversation import (
    ANSWER,
    HUMAN,
    NOOP,
    OPERATIONS,
    OWN_CALL,
    PLAN,
    PROJECT_SCOPE,
    QUEUED,
    REJECTION,
    SCOPES,
    Chunk,
    Operation,
    Turn,
)
from memem.core.dates import get_said_day
from memem.core.errors import NotSchema
from memem.core.memory import KINDS, Memory
from memem.safety.naming import display_name
from memem.safety.quote import escape_brackets

VERSION = 3  # rises with any change
INSTRUCTION = "Which operations on the memories follow from the conversation on standard input?"
PACKED_INSTRUCTION = (
    "Which operations on the memories follow from the conversations on standard input? They are separate: judge each by"
    " itself, and quote from one of them only."
)
QUOTE_INSTRUCTION = (
    "You derived the numbered claims at the end of standard input from the conversation there, but their quotes are not"
    " in it. For each claim, return its number and the words that prove it, copied exactly and in one piece from one"
    " turn; return an empty quote if no words prove it."
)
MEMORY_CHARACTERS = 400
MAX_OPERATIONS = 40
_TAGS = re.compile(r"[\s/\\]*(?:conversation|memories|claims)\b", re.IGNORECASE)  # without their bracket


@dataclass(frozen=True, slots=True)
class ModelPrompt:
    """One question to the model: two fixed parts, and the data for standard input."""

    system: str
    instruction: str
    text: str
    schema: Mapping[str, Any]  # of the answer


_PLACES = {
    REJECTION: "rejecting a tool call",
    ANSWER: "answering a question",
    QUEUED: "while the assistant worked",
    PLAN: "approving a plan",
}

# Read at import, since an update may remove this folder while a miner runs.
_SYSTEM = Path(__file__).with_name("prompt.md").read_text(encoding="utf-8")


def build(chunks: Sequence[Chunk], memories: Sequence[Memory]) -> ModelPrompt:
    """Build a question about chunks of one project, each in tags of its own, and the closest memories."""
    parts = [
        f"{OWN_CALL} version {VERSION}",
        f"Project: {display_name(chunks[0].project)}",
        "",
        "<memories>",
        *(_memory(memory) for memory in memories),
        "</memories>",
        *(f"\n{_conversation(chunk)}" for chunk in chunks),
    ]
    instruction = INSTRUCTION if len(chunks) == 1 else PACKED_INSTRUCTION
    return ModelPrompt(_SYSTEM, instruction, "\n".join(parts) + "\n", SCHEMA)


def _conversation(chunk: Chunk) -> str:
    turns = list[str]()
    for number, turn in enumerate(chunk.turns):
        # The message that an answer approves precedes it, unless it was in an earlier chunk.
        if turn.proposal and not any(turn.proposal in other.text for other in chunk.turns[:number]):
            turns.append(f"[assistant, proposal that the person approves or chooses next]\n{turn.proposal}\n")
        turns.append(f"[{', '.join(filter(None, (turn.role, turn.time[:10], _describe_place(turn))))}]\n{turn.text}\n")
    work = [f"[work: what was done meanwhile, not speech]\n{escape_tags(chunk.work)}\n"] if chunk.work else []
    return "\n".join(["<conversation>", *turns, *work, "</conversation>"])


def _describe_place(turn: Turn) -> str:
    return f"as arguments of {turn.place}" if turn.place.startswith("/") else _PLACES.get(turn.place, "")


def add_correction(prompt: ModelPrompt, problem: str) -> ModelPrompt:
    again = f"{prompt.instruction} Your last answer could not be used: {problem} Answer again, by the schema alone."
    return replace(prompt, instruction=again)


def ask_for_quotes(prompt: ModelPrompt, unproven: Sequence[Operation]) -> ModelPrompt:
    """Build the second question: the exact words for operations whose quotes are not in the conversation."""
    claims = [
        (
            f"{number}. {_join_lines(operation.title)}: {_join_lines(operation.content)}",
            f"   quote: {_join_lines(operation.quote)}",
        )
        for number, operation in enumerate(unproven, 1)
    ]
    listed = escape_tags("\n".join(line for claim in claims for line in claim))
    return ModelPrompt(
        prompt.system, QUOTE_INSTRUCTION, f"{prompt.text}\n<claims>\n{listed}\n</claims>\n", QUOTE_SCHEMA
    )


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def escape_tags(text: str) -> str:
    """Escape our tags, also in look-alike characters, so that a text cannot leave its place; quotes stay exact."""
    return escape_brackets(text, _TAGS)


def _memory(memory: Memory) -> str:
    text = " ".join(memory.body.split())
    cut = text if len(text) <= MEMORY_CHARACTERS else text[:MEMORY_CHARACTERS] + " […]"
    labels = [get_said_day(memory), "the person's own" if memory.author == HUMAN else "", memory.kind]
    about = ", ".join(label for label in (*labels, display_name(memory.project)) if label)
    return escape_tags(f"- {memory.id8} ({about}) {memory.title}: {cut}")


def strict_object(**properties: Any) -> dict[str, Any]:
    """Return the JSON schema of an object that has these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


TEXT = {"type": "string"}
_STRINGS = {"type": "array", "items": TEXT}
_OPERATION = strict_object(
    op={**TEXT, "enum": list(OPERATIONS)},
    target={"type": ["string", "null"]},
    title=TEXT,
    content=TEXT,
    kind={**TEXT, "enum": list(KINDS)},
    scope={**TEXT, "enum": list(SCOPES)},
    importance={"type": "integer", "minimum": 1, "maximum": 5},
    keys=_STRINGS,
    paths=_STRINGS,
    quote=TEXT,
)
SCHEMA: Mapping[str, Any] = strict_object(operations={"type": "array", "maxItems": MAX_OPERATIONS, "items": _OPERATION})
_QUOTE = strict_object(number={"type": "integer", "minimum": 1, "maximum": MAX_OPERATIONS}, quote=TEXT)
QUOTE_SCHEMA: Mapping[str, Any] = strict_object(quotes={"type": "array", "maxItems": MAX_OPERATIONS, "items": _QUOTE})


def parse_quotes(answer: Any) -> dict[int, str]:
    """Return the quotes of the second answer by the number of their claim; raises NotSchema with the reason."""
    items = answer.get("quotes") if isinstance(answer, dict) else None
    if not isinstance(items, list) or len(items) > MAX_OPERATIONS:
        raise NotSchema("The answer has no `quotes` list.")
    quotes: dict[int, str] = {}
    for item in items:
        number, quote = (item.get("number"), item.get("quote")) if isinstance(item, dict) else (None, None)
        if isinstance(number, bool) or not isinstance(number, int) or not isinstance(quote, str):
            raise NotSchema("A quote has no number or no text.")
        quotes.setdefault(number, _encodable(quote))
    return quotes


def parse_operations(answer: Any) -> list[Operation]:
    """Return the operations of an answer; raises NotSchema with the reason."""
    if not isinstance(answer, dict) or not isinstance(answer.get("operations"), list):
        raise NotSchema("The answer has no `operations` list.")
    if len(answer["operations"]) > MAX_OPERATIONS:
        raise NotSchema(f"The answer has more than {MAX_OPERATIONS} operations.")
    return [_parse_operation(number, value) for number, value in enumerate(answer["operations"], 1)]


def operations_as_json(operations: Sequence[Operation]) -> list[dict[str, Any]]:
    return [{**asdict(each), "keys": list(each.keys), "paths": list(each.paths)} for each in operations]


def _parse_operation(number: int, value: Any) -> Operation:
    def wrong(problem: str) -> NotSchema:
        return NotSchema(f"Operation {number}: {problem}.")

    if not isinstance(value, dict) or value.get("op") not in OPERATIONS:
        raise wrong(f"`op` is not one of {', '.join(OPERATIONS)}")
    if value["op"] == NOOP:  # the rest does not matter
        return Operation(NOOP, None, "", "", "fact", PROJECT_SCOPE, 1, (), (), "")
    target, importance = value.get("target"), value.get("importance")
    if target is not None and not isinstance(target, str):
        raise wrong("`target` is neither an id nor null")
    for name in ("title", "content", "kind", "scope", "quote"):
        if not isinstance(value.get(name), str):
            raise wrong(f"`{name}` is not a text")
    for name in ("keys", "paths"):
        if not isinstance(value.get(name), list) or not all(isinstance(item, str) for item in value[name]):
            raise wrong(f"`{name}` is not a list of texts")
    if isinstance(importance, bool) or not isinstance(importance, int) or not 1 <= importance <= 5:
        raise wrong("`importance` is not a whole number from 1 to 5")
    for name, allowed in (("kind", KINDS), ("scope", SCOPES)):
        if value[name] not in allowed:
            raise wrong(f"`{name}` is not one of {', '.join(allowed)}")
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
    """Replace lone surrogates, which cannot be stored or shown."""
    return text.encode("utf-8", "replace").decode()
