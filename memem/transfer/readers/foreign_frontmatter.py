"""Frontmatter of Markdown files from other programs: YAML, TOML or JSON, with every value read as text."""

import re
from typing import Any

import frontmatter
from frontmatter.default_handlers import BaseHandler, JSONHandler, YAMLHandler

from memem.core.errors import NoteUnreadable
from memem.core.files import from_json, from_toml
from memem.vault import frontmatter as own_frontmatter

_PROPERTY = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


class _Yaml(YAMLHandler):
    """YAML by the reader of our own notes: it builds no objects and limits nesting and aliases."""

    def load(self, fm: str, **_: object) -> dict[str, Any]:
        entries = own_frontmatter.parse(f"---\n{fm.strip()}\n---\n").entries
        return {name: entry.value for name, entry in entries.items()}


class _Json(JSONHandler):
    def load(self, fm: str, **_: object) -> Any:
        return from_json(fm)


class _Toml(BaseHandler):
    FM_BOUNDARY = re.compile(r"^\+{3,}\s*$", re.MULTILINE)

    def load(self, fm: str) -> dict[str, Any]:
        return from_toml(fm)


_HANDLERS: dict[str, BaseHandler] = {"YAML": _Yaml(), "TOML": _Toml(), "JSON": _Json()}


def normalise(text: str) -> tuple[str, dict[str, Any]]:
    """Return the text with frontmatter as our own notes have it, and the properties as they were read."""
    format = next((name for name, handler in _HANDLERS.items() if handler.detect(text)), "")
    if not format:
        return text, {}
    try:
        properties, body = frontmatter.parse(text, handler=_HANDLERS[format])
    except (ValueError, RecursionError) as problem:
        raise NoteUnreadable(f"the frontmatter is not valid {format}: {problem}") from None
    if not properties and body == text.strip():
        if format == "JSON":
            return text, {}  # text that begins with a brace
        raise NoteUnreadable(f"the {format} frontmatter has no closing line")
    texts = {name: _as_text(value) for name, value in properties.items() if _PROPERTY.fullmatch(name)}
    return own_frontmatter.render({name: value for name, value in texts.items() if value}, body), properties


def _as_text(value: object) -> str | tuple[str, ...]:
    """Text, or a list of texts. Values that are nested deeper are dropped."""
    if isinstance(value, list) and not _scalar(value):
        return tuple(filter(None, map(_scalar, value)))
    return _scalar(value)


def _scalar(value: object) -> str:
    match value:
        case [[str(target)]]:
            return f"[[{target}]]"  # to YAML, a link without quotes is a list in a list
        case list() | dict() | None:
            return ""
        case bool():
            return str(value).lower()
    return str(value)
