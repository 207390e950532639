"""A note's properties, read as text and changed in place.

PyYAML's composer gives the position of each value and converts nothing to a number or a date (`007` stays `007`). A
change replaces only the characters of changed values; the result is parsed again to prove that, or the change refused.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from memem.core.errors import NoteUnreadable, RewriteRefused

Value = str | tuple[str, ...]

MAX_VALUES = 20_000
MAX_DEPTH = 50
SHALLOW_CHARACTERS = 4_000  # too few to nest deep enough to overflow the composer's stack
_NESTING = {"SequenceStartEvent": 1, "MappingStartEvent": 1, "SequenceEndEvent": -1, "MappingEndEvent": -1}
_TOO_MUCH = "the frontmatter is nested too deeply or too large"

_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
# Line breaks to YAML, or not allowed in it; JSON leaves them as they are.
_YAML_SPECIAL = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
_PLAIN = re.compile(r"[A-Za-z_/][\w./+@-]*", re.ASCII)
_YAML_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))


class Bare(str):
    """A number or a date, written without quotes so that Obsidian sees that type."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    value: Any  # str, list or dict of the same
    node: Any  # PyYAML's; its `id` is scalar, sequence or mapping
    key_end: int


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file: its whole text, its properties, and where the body starts."""

    text: str
    body_start: int
    head_start: int
    head_end: int
    entries: Mapping[str, _Entry]

    @property
    def body(self) -> str:
        return self.text[self.body_start :]

    @property
    def newline(self) -> str:
        end = self.text.find("\n")
        return "\r\n" if end > 0 and self.text[end - 1] == "\r" else "\n"

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def one(self, key: str) -> str:
        """Return a property as text; empty when it is absent."""
        entry = self.entries.get(key)
        if entry is None:
            return ""
        link = _unquoted_link(entry.value)
        if isinstance(entry.value, str) or link:
            return link or str(entry.value)
        raise NoteUnreadable(f"property {key!r} should be one value")

    def many(self, key: str) -> tuple[str, ...]:
        """Return a property as a list of texts; a single value is a list of one."""
        entry = self.entries.get(key)
        if entry is None or entry.value == "":
            return ()
        link = _unquoted_link(entry.value)
        if isinstance(entry.value, str) or link:
            return (link or str(entry.value),)
        if isinstance(entry.value, list):
            items = [_unquoted_link(item) or item for item in entry.value]
            if all(isinstance(item, str) for item in items):
                return tuple(item for item in items if item)
        raise NoteUnreadable(f"property {key!r} should be a list of strings")


def parse(text: str) -> Document:
    """Split a file into properties and body. A file without frontmatter is all body."""
    opening = _OPENING.match(text)
    if opening is None:
        start = 1 if text.startswith("\ufeff") else 0
        return Document(text, start, start, start, {})
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        raise NoteUnreadable("the frontmatter has no closing --- line")
    head = text[opening.end() : closing.start()]
    entries = _compose(head, opening.end())
    return Document(text, closing.end(), opening.end(), closing.start(), entries)


def patch(document: Document, changes: Mapping[str, Value]) -> str:
    """Change these properties in the text and leave every other character as it is."""
    wanted = {key: value for key, value in changes.items() if not _holds(document, key, value)}
    if not wanted:
        return document.text
    edits = [_edit(document, key, value) for key, value in wanted.items() if key in document]
    text = document.text
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    added = [(key, value) for key, value in wanted.items() if key not in document]
    if added:
        grown = sum(len(replacement) - (end - start) for start, end, replacement in edits)
        at, newline = document.head_end + grown, document.newline
        lines = "".join(f"{key}: {inline(value)}".rstrip() + newline for key, value in added)
        if document.head_start == document.body_start:  # no frontmatter yet
            lines = f"---{newline}{lines}---{newline}"
        text = text[:at] + lines + text[at:]
    _prove(document, text, wanted)
    return text


def render(properties: Mapping[str, Value], body: str) -> str:
    """Render a new file: properties in the given order, a blank line, the body."""
    lines = [f"{key}: {inline(value)}".rstrip() for key, value in properties.items()]
    return "\n".join(["---", *lines, "---", "", body.rstrip("\n"), ""])


def inline(value: Value) -> str:
    """Render a value on one line, quoted where YAML or Obsidian would not read it as text."""
    if isinstance(value, tuple):
        return "[" + ", ".join(_scalar(item) or '""' for item in value) + "]"
    return _scalar(value)


def _compose(head: str, offset: int) -> dict[str, _Entry]:
    import yaml  # not needed by a search that finds every note unchanged

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        if len(head) > SHALLOW_CHARACTERS:
            kinds = (type(event).__name__ for event in yaml.parse(head, Loader=loader))
            if any(depth > MAX_DEPTH for depth in accumulate(_NESTING.get(kind, 0) for kind in kinds)):
                raise NoteUnreadable(_TOO_MUCH)
        root = yaml.compose(head, Loader=loader)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        place = f" on line {mark.line + 2}" if mark else ""
        what = getattr(problem, "problem", None) or "it contains a character that YAML does not allow"
        raise NoteUnreadable(f"the frontmatter is not valid YAML{place}: {what}") from None
    except (RecursionError, ValueError):
        raise NoteUnreadable(_TOO_MUCH) from None
    if root is None:
        return {}
    if root.id != "mapping":
        raise NoteUnreadable("the frontmatter is not a list of properties")
    entries: dict[str, _Entry] = {}
    budget = iter(range(MAX_VALUES))
    for key, node in root.value:
        if key.id != "scalar":
            raise NoteUnreadable("the frontmatter has a property whose name is not text")
        if key.value in entries:
            raise NoteUnreadable(f"property {key.value!r} occurs twice")
        entries[key.value] = _Entry(_plain(node, budget), node, key.end_mark.index + offset)
    return entries


def _plain(node: Any, budget: Iterator[int], depth: int = 0) -> Any:
    """Convert a node to lists and texts. The budget stops aliases that expand to billions of values."""
    if depth > MAX_DEPTH or next(budget, None) is None:
        raise NoteUnreadable(_TOO_MUCH)
    if node.id == "scalar":
        return node.value
    if node.id == "sequence":
        return [_plain(item, budget, depth + 1) for item in node.value]
    pairs = [(_plain(key, budget, depth + 1), _plain(value, budget, depth + 1)) for key, value in node.value]
    return {str(key): value for key, value in pairs}


def _unquoted_link(value: Any) -> str:
    """Read `[[note]]` without quotes, which is a list in a list to YAML, as the link it means."""
    match value:
        case [[str(target)]]:
            return f"[[{target}]]"
    return ""


def _holds(document: Document, key: str, value: Value) -> bool:
    if key not in document:
        return False
    try:
        held = document.many(key) if isinstance(value, tuple) else document.one(key)
    except NoteUnreadable:
        return False
    return held == value


def _edit(document: Document, key: str, value: Value) -> tuple[int, int, str]:
    """Return the span of the old value and its replacement."""
    entry = document.entries[key]
    text = document.text
    start = entry.node.start_mark.index + document.head_start
    if start < entry.key_end:
        raise RewriteRefused(f"property {key!r} is a YAML alias; change it in Obsidian")
    if entry.node.id == "mapping":
        raise RewriteRefused(f"property {key!r} contains nested properties; change it in Obsidian")
    end = _content_end(text, entry.node, document.head_start)
    block = entry.node.id == "sequence" and not entry.node.flow_style
    if _has_comment(text, entry.node, document.head_start, end):
        raise RewriteRefused(f"property {key!r} has comments within its value; change it in Obsidian")
    if block and isinstance(value, tuple) and value:
        indent = text[text.rfind("\n", 0, start) + 1 : start]
        lines = [f"- {_scalar(item) or chr(34) * 2}" for item in value]
        return start, end, (document.newline + indent).join(lines)
    if block or getattr(entry.node, "style", None) in ("|", ">"):
        gap = text[entry.key_end : start]
        if gap.strip() != ":":
            raise RewriteRefused(f"property {key!r} has a comment after its name; change it in Obsidian")
        return entry.key_end, end, f": {inline(value)}".rstrip()
    space = " " if text[start - 1] == ":" else ""
    return start, end, space + inline(value)


def _content_end(text: str, node: Any, offset: int) -> int:
    """Find the end of a value without the comments and blank lines that YAML adds to a block."""
    if node.id == "sequence" and not node.flow_style:
        return max(_content_end(text, item, offset) for item in node.value)
    start: int = node.start_mark.index + offset
    end: int = node.end_mark.index + offset
    return start + len(text[start:end].rstrip()) if end > start else end


def _has_comment(text: str, node: Any, offset: int, end: int) -> bool:
    start = node.start_mark.index + offset
    if node.id == "scalar":
        return node.style in ("|", ">") and "#" in text[start:end].splitlines()[0]
    gaps, position = [], start
    for item in sorted(node.value, key=lambda each: each.start_mark.index):
        gaps.append(text[position : item.start_mark.index + offset])
        position = _content_end(text, item, offset)
    gaps.append(text[position:end])
    return any("#" in gap for gap in gaps)


def _prove(document: Document, text: str, wanted: Mapping[str, Value]) -> None:
    try:
        after = parse(text)
    except NoteUnreadable as problem:
        raise RewriteRefused(f"the change would break the note ({problem}); change it in Obsidian") from None
    kept = {key: entry.value for key, entry in document.entries.items() if key not in wanted}
    now = {key: entry.value for key, entry in after.entries.items() if key not in wanted}
    if kept != now or after.body != document.body or not all(_holds(after, *item) for item in wanted.items()):
        raise RewriteRefused("the change would touch other parts of the note; change it in Obsidian")


def _scalar(text: str) -> str:
    if not text:
        return ""
    if isinstance(text, Bare) or (_PLAIN.fullmatch(text) and text.lower() not in _YAML_WORDS):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _YAML_SPECIAL.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)
