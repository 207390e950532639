"""Rules for credentials with a format of their own: memem's (`formats.toml`), and more from gitleaks."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from memem.core.data_files import load_table
from memem.core.files import from_json
from memem.safety.credentials import values
from memem.safety.patterns import expand

_CHECKS = {
    "real": values.is_real,
    "chosen": values.is_chosen,
    "mixed": values.is_mixed,
    "generated": values.is_generated,
    "credential": values.is_credential,
    "key material": values.has_key_material,
    "phrase": values.is_phrase,
}
# Between a provider's name and the value: the rest of a variable's name, and a sign. Ids and checksums are not secrets.
_BETWEEN = (
    r"(?![ \t\w.-]{0,20}?(?i:id|sha\d*|hash|commit|digest|version|url|build|run)[\s\"'`\\]{0,4}[=:,])"
    r"[ \t\w.-]{0,20}[\s\"'`\\\])]{0,4}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[`\"'\s=\\]{0,6}"
)


@dataclass(frozen=True, slots=True)
class FormatRule:
    """Finds group 1 of the pattern, or of the items within group 1 of `block`, where a hint is in the text."""

    kind: str
    hints: tuple[str, ...]
    pattern: str
    check: Callable[[str], bool]
    block: str = ""


Hints = tuple[tuple[str, FormatRule], ...]


@cache
def load_rules(part: str) -> tuple[FormatRule, ...]:
    """Read the rules for `words`, `phrases` or `blocks`."""
    table = load_table(__file__, "formats.toml")
    return tuple(_read_rule(row, table["fragments"]) for row in table[part])


def _read_rule(row: dict[str, Any], fragments: dict[str, str]) -> FormatRule:
    hints = tuple(row["hints"] if "hints" in row else row["starts"].split())
    pattern = row.get("pattern") or row.get("item") or rf"(?<![A-Za-z0-9])((?:{_any_of(hints)}){row['body']})"
    check = _CHECKS[row.get("check", "real")]
    return FormatRule(row["kind"], hints, expand(pattern, fragments), check, expand(row.get("block", ""), fragments))


def _any_of(words: Sequence[str]) -> str:
    return "|".join(map(re.escape, words))


def with_hints(rules: Sequence[FormatRule]) -> Hints:
    """Pair each hint with its rule."""
    return tuple((hint, rule) for rule in rules for hint in rule.hints)


@cache
def gitleaks_formats() -> Hints:
    """Pair hints in lower case with gitleaks' rules for secrets with a format of their own."""
    rows = _gitleaks()["formats"]
    return with_hints(
        [FormatRule(kind, tuple(hints), pattern, _check(_has_digit, bits)) for kind, hints, pattern, bits in rows]
    )


@cache
def gitleaks_named() -> Hints:
    """Pair hints with gitleaks' rules for values next to a provider's name.

    Only values that look generated count: a word may have the length of a token too.
    """
    return with_hints(
        [
            FormatRule(
                kind, tuple(hints), rf"(?i:{name}){_BETWEEN}((?i:{value}))(?![\w-])", _check(values.is_generated, bits)
            )
            for kind, hints, name, value, bits in _gitleaks()["named"]
        ]
    )


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value)) and values.is_real(value.rpartition("://")[2])  # an address may be the secret


def _check(check: Callable[[str], bool], bits: float) -> Callable[[str], bool]:
    return lambda value: values.entropy(value) >= bits and check(value)


@cache
def _gitleaks() -> dict[str, list[Any]]:
    return dict(from_json(Path(__file__).with_name("gitleaks.json").read_bytes()))
