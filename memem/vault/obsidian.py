"""Check a note for Obsidian's conventions: types of properties, lists where lists belong, links that resolve."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from memem.core.errors import NoteUnreadable
from memem.vault import frontmatter
from memem.vault.frontmatter import Document

TEXT, LIST, NUMBER, CHECKBOX, EMPTY = "text", "list", "number", "checkbox", "empty"
DATE, TIME = "date", "date and time"
_A_DATE = (DATE, TIME)
TYPES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("id", "title", "project", "kind", "status", "stale_because", "author", "written_hash"), (TEXT,)),
    **dict.fromkeys(("source_type", "source_session", "source_turn", "review_because"), (TEXT,)),
    **dict.fromkeys(("supersedes", "superseded_by"), (TEXT,)),
    **dict.fromkeys(("tags", "aliases", "cssclasses", "keys", "paths", "anchors", "related", "contradicts"), (LIST,)),
    **dict.fromkeys(("schema_version", "layer", "importance", "confidence"), (NUMBER,)),
    **dict.fromkeys(("created", "updated", "valid_from", "valid_to"), _A_DATE),
}  # of the properties that memem writes, and of Obsidian's own
RELATIONS = ("related", "contradicts", "supersedes", "superseded_by")
_FORMER = {"tag": "tags", "alias": "aliases", "cssclass": "cssclasses"}
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|0o[0-7]+|0x[0-9a-fA-F]+")
_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_NOTHING = re.compile(r"~|null|Null|NULL|")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[-+]\d\d:?\d\d)?")
_QUOTED_LINK = re.compile(r"\[\[[^\[\]|#^\n]+(?:#[^\[\]|\n]+)?(?:\|[^\[\]\n]+)?\]\]")
_BAD_TAG = re.compile(r"[^\w/-]|\A\d+\Z|\A\Z")
_NOT_PROSE = re.compile(
    r"^(?P<fence>`{3,}|~{3,}).*?(?:^(?P=fence)|\Z)|(?<!`)(?P<ticks>`+)(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`)"
    r"|%%.*?%%|<!--.*?(?:-->|\Z)|\\[\[\]()]",
    re.MULTILINE | re.DOTALL,
)
_WIKILINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_MARKDOWN_LINK = re.compile(r"\[[^\[\]\n]*\]\(\s*<?([^()\s<>]+)(?:>|(?=[\s)]))[^()\n]*\)")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")


@dataclass(frozen=True, slots=True)
class Violation:
    """A problem, and the link or property it is about."""

    problem: str
    about: str = ""


class VaultNames:
    """The files of a vault as links name them: by name, or by the end of their path."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._known: set[str] = set()
        for path in paths:
            parts = path.removesuffix(".md").lower().split("/")
            self._known |= {"/".join(parts[start:]) for start in range(len(parts))}

    def has(self, target: str) -> bool:
        return target.strip().strip("/").removesuffix(".md").lower() in self._known


def find_violations(text: str, names: VaultNames) -> list[Violation]:
    try:
        return check_document(frontmatter.parse(text), names)
    except NoteUnreadable as problem:
        return [Violation(f"has properties that cannot be read: {problem}")]


def check_document(document: Document, names: VaultNames) -> list[Violation]:
    return [*_of_properties(document), *_of_links(document, names)]


def property_types(document: Document) -> dict[str, str]:
    return {name: _seen(name, entry.node) for name, entry in document.entries.items()}


def find_type_clashes(notes: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, Violation]]:
    """Find properties with several types in these notes (`property_types` by path): a note for each unusual type."""
    seen: dict[str, dict[str, list[str]]] = {}
    for path, types in notes.items():
        for name, kind in types.items():
            if kind != EMPTY:
                seen.setdefault(name, {}).setdefault(kind, []).append(path)
    for name, kinds in seen.items():
        usual = max(kinds, key=lambda kind: len(kinds[kind]))
        for kind in [each for each in kinds if each != usual]:
            problem = f"has `{name}` with the type {kind}, but its type is {usual} in {kinds[usual][0]}"
            yield kinds[kind][0], Violation(problem, f"`{name}`")


def _of_properties(document: Document) -> Iterator[Violation]:
    for name, entry in document.entries.items():
        kind, about = _seen(name, entry.node), f"`{name}`"
        if isinstance(entry.value, dict):
            nested = "contains nested properties: Obsidian shows it as text that cannot be edited"
            yield Violation(f"has {about}, which {nested}", about)
        elif isinstance(entry.value, list) and any(not isinstance(item, str) for item in entry.value):
            nested = 'contains a list inside a list: a link must be in quotes, as in "[[note]]"'
            yield Violation(f"has {about}, which {nested}", about)
        elif name in _FORMER:
            advice = f"which Obsidian no longer reads: it is now called `{_FORMER[name]}` and is a list"
            yield Violation(f"has {about}, {advice}", about)
        elif kind not in (EMPTY, *TYPES.get(name, (kind,))):
            yield Violation(
                f"has {about} with the type {kind}, but its type is {' or '.join(TYPES[name])} everywhere else", about
            )
        elif name == "tags" and (bad := [tag for tag in entry.value if _BAD_TAG.search(tag.removeprefix("#"))]):
            yield Violation(f"has the tag {bad[0]!r}, which Obsidian does not accept", about)
        elif name in RELATIONS and (bad := [link for link in _texts(entry.value) if not _QUOTED_LINK.fullmatch(link)]):
            yield Violation(f'has {bad[0][:60]!r} in {about}, which is not a link such as "[[note]]"', about)


def _of_links(document: Document, names: VaultNames) -> Iterator[Violation]:
    for name in RELATIONS:
        entry = document.entries.get(name)
        for link in _texts(entry.value) if entry else ():
            if _QUOTED_LINK.fullmatch(link) and not names.has(_target(link[2:-2])):
                yield _dangling(f"in `{name}` ", link)
    prose = _NOT_PROSE.sub(" ", document.body)
    for found in _WIKILINK.finditer(prose):
        target = _target(found[1])
        if target and not names.has(target):
            yield _dangling("", found[0])
    for found in _MARKDOWN_LINK.finditer(prose):
        target = unquote(found[1]).partition("#")[0]
        if target and not _ADDRESS.match(found[1]) and not names.has(target.removeprefix("./")):
            yield _dangling("", found[1])


def _dangling(by: str, link: str) -> Violation:
    return Violation(f"links {by}to {link[:120]}, which Obsidian cannot find", link)


def _target(link: str) -> str:
    return link.partition("|")[0].removesuffix("\\").partition("#")[0].partition("^")[0].strip()


def _texts(value: Any) -> list[str]:
    return [text for text in (value if isinstance(value, list) else [value]) if text and isinstance(text, str)]


def _seen(name: str, node: Any) -> str:
    """The type by the form of a value and, where it is not quoted, by YAML's rules."""
    if node.id != "scalar":
        return LIST
    text = node.value.strip()
    if not node.style:  # neither quoted nor a block
        for form, kind in ((_NOTHING, EMPTY), (_BOOLEAN, CHECKBOX), (_NUMBER, NUMBER)):
            if form.fullmatch(text):
                return kind
    if TEXT in TYPES.get(name, ()):  # a date in a text property is text
        return TEXT
    return DATE if _DAY.fullmatch(text) else TIME if _MOMENT.fullmatch(text) else TEXT
