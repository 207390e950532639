"""How far a memory is trusted, by the way it came: said here, and nowhere else.

The level is given by the code that brings it, never by what is brought: whatever a note, an argument or an answer
claims of its author, its weight or its place is held to what its way allows.
"""

from dataclasses import dataclass, replace

from memem.core.memory import CONVENTIONS, ORDINARY, PINNED, Memory, classify_layer

MOST_IMPORTANT = 5
OF_PERSONS = ("preference", "convention")
"""What a person wants: what Claude said alone does not change it."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What one way into the memory may do.

    `own` is what a person writes themselves, `proven` what words of a person prove. `rules`: it may say what a person
    wants. `pins`: it may be in the context of every session. `rewrites`: notes that a machine wrote may change for it.
    """

    author: str
    source_type: str
    confidence: float
    importance: int
    own: bool = False
    proven: bool = False
    rules: bool = False
    pins: bool = False
    rewrites: bool = False

    def limited(self, memory: Memory) -> Memory:
        """The memory, claiming no more than its way allows."""
        kind = memory.kind if self.rules or memory.kind not in OF_PERSONS else "fact"
        # A number that is none, or beyond the scale, is for others to refuse.
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


PERSON = Trust("human", "user", 1.0, 5, own=True, proven=True, rules=True, pins=True, rewrites=True)
"""A person, by the command line, from Python, or in a note."""
SPEECH = Trust("model", "mined", 0.9, 5, proven=True, rules=True, rewrites=True)
"""A model, of what a person said."""
SAVED = Trust("model", "user", 1.0, 3, rules=True, rewrites=True)
"""A model that was asked to save something, or says that it was."""
PROSE = Trust("model", "mined", 0.6, 3, rewrites=True)
"""A model, of what Claude said."""
OUTPUT = Trust("model", "mined", 0.3, 2)
"""A model, of what a tool said, though Claude or a person repeated it."""
IMPORTED = Trust("model", "import", 1.0, 5, rules=True)
"""Files that a person chose: whoever they say wrote them, it was not this person. How much they weigh stays."""
