"""Choose names that are worth an anchor: a file defines them, and most other files do not contain them."""

from __future__ import annotations

import re
from functools import cache

from memem.core.data_files import load_table

MOST_OCCURRENCES = 200  # of a name in one file that are looked at
MOST_LINE_CHARACTERS = 1_000  # longer lines are generated
_RECEIVER = r"(?:if\s+not\s+exists\s+)?(?:\([^()]{0,80}\)\s*)?[*&]*(?:[\w$]+(?:\.|::?))*[\"'`\[]?"
_LINE_START = re.compile(
    r"\s*(?:(?:export|public|private|protected|static|final|readonly|pub)\s+)*(?:self\.|this\.|@)?"
)
_ASSIGNED = re.compile(r"[\"']?\s*(?:[:?]?=(?![=>~])|:(?!:))")
_PARAMETERS = re.compile(r"\s*\(.*\{\s*")
_TYPES = re.compile(r"[\s\w<>\[\],*&:~.]*")


def is_common(name: str) -> bool:
    """Whether a name is a keyword, a literal or so common that it says nothing about a file."""
    return name.casefold() in _words("common")


def is_defined(name: str, text: str) -> bool:
    """Whether a file's text defines a name: as a function, type, constant, key or target."""
    found = re.finditer(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text)
    for _, match in zip(range(MOST_OCCURRENCES), found, strict=False):
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.end())
        end = len(text) if end < 0 else end
        if end - start <= MOST_LINE_CHARACTERS and _defines(text[start : match.start()], text[match.end() : end]):
            return True
    return False


def _defines(before: str, after: str) -> bool:
    """Whether the parts of a line before and after a name define it."""
    if _keyword().search(before):
        return True
    opening = before.rstrip("\"'")
    if _LINE_START.fullmatch(opening) and _ASSIGNED.match(after):
        return True
    if not _PARAMETERS.fullmatch(after) or not _TYPES.fullmatch(before):
        return False
    return _words("callers").isdisjoint(re.findall(r"\w+", before))


@cache
def _keyword() -> re.Pattern[str]:
    words = "|".join(map(re.escape, sorted(_words("keywords"))))
    return re.compile(rf"(?:^|[^\w$])(?:{words})\s+{_RECEIVER}$", re.IGNORECASE)


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(load_table(__file__, "symbols.toml")[name].split())
