"""Memory <-> markdown.

A note is frontmatter in Obsidian's own property types, then the statement, then, folded, the evidence:

    ---
    id: 3f2c9a1e-...
    ...
    ---

    Tokens are signed with RS256.

    > [!quote]- Evidence
    > let's move signing to RS256, the gateway cannot share a secret
"""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath

from memem.core.errors import NoteUnreadable, RewriteRefused
from memem.core.memory import GENERAL, ID8, Memory, classify_layer
from memem.core.project import normalise
from memem.vault import frontmatter
from memem.vault.frontmatter import Bare, Document, Value

SCHEMA_VERSION = 1
EVIDENCE = "> [!quote]- Evidence"
WRITTEN_HASH = "written_hash"

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{7,63}")
_EVIDENCE_LINE = re.compile(r"^> \[!quote\]-? Evidence[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_WRITTEN_HASH_LINE = re.compile(r"^written_hash:.*\n?", re.MULTILINE)
# What closes a heading is taken off afterwards: to look for it within the pattern would try every way to part a line.
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)", re.MULTILINE)
_UNFIT_FOR_NAMES = re.compile(r"[^\w]+")
_SLUG_BYTES = 80  # file systems stop at 255 bytes; sync services add their own suffixes


@dataclass(frozen=True, slots=True)
class Note:
    """A file of the vault as it was read: the memory in it and what a rewrite needs to know."""

    path: str  # inside `memem/`, with forward slashes
    memory: Memory
    document: Document
    digest: str  # of the file's bytes
    has_id: bool
    schema_version: int

    @property
    def touched_by_hand(self) -> bool:
        """Whether a person has changed the note since memem wrote it, or wrote it in the first place."""
        return self.document.one(WRITTEN_HASH) != _written_hash(self.document.text)


def digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def file_name(memory: Memory) -> str:
    """`<slug>-<id8>.md`, with letters of any script, since people read these names in Obsidian."""
    slug = _UNFIT_FOR_NAMES.sub("-", unicodedata.normalize("NFC", memory.title).lower()).strip("-_")[:_SLUG_BYTES]
    while len(slug.encode()) > _SLUG_BYTES:
        slug = slug[:-1]
    return f"{slug.strip('-_') or 'memory'}-{memory.id[:ID8].lower()}.md"


def new_text(memory: Memory) -> str:
    """The note of a memory that has none yet."""
    properties: dict[str, Value] = {"id": Bare(memory.id), "schema_version": Bare(SCHEMA_VERSION)}
    properties |= properties_of(memory)
    properties = {key: value for key, value in properties.items() if value or key in _ALWAYS}
    body = escape_evidence(memory.body)
    if memory.evidence:
        body += f"\n\n{_evidence_block(memory.evidence)}"
    return seal(frontmatter.render(properties | {WRITTEN_HASH: ""}, body))


def parse(path: str, data: bytes, derived_id: str) -> Note:
    """Read a note. `derived_id` stands in for a note a person wrote without one."""
    try:
        text = data.decode()
    except UnicodeDecodeError as problem:
        raise NoteUnreadable(f"it is not UTF-8 text (byte {problem.start})") from None
    document = frontmatter.parse(text)
    version = _whole(document, "schema_version", SCHEMA_VERSION, 1, 10_000)
    given = document.one("id")
    if given and not _ID.fullmatch(given):
        raise NoteUnreadable("property 'id' should be 8 to 64 letters, digits and hyphens")
    return Note(
        path=path,
        memory=_memory(path, document, given or derived_id),
        document=document,
        digest=digest(data),
        has_id=bool(given),
        schema_version=version,
    )


def rewrite_text(note: Note, memory: Memory) -> str:
    """The note's text after a change from `note.memory` to `memory`; everything else keeps its bytes."""
    try:
        return _rewritten(note, memory)
    except RewriteRefused as refusal:
        raise RewriteRefused(f"{note.path} is left as it is: {refusal}.") from None


def _rewritten(note: Note, memory: Memory) -> str:
    if note.schema_version > SCHEMA_VERSION:
        raise RewriteRefused("it was written by a newer memem; upgrade memem to change it")
    before, after = properties_of(note.memory), properties_of(memory)
    changes = {key: value for key, value in after.items() if before[key] != value}
    if not note.has_id:
        changes = {"id": Bare(memory.id), "schema_version": Bare(SCHEMA_VERSION), **changes}
    text = frontmatter.patch(note.document, changes)
    if memory.body != note.memory.body:
        text = _replace_statement(text, memory.body, has_own_sections=note.touched_by_hand)
    if memory.evidence != note.memory.evidence:
        text = _replace_evidence(text, memory.evidence)
    # What a person has touched is theirs from then on: it is never sealed again.
    return text if note.touched_by_hand else seal(text)


def properties_of(memory: Memory) -> dict[str, Value]:
    """The properties of a memory, in the order a note shows them, as they are written."""
    return {
        "title": memory.title,
        "project": memory.project,
        "kind": memory.kind,
        "tags": memory.tags,
        "layer": Bare(memory.layer),
        "importance": Bare(memory.importance),
        "keys": memory.keys,
        "paths": memory.paths,
        "anchors": memory.anchors,
        "related": memory.related,
        "contradicts": memory.contradicts,
        "supersedes": memory.supersedes,
        "superseded_by": memory.superseded_by,
        "created": Bare(memory.created),
        "updated": Bare(memory.updated),
        "status": memory.status,
        "stale_because": memory.stale_because,
        "valid_from": Bare(memory.valid_from),
        "valid_to": Bare(memory.valid_to),
        "source_type": memory.source_type,
        "source_session": memory.source_session,
        "source_turn": memory.source_turn,
        "confidence": Bare(f"{memory.confidence:g}"),
        "author": memory.author,
    }


_ALWAYS = frozenset(("id", "title", "tags"))


def _memory(path: str, document: Document, identity: str) -> Memory:
    kind = document.one("kind").strip().lower() or "fact"
    tags = _tags(document)
    importance = _whole(document, "importance", 3, 1, 5)
    statement, evidence = _split(document.body)
    return Memory(
        id=identity,
        title=_title(path, document, identity),
        body=statement,
        project=normalise(document.one("project") or GENERAL),
        kind=kind,
        tags=tags,
        layer=_whole(document, "layer", classify_layer(kind, importance, tags), 0, 3),
        importance=importance,
        keys=document.many("keys"),
        paths=document.many("paths"),
        anchors=document.many("anchors"),
        related=document.many("related"),
        contradicts=document.many("contradicts"),
        supersedes=document.one("supersedes"),
        superseded_by=document.one("superseded_by"),
        created=document.one("created"),
        updated=document.one("updated"),
        status=document.one("status").strip().lower() or "active",
        stale_because=document.one("stale_because"),
        valid_from=document.one("valid_from"),
        valid_to=document.one("valid_to"),
        source_type=document.one("source_type") or "user",
        source_session=document.one("source_session"),
        source_turn=document.one("source_turn"),
        confidence=_fraction(document, "confidence"),
        author=document.one("author") or "human",
        evidence=evidence,
    )


def _title(path: str, document: Document, identity: str) -> str:
    stem = PurePosixPath(path).stem.removesuffix(f"-{identity[:ID8]}")
    heading = _HEADING.search(document.body)
    return document.one("title") or (_without_closing(heading[1]) if heading else stem.replace("-", " "))


def _without_closing(heading: str) -> str:
    """A heading without the hashes that may end it."""
    bare = heading.rstrip()
    return bare.rstrip("#").rstrip() or bare


def _tags(document: Document) -> tuple[str, ...]:
    """Obsidian also takes `tags: a, b` and tags with their `#`."""
    parts = (part for item in document.many("tags") for part in re.split(r"[,\s]+", item))
    return tuple(part.removeprefix("#") for part in parts if part.strip("#"))


def _whole(document: Document, key: str, default: int, low: int, high: int) -> int:
    text = document.one(key).strip()
    if not text:
        return default
    if not re.fullmatch(r"[0-9]{1,5}", text) or not low <= int(text) <= high:
        raise NoteUnreadable(f"property {key!r} should be a whole number from {low} to {high}, not {text[:40]!r}")
    return int(text)


def _fraction(document: Document, key: str) -> float:
    text = document.one(key).strip() or "1"
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise NoteUnreadable(f"property {key!r} should be a number from 0 to 1, not {text[:40]!r}")
    return number


def _split(body: str) -> tuple[str, str]:
    """The statement (with whatever a person added below the evidence) and the evidence, line endings made ours."""
    body = body.replace("\r\n", "\n")
    start, end = _evidence_span(body)
    quote = "\n".join(line.removeprefix(">").removeprefix(" ") for line in body[start:end].splitlines()[1:])
    extra = body[end:].strip()
    statement = body[:start].strip()
    return (f"{statement}\n\n{extra}" if extra else statement), quote


def _evidence_span(body: str) -> tuple[int, int]:
    marker = _EVIDENCE_LINE.search(body)
    if marker is None:
        return len(body), len(body)
    end = marker.start()
    for line in body[marker.start() :].splitlines(keepends=True):
        if not line.startswith(">"):
            break
        end += len(line)
    return marker.start(), end


def escape_evidence(statement: str) -> str:
    """A statement cannot forge its own evidence."""
    return _EVIDENCE_LINE.sub(lambda match: match[0].replace("[", "\\[", 1), statement)


def _replace_statement(text: str, statement: str, *, has_own_sections: bool) -> str:
    document = frontmatter.parse(text)
    start, end = _evidence_span(document.body)
    if document.body[end:].strip():
        raise RewriteRefused("it has text below its evidence; change it in Obsidian")
    old = document.body[:start]
    if has_own_sections and _HEADING.search(old):
        raise RewriteRefused("it has sections of its own; change it in Obsidian")
    lead = old[: len(old) - len(old.lstrip())]
    tail = old[len(old.rstrip()) :] if old.strip() else ""
    fresh = escape_evidence(statement).replace("\n", document.newline)
    return text[: document.body_start] + lead + fresh + tail + document.body[start:]


def _evidence_block(evidence: str) -> str:
    return "\n".join([EVIDENCE, *(f"> {line}".rstrip() for line in evidence.splitlines())])


def _replace_evidence(text: str, evidence: str) -> str:
    document = frontmatter.parse(text)
    start, end = _evidence_span(document.body)
    before, after = document.body[:start].rstrip(), document.body[end:]
    block = f"\n\n{_evidence_block(evidence)}\n" if evidence else "\n"
    return text[: document.body_start] + before + block.replace("\n", document.newline) + after


def seal(text: str) -> str:
    """The text with `written_hash` set to its own hash; the line itself does not count."""
    return frontmatter.patch(frontmatter.parse(text), {WRITTEN_HASH: _written_hash(text)})


def _written_hash(text: str) -> str:
    """Line endings do not count either: sync services and git change them, people do not."""
    counted = _WRITTEN_HASH_LINE.sub("", text.replace("\r\n", "\n"), count=1)
    return digest(counted.encode())[:16]
