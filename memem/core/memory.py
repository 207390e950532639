"""Values shared by all packages: memories, entries, hits, slices, edges. Frozen, except the list of hits."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import PurePath, PurePosixPath
from typing import Any

GENERAL = "general"  # the project of memories that belong to no project in particular
EVERY_PROJECT = "all"  # as a scope

KINDS = ("decision", "convention", "preference", "fact", "lesson", "procedure")
QUARANTINED = "quarantined"  # stored, and shown only to a person
STATUSES = ("active", "deprecated", "stale", QUARANTINED)

PINNED, CONVENTIONS, ORDINARY, ARCHIVE = LAYERS = (0, 1, 2, 3)

PINNED_MAX_NOTES = 10
PINNED_MAX_CHARACTERS = 2_000
MOST_HITS = 8  # in a slice
SLICE_HEADING = "# Active Memory Slice"  # the first line of a slice, which marks it in a transcript
ID8 = 8  # characters of an id that people see and type


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
    anchors: tuple[str, ...] = ()  # files, and `file#symbol`, that existed when it was written
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
    """A memory and the path of its note."""

    memory: Memory
    path: str

    @property
    def id(self) -> str:
        return self.memory.id

    @property
    def link(self) -> str:
        return f"[[{PurePosixPath(self.path).stem}]]"

    def is_named_by(self, link: str) -> bool:
        """Check whether a link leads to this note, by its file's name or by the id at the end of it."""
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
    """A memory that matches a query; `source` is `cosine`, `keyword` or `both`."""

    score: float
    source: str = "keyword"
    cosine: float | None = None  # of the query and its best passage; None for a keyword search
    understood: bool = True  # False if the encoder cannot read the script of query or note
    terms: tuple[str, ...] = ()
    coverage: float = 0.0  # share of the query's words that it has, weighted by rarity
    literal: bool = False  # it has an identifier, path or number of the query
    named: bool = False  # one of those is rare enough to name it
    about_file: float = 0.0  # 1 for a file that the prompt names, less for one of its session
    passage: str = ""  # the matching part of a long statement
    helps: float | None = None  # probability that it helps with the prompt; None if not judged
    kept_out: str = ""  # why a slice leaves it out
    degraded: str = ""  # why only keywords were searched


class Hits(list[Hit]):
    """Hits, best first; `degraded` is set also when there are none."""

    def __init__(self, hits: Iterable[Hit], degraded: str) -> None:
        super().__init__(hits)
        self.degraded = degraded


@dataclass(frozen=True, slots=True)
class Slice:
    """The memories put before Claude; if `text` is empty, `reason` says why."""

    text: str
    hits: tuple[Hit, ...]
    reason: str
    project: str
    task_mode: str
    session_id: str = ""
    degraded: str = ""  # why only keywords were searched
    pinned: tuple[str, ...] = ()  # ids of pinned memories that it shows
    runners_up: tuple[Hit, ...] = ()  # the best hits that it leaves out

    @property
    def ids(self) -> tuple[str, ...]:
        return (*(hit.id for hit in self.hits), *self.pinned)


def link_target(link: str) -> str:
    """Return the name of the note that a link leads to, without folder, heading and alias."""
    bare = link.strip().removeprefix("[[").removesuffix("]]")
    return PurePosixPath(bare.split("|")[0].split("#")[0].removesuffix(".md")).name


def id8_of(link: str) -> str:
    """Return the id prefix at the end of a link; empty for an empty link."""
    return link_target(link)[-ID8:]


def classify_layer(kind: str, importance: int, tags: tuple[str, ...]) -> int:
    """Choose the layer of a memory that states none."""
    if "identity" in tags:
        return PINNED
    if "archive" in tags:
        return ARCHIVE
    if kind == "convention" or (kind == "preference" and importance >= 4):
        return CONVENTIONS
    return ORDINARY


def jsonable(value: Any) -> Any:
    """Turn a value into plain JSON data, in the order of its fields; the fields of an entry's memory become its own."""
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


EDGE_KINDS = ("same_topic", "supports", "depends_on", "supersedes", "contradicts")
SAME_TOPIC, SUPPORTS, DEPENDS_ON, SUPERSEDES, CONTRADICTS = EDGE_KINDS
MUTUAL = (SAME_TOPIC, CONTRADICTS)  # without a direction: the lesser id comes first, so that no edge is there twice

# Origins of an edge: a link that a person wrote, one that memem wrote, vectors, a shared rare key or path.
LINK, RECONCILED, MEANING, KEY, PATH = ("link", "reconciled", "meaning", "key", "path")
STATED = (LINK, RECONCILED)  # by the notes themselves


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation from one memory's id to another's; its score is from 0 to 1."""

    source: str
    target: str
    kind: str
    score: float
    origin: str


def edge(source: str, target: str, kind: str, score: float, origin: str) -> Edge:
    """Make an edge; the ids of a mutual one are put in order."""
    if kind in MUTUAL and target < source:
        source, target = target, source
    return Edge(source, target, kind, round(score, 4), origin)


def relate_similar(one: Memory, other: Memory, score: float, origin: str) -> Edge:
    """Make the edge between two similar memories; its kind follows from theirs."""
    for source, target in ((one, other), (other, one)):
        for kind, sources, targets in _BY_KIND:
            if source.kind in sources and target.kind in targets:
                return edge(source.id, target.id, kind, score, origin)
    return edge(one.id, other.id, SAME_TOPIC, score, origin)


_BY_KIND = (
    (SUPPORTS, ("fact", "lesson"), ("decision", "convention")),
    (DEPENDS_ON, ("procedure",), ("decision", "convention", "fact")),
)


def fingerprint(statement: str) -> str:
    """Hash a statement, regardless of white space and Unicode form."""
    import hashlib

    text = " ".join(unicodedata.normalize("NFC", statement).split())
    return hashlib.sha256(text.encode()).hexdigest()[:32]
