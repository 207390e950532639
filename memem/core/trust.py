"""The trust in a memory, by its origin: the code that brings it sets its level, and it cannot claim more."""

from dataclasses import dataclass, replace

from memem.core.memory import CONVENTIONS, GENERAL, ORDINARY, PINNED, Memory, classify_layer

MOST_IMPORTANT = 5
OF_PERSONS = ("preference", "convention")  # kinds that Claude's words alone do not change


def is_rule(memory: Memory) -> bool:
    """Whether a memory is a preference or a convention, or is told to every session like one."""
    return memory.kind in OF_PERSONS or memory.layer < ORDINARY


@dataclass(frozen=True, slots=True)
class Trust:
    """The rights of one origin."""

    author: str
    source_type: str
    confidence: float
    importance: int
    own: bool = False  # a person wrote it
    proven: bool = False  # words of a person prove it
    rules: bool = False  # may state preferences and conventions
    pins: bool = False  # may be shown in every session
    rewrites: bool = False  # may change notes that memem wrote
    general: bool = False  # may state something about every project
    fallback_kind: str = "fact"  # the kind of a rule that it may not state

    def limited(self, memory: Memory) -> Memory:
        """Reduce a memory's claims to those that its origin allows."""
        kind = memory.kind if self.rules or memory.kind not in OF_PERSONS else self.fallback_kind
        # An invalid number is refused elsewhere.
        importance = self.importance if self.importance < memory.importance <= MOST_IMPORTANT else memory.importance
        layer = memory.layer
        if layer == PINNED and not self.pins:
            layer = classify_layer(kind, importance, ())
        if layer == CONVENTIONS and not self.rules:
            layer = ORDINARY
        return replace(
            memory,
            kind=kind,
            importance=importance,
            layer=layer,
            confidence=min(memory.confidence, self.confidence),
            author=self.author,
            source_type=self.source_type,
        )


# A person, by the command line, from Python, or in a note.
PERSON = Trust("human", "user", 1.0, 5, own=True, proven=True, rules=True, pins=True, rewrites=True, general=True)
# A model, from a person's words.
SPEECH = Trust("model", "mined", 0.9, 5, proven=True, rules=True, rewrites=True, general=True)
# A model, from a proposal of Claude's that a person chose or approved.
APPROVED = Trust("model", "mined", 0.8, 4, rewrites=True, fallback_kind="decision")
# A model that was asked to save something, or says so.
SAVED = Trust("model", "user", 1.0, 3, rules=True, rewrites=True, general=True)
# A model, from Claude's words.
PROSE = Trust("model", "mined", 0.6, 3, rewrites=True)
# A model, from the output of a tool, though Claude or a person repeated it.
OUTPUT = Trust("model", "mined", 0.3, 2)
# Files that a person chose, but did not necessarily write.
IMPORTED = Trust("model", "import", 1.0, 5, rules=True, general=True)


def may_overrule(newer: Memory, older: Memory) -> bool:
    """Whether a newer memory's origin lets it end an older one, as if the newer one had been mined later."""
    is_a_persons = newer.author == PERSON.author
    if not is_a_persons and (newer.source_type == IMPORTED.source_type or newer.confidence < PROSE.confidence):
        return False
    reaches = older.project != GENERAL or newer.project == GENERAL
    return reaches and (is_proven(newer) or not is_rule(older))


def is_proven(memory: Memory) -> bool:
    """Whether a person wrote a memory, or words of a person prove it."""
    is_speech = memory.source_type == SPEECH.source_type and memory.confidence >= SPEECH.confidence
    return memory.author == PERSON.author or is_speech
