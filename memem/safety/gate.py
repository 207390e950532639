"""The gate: every text passes it on its way into the vault, and again when a hand-edited note is shown."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from memem.core.errors import InputError, SecretOnly
from memem.core.memory import Memory
from memem.safety.credentials import redact
from memem.safety.invisible import neutralise
from memem.safety.naming import clean_project_name, may_be_order

MAX_BODY = 100_000
MAX_TITLE = 300
MAX_ITEMS = 50
MAX_ITEM = 300
MIN_SECRET = 8  # the many shorter values of a note, such as `pw: abcd`, need no search
INSTRUCTION = "instruction"  # among the kinds of redacted text

_TEXTS = ("body", "evidence")
_LINES = (
    *("title", "kind", "status", "stale_because", "author", "created", "updated", "valid_from", "valid_to"),
    *("supersedes", "superseded_by", "source_type", "source_session", "source_turn"),
)
_LISTS = ("tags", "keys", "paths", "anchors", "related", "contradicts")
# Dates, names and links, which are shown too: one that gives orders is dropped, and needs no review.
_METADATA = frozenset({*_LINES, "anchors", "related", "contradicts"} - {"title"})
EVERYTHING = (*_TEXTS, *_LINES, *_LISTS, "project")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A memory that may pass, and what was removed from it."""

    memory: Memory
    redacted: tuple[str, ...] = ()
    neutralised: int = 0

    @property
    def doubt(self) -> str:
        """The reason why it should wait for a person: it speaks to the model. Empty when it records a fact."""
        from memem.safety.injection.judge import explain_doubt

        return explain_doubt(self.memory)


def judge(memory: Memory, fields: Collection[str] = EVERYTHING) -> Verdict:
    """Clean the given fields of a memory that is to be saved; refuse one that is empty or too large."""
    if "body" in fields:
        if not memory.body.strip():
            raise InputError("There is nothing to save: the text is empty.")
        if len(memory.body) > MAX_BODY:
            raise InputError(
                f"The text has {len(memory.body):,} characters; a memory may have at most {MAX_BODY:,}. "
                "Save the conclusion, or split it."
            )
    if "title" in fields and len(memory.title) > MAX_TITLE:
        raise InputError(f"The title has {len(memory.title):,} characters; use at most {MAX_TITLE}.")
    for name in _LISTS:
        items = getattr(memory, name) if name in fields else ()
        if len(items) > MAX_ITEMS or any(len(item) > MAX_ITEM for item in items):
            raise InputError(
                f"Too many {name}, or some are too long: use at most {MAX_ITEMS}, of up to {MAX_ITEM} characters each."
            )
    verdict = cleanse(memory, fields)
    if "body" in fields:
        if not verdict.memory.body.strip():
            raise InputError("There is nothing to save: the text has only invisible characters.")
        rest = redact.without_marks(verdict.memory.body)
        if rest != verdict.memory.body and not any(map(str.isalnum, rest)):
            raise SecretOnly("The text contains only a secret. memem does not store secrets; nothing was saved.")
    return verdict


def cleanse(memory: Memory, fields: Collection[str] = EVERYTHING) -> Verdict:
    """Remove secrets and invisible tricks from a memory, also from a note edited by hand before it is shown."""
    cleaner = _Cleaner()
    changes: dict[str, Any] = {}
    for name in fields:
        value = getattr(memory, name)
        clean = cleaner.clean_metadata if name in _METADATA else cleaner.clean_line
        if name in _TEXTS:
            changes[name] = cleaner.clean_text(value).strip()
        elif name in _LINES:
            changes[name] = clean(value)
        elif name in _LISTS:
            changes[name] = tuple(filter(None, map(clean, value)))
        elif name == "project":
            changes[name] = clean_project_name(value)
    return Verdict(replace(memory, **changes), tuple(dict.fromkeys(cleaner.kinds)), cleaner.removed)


def clean_text(text: str) -> str:
    """Remove secrets and invisible tricks; call it before cutting a text, since half a secret is not recognised."""
    return _Cleaner().clean_text(text)


def clean_line(text: str) -> str:
    return _Cleaner().clean_line(text)


def recorded_line(text: str) -> str:
    """Clean a line that is shown on its own; return an empty one if it speaks to the model."""
    from memem.safety.injection.judge import explain, explain_names

    line = clean_line(text)
    return "" if explain(line) or explain_names(line.split()) else line


class _Cleaner:
    """Cleans texts, and remembers what it removed."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.removed = 0

    def clean_text(self, text: str) -> str:
        if not text:
            return text
        visible, removed = neutralise(text)
        self.removed += removed
        if len(visible) < MIN_SECRET:
            return visible
        safe, kinds = redact.redact(visible)
        self.kinds.extend(kinds)
        return safe

    def clean_line(self, text: str) -> str:
        return " ".join(self.clean_text(text).split())

    def clean_metadata(self, text: str) -> str:
        line = self.clean_line(text)
        if not may_be_order(line):
            return line  # most are ids, dates and short names
        from memem.safety.injection.judge import explain, explain_names

        if not explain(line) and not explain_names((line, *line.split())):
            return line
        self.kinds.append(INSTRUCTION)
        return ""
