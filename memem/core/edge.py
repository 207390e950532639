"""What one memory is to another: the edges of the graph that the vault's memories are."""

from dataclasses import dataclass

from memem.core.memory import Memory

SAME_TOPIC, SUPPORTS, DEPENDS_ON, SUPERSEDES, CONTRADICTS = EDGE_KINDS = (
    "same_topic",
    "supports",
    "depends_on",
    "supersedes",
    "contradicts",
)
MUTUAL = (SAME_TOPIC, CONTRADICTS)
"""Kinds that hold both ways: the lesser id comes first, so that an edge is never there twice."""

LINK, RECONCILED, MEANING, KEY, PATH = ORIGINS = ("link", "reconciled", "meaning", "key", "path")
"""A link in a person's note or in any statement; a link that memem wrote; vectors; a rare key or path of both."""
STATED = (LINK, RECONCILED)
"""What the notes themselves say; the rest is found by comparing them."""


@dataclass(frozen=True, slots=True)
class Edge:
    """From the memory with one id to the memory with another: of which kind, how strong (0 to 1), found by what."""

    source: str
    target: str
    kind: str
    score: float
    origin: str


def edge(source: str, target: str, kind: str, score: float, origin: str) -> Edge:
    """An edge as it is kept: between two at most one of a kind that holds both ways."""
    if kind in MUTUAL and target < source:
        source, target = target, source
    return Edge(source, target, kind, round(score, 4), origin)


def compared(one: Memory, other: Memory, score: float, origin: str) -> Edge:
    """The edge between two memories that are about the same: what it is follows from what they are."""
    for source, target in ((one, other), (other, one)):
        for kind, sources, targets in _BY_KIND:
            if source.kind in sources and target.kind in targets:
                return edge(source.id, target.id, kind, score, origin)
    return edge(one.id, other.id, SAME_TOPIC, score, origin)


_BY_KIND = (
    (SUPPORTS, ("fact", "lesson"), ("decision", "convention")),
    (DEPENDS_ON, ("procedure",), ("decision", "convention", "fact")),
)
"""What is known bears out what was decided; what is done rests on both."""
