"""The rules of gitleaks that ours do not cover, as `.ci/secret_rules.py` has converted them. Read when first needed.

Of the values beside a provider's name only those count that look machine-made: a word may have the length of a token
too.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from memem.core.files import from_json
from memem.safety.credentials.formats import Rule
from memem.safety.credentials.names import entropy, is_generated, is_real

# Between the name and the value: the rest of a variable's name, and what assigns. Ids and checksums are no secrets.
_BETWEEN = (
    r"(?![ \t\w.-]{0,20}?(?i:id|sha\d*|hash|commit|digest|version|url|build|run)[\s\"'`\\]{0,4}[=:,])"
    r"[ \t\w.-]{0,20}[\s\"'`\\\])]{0,4}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[`\"'\s=\\]{0,6}"
)


Hints = tuple[tuple[str, Rule], ...]
"""Rules, each with a word in lower case that is near every secret it finds."""


@cache
def format_rules() -> Hints:
    """Secrets known by their own format."""
    return tuple(
        (hint, rule)
        for kind, hints, pattern, bits in _table()["formats"]
        for rule in [Rule(kind, tuple(hints), pattern, _holding(_has_digit, bits))]
        for hint in hints
    )


@cache
def named_rules() -> Hints:
    """Values beside the name of a provider."""
    return tuple(
        (hint, rule)
        for kind, hints, name, value, bits in _table()["named"]
        for rule in [Rule(kind, tuple(hints), _beside(name, value), _holding(is_generated, bits))]
        for hint in hints
    )


def _beside(name: str, value: str) -> str:
    return rf"(?i:{name}){_BETWEEN}((?i:{value}))(?![\w-])"


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value)) and is_real(value.rpartition("://")[2])  # an address may be the secret itself


def _holding(holds: Callable[[str], bool], bits: float) -> Callable[[str], bool]:
    return lambda value: entropy(value) >= bits and holds(value)


@cache
def _table() -> dict[str, list[Any]]:
    return dict(from_json(Path(__file__).with_name("gitleaks.json").read_bytes()))
