"""The one gate: every text passes it on its way into the vault, and again on its way out of a hand-edited note."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from memem.core.errors import InputError, SecretOnly
from memem.core.memory import Memory
from memem.gate import invisible, secrets
from memem.gate.naming import project_named

MAX_BODY = 100_000
MAX_TITLE = 300
MAX_ITEMS = 50
MAX_ITEM = 300
SHORTEST_SECRET = 8
"""`pw: abcd`: the many short values of a note hold no secret and need no looking through."""
ORDER = "instruction"
"""Among what was taken out: words to the model, where none belong."""

_TEXTS = ("body", "evidence")
_LINES = (
    *("title", "kind", "status", "stale_because", "author", "created", "updated", "valid_from", "valid_to"),
    *("supersedes", "superseded_by", "source_type", "source_session", "source_turn"),
)
_LISTS = ("tags", "keys", "paths", "anchors", "related", "contradicts")
_NAMES = ("project",)
_BESIDE = frozenset({*_LINES, "anchors", "related", "contradicts"} - {"title"})
"""What stands beside the statement. It is shown too, but nobody is asked about it: a date, a name or a link that gives
orders is none."""
EVERYTHING = (*_TEXTS, *_LINES, *_LISTS, *_NAMES)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A memory that may pass, and what was taken out of it."""

    memory: Memory
    redacted: tuple[str, ...] = ()
    neutralised: int = 0

    @property
    def doubt(self) -> str:
        """Why it should wait for a person: it speaks to the model. Empty when it records a fact."""
        from memem.gate import injection

        return injection.doubt(self.memory)


def judge(memory: Memory, fields: Collection[str] = EVERYTHING) -> Verdict:
    """Clean what somebody wants to keep; refuse what is empty or too large. Only the given fields are judged."""
    if "body" in fields:
        if not memory.body.strip():
            raise InputError("There is nothing to remember: the text is empty.")
        if len(memory.body) > MAX_BODY:
            raise InputError(
                f"The text has {len(memory.body):,} characters; a memory holds at most {MAX_BODY:,}. "
                "Save the conclusion, or split it."
            )
    if "title" in fields and len(memory.title) > MAX_TITLE:
        raise InputError(f"The title has {len(memory.title):,} characters; use at most {MAX_TITLE}.")
    for name in _LISTS:
        items = getattr(memory, name) if name in fields else ()
        if len(items) > MAX_ITEMS or any(len(item) > MAX_ITEM for item in items):
            raise InputError(f"Too many or too long {name}: at most {MAX_ITEMS} of {MAX_ITEM} characters each.")
    verdict = cleanse(memory, fields)
    if "body" in fields and not verdict.memory.body.strip():
        raise InputError("There is nothing to remember: the text holds only invisible characters.")
    if "body" in fields and _says_nothing(verdict):
        raise SecretOnly("The text is nothing but a secret. memem keeps no secrets; nothing was saved.")
    return verdict


def cleanse(memory: Memory, fields: Collection[str] = EVERYTHING) -> Verdict:
    """The memory without secrets and invisible tricks. Also what a note edited by hand shows to others."""
    cleaner = _Cleaner()
    changes: dict[str, Any] = {}
    for name in fields:
        value = getattr(memory, name)
        clean = cleaner.beside if name in _BESIDE else cleaner.line
        if name in _TEXTS:
            changes[name] = cleaner.text(value).strip()
        elif name in _LINES:
            changes[name] = clean(value)
        elif name in _LISTS:
            changes[name] = tuple(item for item in map(clean, value) if item)
        elif name in _NAMES:
            changes[name] = project_named(value)
    return Verdict(replace(memory, **changes), tuple(dict.fromkeys(cleaner.found)), cleaner.removed)


def clean_text(text: str) -> str:
    """Any text without secrets and invisible tricks: before it is cut, since half a secret is not known for one."""
    return _Cleaner().text(text)


def clean_line(text: str) -> str:
    """Any text as one line that may be written down: the reason of an event, what went wrong."""
    return _Cleaner().line(text)


def recorded_line(text: str) -> str:
    """The same of a line that is shown by itself; nothing is left of one that speaks to the model."""
    from memem.gate import injection

    line = clean_line(text)
    return "" if injection.reason(line) else line


class _Cleaner:
    """Cleans texts and remembers what it took out of them."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.removed = 0

    def text(self, text: str) -> str:
        if not text:
            return text
        visible, removed = invisible.neutralise(text)
        self.removed += removed
        if len(visible) < SHORTEST_SECRET:
            return visible
        safe, kinds = secrets.redact(visible)
        self.found.extend(kinds)
        return safe

    def line(self, text: str) -> str:
        return " ".join(self.text(text).split())

    def beside(self, text: str) -> str:
        line = self.line(text)
        if line.isascii() and " " not in line:
            return line  # most of them are ids, dates and names
        from memem.gate import injection

        if not injection.reason(line):
            return line
        self.found.append(ORDER)
        return ""


def _says_nothing(verdict: Verdict) -> bool:
    rest = secrets.without_marks(verdict.memory.body)
    return rest != verdict.memory.body and not any(character.isalnum() for character in rest)
