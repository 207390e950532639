"""The one gate: every text passes it on its way into the vault, and again on its way out of a hand-edited note."""

from dataclasses import dataclass, replace

from memem.core.errors import InputError, SecretOnly
from memem.core.memory import Memory
from memem.gate import invisible, secrets

MAX_BODY = 100_000
MAX_TITLE = 300
MAX_ITEMS = 50
MAX_ITEM = 300
SHORTEST_SECRET = 8
"""`pw: abcd`: the many short values of a note hold no secret and need no looking through."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A memory that may pass, and what was taken out of it."""

    memory: Memory
    redacted: tuple[str, ...] = ()
    neutralised: int = 0


def judge(memory: Memory) -> Verdict:
    """Clean a memory that somebody wants to keep; refuse one that is empty or too large."""
    if not memory.body.strip():
        raise InputError("There is nothing to remember: the text is empty.")
    if len(memory.body) > MAX_BODY:
        raise InputError(
            f"The text has {len(memory.body):,} characters; a memory holds at most {MAX_BODY:,}. "
            "Save the conclusion, or split it."
        )
    if len(memory.title) > MAX_TITLE:
        raise InputError(f"The title has {len(memory.title):,} characters; use at most {MAX_TITLE}.")
    for name, items in (("tags", memory.tags), ("keys", memory.keys), ("paths", memory.paths)):
        if len(items) > MAX_ITEMS or any(len(item) > MAX_ITEM for item in items):
            raise InputError(f"Too many or too long {name}: at most {MAX_ITEMS} of {MAX_ITEM} characters each.")
    verdict = cleanse(memory)
    if not verdict.memory.body.strip():
        raise InputError("There is nothing to remember: the text holds only invisible characters.")
    if _says_nothing(verdict):
        raise SecretOnly("The text is nothing but a secret. memem keeps no secrets; nothing was saved.")
    return verdict


def cleanse(memory: Memory) -> Verdict:
    """The memory without secrets and invisible tricks. Also what a note edited by hand shows to others."""
    found: list[str] = []
    count = 0

    def clean(text: str) -> str:
        nonlocal count
        if not text:
            return text
        visible, removed = invisible.neutralise(text)
        count += removed
        if len(visible) < SHORTEST_SECRET:
            return visible
        safe, kinds = secrets.redact(visible)
        found.extend(kinds)
        return safe

    def line(text: str) -> str:
        return " ".join(clean(text).split())

    def lines(items: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(item for item in map(line, items) if item)

    cleaned = replace(
        memory,
        title=line(memory.title),
        body=clean(memory.body).strip(),
        evidence=clean(memory.evidence),
        kind=line(memory.kind),
        status=line(memory.status),
        tags=lines(memory.tags),
        keys=lines(memory.keys),
        paths=lines(memory.paths),
        created=line(memory.created),
        updated=line(memory.updated),
    )
    return Verdict(cleaned, tuple(dict.fromkeys(found)), count)


def _says_nothing(verdict: Verdict) -> bool:
    rest = verdict.memory.body
    for kind in verdict.redacted:
        rest = rest.replace(f"[redacted: {kind}]", "")
    return bool(verdict.redacted) and not any(character.isalnum() for character in rest)
