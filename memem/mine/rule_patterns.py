"""Compile the sentence patterns of the rule-based extractor from `rule_patterns.toml`."""

import re
from dataclasses import dataclass
from typing import Any

from memem.core.data_files import load_table

_TABLE = load_table(__file__, "rule_patterns.toml")


@dataclass(frozen=True, slots=True)
class SentenceRule:
    """The kind and importance of a sentence that matches `forms`."""

    kind: str
    importance: int
    forms: re.Pattern[str]


def _expand_fragments() -> dict[str, str]:
    expanded: dict[str, str] = {}
    for name, value in _TABLE["fragments"].items():
        text = value if isinstance(value, str) else f"(?:{'|'.join(value)})"
        expanded[name] = _expand(text, expanded)
    return expanded


def _expand(text: str, fragments: dict[str, str]) -> str:
    return re.sub(r"%([A-Z_]+)%", lambda match: fragments[match[1]], text)


FRAGMENTS = _expand_fragments()


def _compile(forms: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{_expand(form, FRAGMENTS)})" for form in forms), re.IGNORECASE)


def _compile_rules(entries: list[dict[str, Any]]) -> tuple[SentenceRule, ...]:
    return tuple(SentenceRule(each["kind"], each["importance"], _compile(each["forms"])) for each in entries)


PATTERNS = {name: _compile(forms) for name, forms in _TABLE["patterns"].items()}
RULES = {name: _compile_rules(entries) for name, entries in _TABLE["rules"].items()}
