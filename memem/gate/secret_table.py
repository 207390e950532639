"""The rules of gitleaks that ours do not cover, as `.ci/secret_rules.py` has converted them. Read when first needed.

Of the values beside a provider's name only those count that look machine-made: `sonar_token = "see-the-team-page-for-it"`
has the length of a token too.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

from memem.gate.secret_formats import Rule
from memem.gate.secret_values import entropy, is_generated, is_real

# Between the name and the value: the rest of a variable's name, and what assigns. Ids and checksums are no secrets.
_BETWEEN = (
    r"(?!\w*[ _.-]?(?i:id|sha\d*|hash|commit|digest|version|url|build|run)[\s\"'`\\]{0,4}[=:,])[ \t\w.-]{0,20}[\s\"'`\\\])]{0,4}"
    r"(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[`\"'\s=\\]{0,6}"
)


@cache
def format_rules() -> tuple[Rule, ...]:
    """Secrets known by their own format; their hints are in lower case."""
    return tuple(
        Rule(kind, tuple(hints), pattern, _holding(is_real, bits)) for kind, hints, pattern, bits in _table()["formats"]
    )


@cache
def named_rules() -> tuple[Rule, ...]:
    """Values beside the name of a provider; their hints are in lower case."""
    return tuple(
        Rule(kind, tuple(hints), rf"(?i:{name}){_BETWEEN}((?i:{value}))(?![\w-])", _holding(is_generated, bits))
        for kind, hints, name, value, bits in _table()["named"]
    )


def _holding(holds: Callable[[str], bool], bits: float) -> Callable[[str], bool]:
    return lambda value: entropy(value) >= bits and holds(value)


@cache
def _table() -> dict[str, list[list[object]]]:
    return dict(json.loads(Path(__file__).with_name("gitleaks.json").read_text(encoding="utf-8")))
