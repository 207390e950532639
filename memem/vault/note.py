"""Memory <-> markdown.

A note is frontmatter in Obsidian's own property types, then the statement, then, folded, the evidence:

    ---
    title: Tokens are signed with RS256
    project: shop-api
    ...
    id: 3f2c9a1e-...
    ---

    Tokens are signed with RS256.

    > [!quote]- Evidence
    > let's move signing to RS256, the gateway cannot share a secret
"""

import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from memem.core.errors import NoteUnreadable, RewriteRefused
from memem.core.memory import GENERAL, ID8, QUARANTINED, Memory, classify_layer
from memem.core.project import normalise
from memem.vault import frontmatter
from memem.vault.frontmatter import Bare, Document, Value

SCHEMA_VERSION = 1
_PROPERTIES = (  # in the order of a new note: what people read comes before what only memem needs
    *("title", "project", "kind", "tags", "status", "stale_because", "valid_from", "valid_to", "importance", "layer"),
    *("related", "contradicts", "supersedes", "superseded_by", "paths", "keys", "created", "updated"),
    *("author", "confidence", "source_type", "source_session", "source_turn", "anchors"),
)
_BARE = frozenset(("layer", "importance", "created", "updated", "valid_from", "valid_to", "confidence"))
_ALWAYS = frozenset(("id", "title", "tags"))
_LISTS = ("keys", "paths", "anchors", "related", "contradicts")
_TEXTS = (
    *("supersedes", "superseded_by", "created", "updated", "stale_because", "valid_from", "valid_to"),
    *("source_session", "source_turn"),
)
EVIDENCE = "> [!quote]- Evidence"
ALIASES = "aliases"  # Obsidian finds a note by these; not part of the memory, since a person may add to them
_ALIASES_FOLLOW = "kind"  # in a new note
WRITTEN_HASH = "written_hash"
REVIEW_REASON = "review_because"  # only in proposals

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{7,63}")
_EVIDENCE_LINE = re.compile(r"^> \[!quote\]-? Evidence[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_REVIEW_REASON_LINE = re.compile(rf"^{REVIEW_REASON}:.*\r?\n", re.MULTILINE)
_WRITTEN_HASH_LINE = re.compile(r"^written_hash:.*\n?", re.MULTILINE)
# The hashes that may close a heading are removed afterwards: in the pattern they would cause backtracking.
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)", re.MULTILINE)
_UNFIT_FOR_NAMES = re.compile(r"[^\w]+")
_SLUG_BYTES = 80  # file systems stop at 255 bytes; sync services add their own suffixes


@dataclass(frozen=True, slots=True)
class Note:
    """A file of the vault as it was read: its memory, and what a rewrite needs."""

    path: str  # inside `memem/`, with forward slashes
    memory: Memory
    document: Document
    digest: str  # of the file's bytes
    has_id: bool
    schema_version: int

    @property
    def touched_by_hand(self) -> bool:
        """Whether a person wrote the note, or has changed it since memem wrote it."""
        return self.document.one(WRITTEN_HASH) != _written_hash(self.document.text)

    @property
    def is_a_machines(self) -> bool:
        """Whether a machine wrote the note, and no person has changed it since."""
        return self.memory.author == "model" and not self.touched_by_hand

    @property
    def review_reason(self) -> str:
        return self.document.one(REVIEW_REASON)


def digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def file_name(memory: Memory) -> str:
    """Make the name `<slug>-<id8>.md`, with letters of any script."""
    slug = _UNFIT_FOR_NAMES.sub("-", unicodedata.normalize("NFC", memory.title).lower()).strip("-_")[:_SLUG_BYTES]
    while len(slug.encode()) > _SLUG_BYTES:
        slug = slug[:-1]
    return f"{slug.strip('-_') or 'memory'}-{memory.id[:ID8].lower()}.md"


def new_text(memory: Memory) -> str:
    properties: dict[str, Value] = {}
    for name, value in properties_of(memory).items():
        properties[name] = value
        if name == _ALIASES_FOLLOW:
            properties[ALIASES] = (memory.title,) if memory.title else ()
    properties |= {"id": Bare(memory.id), "schema_version": Bare(SCHEMA_VERSION)}
    properties = {key: value for key, value in properties.items() if value or key in _ALWAYS}
    body = escape_evidence(memory.body)
    if memory.evidence:
        body += f"\n\n{_evidence_block(memory.evidence)}"
    return seal(frontmatter.render(properties | {WRITTEN_HASH: ""}, body))


def proposal_text(memory: Memory, because: str) -> str:
    """Render the note of a proposal: it is not recalled, and states why a person has to decide."""
    text = new_text(replace(memory, status=QUARANTINED))
    return seal(frontmatter.patch(frontmatter.parse(text), {REVIEW_REASON: because}))


def accepted_text(proposal: Note) -> str:
    """Turn a proposal into an active note, without the reason, everything else unchanged."""
    text = rewrite_text(proposal, replace(proposal.memory, status="active"))
    head = frontmatter.parse(text).body_start
    text = _REVIEW_REASON_LINE.sub("", text[:head], count=1) + text[head:]
    return text if proposal.touched_by_hand else seal(text)


def parse(path: str, data: bytes, derived_id: str) -> Note:
    """Parse a note; one without an id gets `derived_id`."""
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
    """Change the text from `note.memory` to `memory`; everything else keeps its bytes."""
    refused = f"{note.path} was left unchanged: "
    if note.schema_version > SCHEMA_VERSION:
        raise RewriteRefused(f"{refused}it was written by a newer version of memem; upgrade memem to change it.")
    before, after = properties_of(note.memory), properties_of(memory)
    changes = {key: value for key, value in after.items() if before[key] != value}
    changes |= _renew_aliases(note, memory.title)
    if not note.has_id:
        changes = {"id": Bare(memory.id), "schema_version": Bare(SCHEMA_VERSION), **changes}
    try:
        text = frontmatter.patch(note.document, changes)
        if memory.body != note.memory.body:
            text = _replace_statement(text, memory.body, has_own_sections=note.touched_by_hand)
        if memory.evidence != note.memory.evidence:
            text = _replace_evidence(text, memory.evidence)
        # A note that a person has edited is theirs from then on: it is never sealed again.
        return text if note.touched_by_hand else seal(text)
    except RewriteRefused as refusal:
        raise RewriteRefused(f"{refused}{refusal}.") from None


def _renew_aliases(note: Note, title: str) -> dict[str, Value]:
    """The aliases with the new title in place of the old one, if that is among them."""
    old = note.memory.title
    with suppress(NoteUnreadable):  # not a list: a person's own
        aliases = note.document.many(ALIASES)
        if title != old and old in aliases:
            renewed = (title if alias == old else alias for alias in aliases)
            return {ALIASES: tuple(dict.fromkeys(filter(None, renewed)))}
    return {}


def properties_of(memory: Memory) -> dict[str, Value]:
    """The properties of a memory, in the order of a new note, as they are written."""
    values = {name: getattr(memory, name) for name in _PROPERTIES}
    values["confidence"] = f"{memory.confidence:g}"
    return {name: Bare(value) if name in _BARE else value for name, value in values.items()}


def _memory(path: str, document: Document, identity: str) -> Memory:
    values: dict[str, Any] = {name: document.one(name) for name in _TEXTS} | {
        name: document.many(name) for name in _LISTS
    }
    kind = document.one("kind").strip().lower() or "fact"
    # Obsidian also allows `tags: a, b` and a leading `#`.
    parts = (part for item in document.many("tags") for part in re.split(r"[,\s]+", item))
    tags = tuple(part.removeprefix("#") for part in parts if part.strip("#"))
    importance = _whole(document, "importance", 3, 1, 5)
    statement, evidence = _split(document.body)
    return Memory(
        **values,
        id=identity,
        title=_title(path, document, identity),
        body=statement,
        project=normalise(document.one("project") or GENERAL),
        kind=kind,
        tags=tags,
        layer=_whole(document, "layer", classify_layer(kind, importance, tags), 0, 3),
        importance=importance,
        status=document.one("status").strip().lower() or "active",
        source_type=document.one("source_type") or "user",
        confidence=_confidence(document.one("confidence").strip() or "1"),
        author=document.one("author") or "human",
        evidence=evidence,
    )


def _title(path: str, document: Document, identity: str) -> str:
    stem = PurePosixPath(path).stem.removesuffix(f"-{identity[:ID8]}")
    heading = _HEADING.search(document.body)
    text = heading[1].rstrip() if heading else stem.replace("-", " ")
    return document.one("title") or (text.rstrip("#").rstrip() if heading else "") or text


def _whole(document: Document, key: str, default: int, low: int, high: int) -> int:
    text = document.one(key).strip()
    if not text:
        return default
    if not re.fullmatch(r"[0-9]{1,5}", text) or not low <= int(text) <= high:
        raise NoteUnreadable(f"property {key!r} should be a whole number from {low} to {high}, not {text[:40]!r}")
    return int(text)


def _confidence(text: str) -> float:
    with suppress(ValueError):
        if 0 <= float(text) <= 1:
            return float(text)
    raise NoteUnreadable(f"property 'confidence' should be a number from 0 to 1, not {text[:40]!r}")


def _split(body: str) -> tuple[str, str]:
    """Split a body into the statement, with text added below the evidence, and the evidence."""
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
    """Keep a statement from forging its own evidence."""
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
    """Set `written_hash` to the hash of the text without that line."""
    return frontmatter.patch(frontmatter.parse(text), {WRITTEN_HASH: _written_hash(text)})


def _written_hash(text: str) -> str:
    """Hash a text without its line endings, which sync services and git change."""
    counted = _WRITTEN_HASH_LINE.sub("", text.replace("\r\n", "\n"), count=1)
    return digest(counted.encode())[:16]
