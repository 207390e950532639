"""Rules for credentials with a format of their own: memem's (`formats.toml`), and more from gitleaks."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from memem.core.data_files import expand, load_table
from memem.core.files import from_json
from memem.safety.credentials import values

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
def load_rules(part: str) -> Hints:
    """Pair hints with memem's rules for `words`, `phrases` or `blocks`."""
    table = load_table(__file__, "formats.toml")
    rules = []
    for row in table[part]:
        hints = tuple(row["hints"] if "hints" in row else row["starts"].split())
        starts = "|".join(map(re.escape, hints))
        pattern = row.get("pattern") or row.get("item") or rf"(?<![A-Za-z0-9])((?:{starts}){row['body']})"
        pattern, block = (expand(text, table["fragments"]) for text in (pattern, row.get("block", "")))
        rules.append(FormatRule(row["kind"], hints, pattern, _CHECKS[row.get("check", "real")], block))
    return _with_hints(rules)


@cache
def load_gitleaks(part: str) -> Hints:
    """Pair lower-case hints with gitleaks' rules: for `formats`, or for generated values next to a `named` provider."""
    rules = []
    for kind, hints, *patterns, bits in _gitleaks()[part]:
        if part == "formats":
            (pattern,) = patterns
        else:
            pattern = rf"(?i:{patterns[0]}){_BETWEEN}((?i:{patterns[1]}))(?![\w-])"
        check = _check(_has_digit if part == "formats" else values.is_generated, bits)
        rules.append(FormatRule(kind, tuple(hints), pattern, check))
    return _with_hints(rules)


def _with_hints(rules: Sequence[FormatRule]) -> Hints:
    return tuple((hint, rule) for rule in rules for hint in rule.hints)


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value)) and values.is_real(value.rpartition("://")[2])  # an address may be the secret


def _check(check: Callable[[str], bool], bits: float) -> Callable[[str], bool]:
    return lambda value: values.entropy(value) >= bits and check(value)


@cache
def _gitleaks() -> dict[str, list[Any]]:
    return dict(from_json(Path(__file__).with_name("gitleaks.json").read_bytes()))
