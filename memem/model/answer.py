"""One question and one answer, whichever model is asked: the CLI's or that of a URL."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from memem.core.errors import NotJson, Usage
from memem.core.files import from_json

MAX_TOKENS = 1_000_000_000  # of a call; larger reports are ignored
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The model's answer, not yet checked against the schema."""

    value: Any
    usage: Usage


class Model(Protocol):
    """A model that can be asked. With `makes_sessions`, Claude Code may keep a session of the id that a call has."""

    @property
    def makes_sessions(self) -> bool: ...

    def ask(
        self, *, system: str, instruction: str, text: str, schema: Mapping[str, Any], session: str = ""
    ) -> ModelAnswer: ...


def parse_words(words: str, usage: Usage) -> Any:
    """Return the JSON that is all of the words, in a fence, or between the first and the last brace."""
    for candidate in _candidates(words):
        try:
            return from_json(candidate)
        except ValueError:
            continue
    raise NotJson(f"The model answered with {len(words):,} characters that are not JSON. Nothing is lost.", usage)


def _candidates(words: str) -> Iterator[str]:
    yield words
    yield from _FENCED.findall(words)
    yield words[words.find("{") : words.rfind("}") + 1]


def read_number(value: Any, maximum: float) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= maximum else None
