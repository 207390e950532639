"""From an answer to operations: the one schema that every extractor speaks, and the proof by quotation."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from memem.core.errors import NotSchema
from memem.core.memory import KINDS
from memem.core.mining import HUMAN, NOOP, OPERATIONS, PROJECT_SCOPE, SCOPES, Operation, Turn

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


def parse(answer: Any) -> list[Operation]:
    """The operations of an answer; raises NotSchema, which says what is wrong with it."""
    if not isinstance(answer, dict) or not isinstance(answer.get("operations"), list):
        raise NotSchema("The answer has no list `operations`.")
    if len(answer["operations"]) > MOST_OPERATIONS:
        raise NotSchema(f"The answer has more than {MOST_OPERATIONS} operations.")
    return [_operation(number, each) for number, each in enumerate(answer["operations"], 1)]


def as_json(operations: Sequence[Operation]) -> list[dict[str, Any]]:
    """Operations as the answer that would give them."""
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
    """Half a character, which JSON can name, can be neither stored nor shown."""
    return text.encode("utf-8", "replace").decode()


def source(turns: Sequence[Turn], quote: str) -> Turn | None:
    """The turn that a quote is from: a person's own words before those that they pasted, and before the assistant's.
    None when nobody said it."""
    wanted = _wanted(quote)
    if len(wanted.encode()) < SHORTEST_QUOTE:
        return None
    said = [turn for turn in turns if wanted in _folded(turn.text)]
    return min(said, key=lambda turn: (turn.role != HUMAN, not is_own(turn, quote)), default=None)


def is_own(turn: Turn, quote: str, *, even_if_pasted: bool = False) -> bool:
    """Whether the words are the speaker's, and not only repeated of what a tool said, or pasted."""
    text, wanted = _folded(turn.text), _wanted(quote)
    for part in (*turn.repeats, *(() if even_if_pasted else turn.pasted)):
        text = text.replace(_folded(part), " \0 ")
    return wanted in text


def _wanted(quote: str) -> str:
    return _folded(quote).strip("\"'.… ")


def _folded(text: str) -> str:
    """What copying does not always keep: white space, the shape of quotation marks, capitals, Unicode form."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_SAME).split()).casefold()
