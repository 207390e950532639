"""The names in a statement that a repository can be asked for: identifiers, told from words by how they are written."""

import re

MOST_IDENTIFIERS = 64
SHORTEST = 3
"""In characters: what is shorter stands in every file."""

_WORD = r"[A-Za-z_$][\w$]*"
_DOTTED = re.compile(rf"{_WORD}(?:(?:\.|::|->|#){_WORD})*(?:\(\))?", re.ASCII)
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_PLAIN = re.compile(rf"(?<![\w$./:@-]){_DOTTED.pattern}(?![\w$/@-])", re.ASCII)
_HUMPS = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]", re.ASCII)
_SPLIT = re.compile(r"\.|::|->|#")


def identifiers(statement: str) -> tuple[str, ...]:
    """In backticks any name; outside of them what no word looks like: snake_case, CamelCase, a.b, f()."""
    quoted = [each.strip() for each in _QUOTED.findall(statement)]
    bare = _QUOTED.sub(" ` ", statement)
    names = [name for name in quoted if _DOTTED.fullmatch(name)]
    names += [name for name in _PLAIN.findall(bare) if _is_code(name)]
    return tuple(dict.fromkeys(name.removesuffix("()") for name in names if len(name) >= SHORTEST))[:MOST_IDENTIFIERS]


def spellings(identifier: str) -> tuple[str, ...]:
    """As it may stand in a file: whole, or, where it leads from one name to another, each of them."""
    parts = [part for part in _SPLIT.split(identifier) if len(part) >= SHORTEST]
    return tuple(dict.fromkeys((identifier, *parts)))


def stands_in(name: str, text: str) -> bool:
    """Whether a text holds a name as a word of its own."""
    found = text.find(name)
    while found >= 0:
        end = found + len(name)
        if not _is_wordy(text[found - 1 : found]) and not _is_wordy(text[end : end + 1]):
            return True
        found = text.find(name, found + 1)
    return False


def _is_code(name: str) -> bool:
    stem = name.removesuffix("()")
    return name != stem or "_" in stem.strip("_") or bool(_SPLIT.search(stem)) or bool(_HUMPS.search(stem))


def _is_wordy(character: str) -> bool:
    return character.isalnum() or character == "_"
