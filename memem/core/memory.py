"""The values that travel between packages: memories, entries, hits, slices, edges. Frozen, except the list of hits."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import PurePath, PurePosixPath
from typing import Any

GENERAL = "general"
"""The project of memories that belong to no project in particular."""
EVERY_PROJECT = "all"
"""As a scope: all projects."""

KINDS = ("decision", "convention", "preference", "fact", "lesson", "procedure")
QUARANTINED = "quarantined"
"""Kept, and shown to nobody but a person."""
STATUSES = ("active", "deprecated", "stale", QUARANTINED)

PINNED, CONVENTIONS, ORDINARY, ARCHIVE = LAYERS = (0, 1, 2, 3)

PINNED_MAX_NOTES = 10
PINNED_MAX_CHARACTERS = 2_000
MOST_HITS = 8
"""How many memories a slice shows at most."""

SLICE_HEADING = "# Active Memory Slice"
"""The first line of what is put before Claude, by which it is known again in a transcript."""

ID8 = 8
"""How many characters of an id people see and type."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory, as its note states it. `docs/architecture.md` describes every property."""

    id: str
    title: str
    body: str
    project: str = GENERAL
    kind: str = "fact"
    tags: tuple[str, ...] = ()
    layer: int = ORDINARY
    importance: int = 3
    keys: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()  # files, and `file#symbol`, that were there when it was written
    related: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    supersedes: str = ""
    superseded_by: str = ""
    created: str = ""
    updated: str = ""
    status: str = "active"
    stale_because: str = ""
    valid_from: str = ""
    valid_to: str = ""
    source_type: str = "user"
    source_session: str = ""
    source_turn: str = ""
    confidence: float = 1.0
    author: str = "human"
    evidence: str = ""

    @property
    def id8(self) -> str:
        return self.id[:ID8]


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory and the file that holds it."""

    memory: Memory
    path: str

    @property
    def id(self) -> str:
        return self.memory.id

    @property
    def link(self) -> str:
        """How other notes name it."""
        return f"[[{PurePosixPath(self.path).stem}]]"

    def is_named_by(self, link: str) -> bool:
        """Whether a link leads to this note: by its file's name, or by the beginning of the id that ends it."""
        target = link_target(link)
        return bool(target) and (f"[[{target}]]" == self.link or target.endswith(self.memory.id8))

    @property
    def title(self) -> str:
        return self.memory.title

    @property
    def project(self) -> str:
        return self.memory.project

    @property
    def body(self) -> str:
        return self.memory.body


@dataclass(frozen=True, slots=True)
class Hit(Entry):
    """A memory that answers a query: how well, by what (`cosine`, `keyword` or `both`), and through which words."""

    score: float
    source: str = "keyword"
    cosine: float | None = None  # of its best passage with the query; None when meaning had no part in it
    understood: bool = True  # whether the encoder reads query and note; else the cosine says little
    terms: tuple[str, ...] = ()
    coverage: float = 0.0  # how much of what the query asks for the memory holds, by rarity
    literal: bool = False  # whether it holds an identifier, path or number of the query
    named: bool = False  # whether one of those stands in so few memories that it names them
    about_file: float = 0.0  # 1 when it is about a file that the prompt names, less when one that its session was at
    passage: str = ""  # the part of a long statement that answers, where somebody looked for it
    helps: float | None = None  # how likely it helps with the prompt, from 0 to 1; None where nobody judged
    kept_out: str = ""  # why a slice that considered it does not show it
    degraded: str = ""  # why keywords answered alone, when they should not have


class Hits(list[Hit]):
    """Hits, best first; `degraded` is theirs, and is known too when there are none."""

    def __init__(self, hits: Iterable[Hit], degraded: str) -> None:
        super().__init__(hits)
        self.degraded = degraded


@dataclass(frozen=True, slots=True)
class Slice:
    """What is put before Claude: `text` is empty when there is nothing to say, and `reason` says why."""

    text: str
    hits: tuple[Hit, ...]
    reason: str
    project: str
    task_mode: str
    session_id: str = ""
    degraded: str = ""  # why keywords answered alone, when they should not have
    pinned: tuple[str, ...] = ()  # the ids of those that it shows because they are pinned
    runners_up: tuple[Hit, ...] = ()  # the best of those that it does not show

    @property
    def ids(self) -> tuple[str, ...]:
        """Of everything that it shows."""
        return (*(hit.id for hit in self.hits), *self.pinned)


def link_target(link: str) -> str:
    """The name of the note that a link leads to, without folder, heading and the words that are shown for it."""
    bare = link.strip().removeprefix("[[").removesuffix("]]")
    return PurePosixPath(bare.split("|")[0].split("#")[0].removesuffix(".md")).name


def id8_of(link: str) -> str:
    """The beginning of the id that a link to a note ends in; empty when there is no link."""
    return link_target(link)[-ID8:]


def classify_layer(kind: str, importance: int, tags: tuple[str, ...]) -> int:
    """The layer of a memory that names none: identity is pinned, conventions come next, the rest is ordinary."""
    if "identity" in tags:
        return PINNED
    if "archive" in tags:
        return ARCHIVE
    if kind == "convention" or (kind == "preference" and importance >= 4):
        return CONVENTIONS
    return ORDINARY


def jsonable(value: Any) -> Any:
    """A frozen value as plain JSON data, in the order of its fields; an entry's memory is laid open."""
    if isinstance(value, tuple | list):
        return [jsonable(item) for item in value]
    if isinstance(value, dict):
        return {key: jsonable(item) for key, item in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return str(value) if isinstance(value, PurePath) else value
    flat: dict[str, Any] = {}
    for field in fields(value):
        part = jsonable(getattr(value, field.name))
        flat |= part if field.name == "memory" else {field.name: part}
    return flat


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


def fingerprint(statement: str) -> str:
    """Equal for statements that differ in nothing but white space and Unicode form."""
    import hashlib

    text = " ".join(unicodedata.normalize("NFC", statement).split())
    return hashlib.sha256(text.encode()).hexdigest()[:32]
