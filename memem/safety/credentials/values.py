"""Decide whether a value looks like a credential."""

import math
import re
from collections import Counter
from functools import cache

from memem.core.data_files import Patterns, load_table

_PATTERNS = Patterns(__file__, "values.toml")


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(load_table(__file__, "values.toml")[name].split())


def is_real(value: str) -> bool:
    """Reject references, placeholders, paths and names."""
    if _PATTERNS["harmless"].fullmatch(value):
        return False
    if not _PATTERNS["slug"].fullmatch(value):
        return True
    words = [word.lower() for word in _PATTERNS["word"].findall(value)] or [""]
    if words[-1] in _words("name_words") and not re.search(r"\d{3}", value):
        return False
    return words[0] not in _words("placeholders") and not (words[0] and "/" in value)


def is_chosen(value: str) -> bool:
    """Accept passwords as people make them up: letters with digits or signs, or digits alone."""
    return _mixes(value.rstrip("!?"), "digit_or_sign", 5) or (value.isdigit() and is_real(value))


def is_mixed(value: str) -> bool:
    """Accept the same, except digits alone, which may be a port or a line."""
    return not value.isdigit() and is_chosen(value)


def is_generated(value: str, at_least: int = 10) -> bool:
    """Accept letters with digits, unless they are words and numbers joined by hyphens, as in names."""
    return _mixes(value, "digit", at_least) and (value.isalnum() or not _PATTERNS["slug"].fullmatch(value))


def _mixes(value: str, others: str, at_least: int) -> bool:
    other, letter = _PATTERNS[others], _PATTERNS["letter"]
    if not other.search(value) or not letter.search(value):
        return False
    core = _PATTERNS["technical"].sub("", value)
    if len(core) < at_least or not other.search(core) or not letter.search(core):
        return False
    return not _PATTERNS["ordinary"].fullmatch(value) and is_real(value)


def is_credential(value: str) -> bool:
    """Accept generated values, and base64 without a digit; not the word that follows a scheme's name in prose."""
    return is_generated(value) or (value[1:].lower() != value[1:] and not value.isupper() and is_real(value))


def has_key_material(value: str) -> bool:
    """Reject the first and last line of a key file with no key between them, as prose and code have them."""
    return _PATTERNS["key_material"].search(value) is not None


def is_phrase(value: str) -> bool:
    """Accept a wallet's phrase: twelve words or more, and none of the most common English words."""
    words = re.findall(r"[a-z]+", value)
    return len(words) % 3 == 0 and len(set(words)) > len(words) // 2 and _words("never_in_a_phrase").isdisjoint(words)


def is_random(value: str) -> bool:
    """Accept values that look random, unless they are hexadecimal, as hashes and ids are."""
    if len(value) < 16 or _PATTERNS["identity"].fullmatch(value) or _PATTERNS["long_run"].search(value):
        return False
    return not _is_identifier(value) and is_generated(value, 16) and entropy(value) >= 3.5


def _is_identifier(value: str) -> bool:
    """Accept the name of a class, say, with a number or two in it: its parts are words."""
    parts = _PATTERNS["part"].findall(value)
    words = [part for part in parts if not part.isdigit() and not part.isupper()]
    return value.isalnum() and len(parts) < len(value) // 3 and all(len(word) > 2 for word in words)


def entropy(value: str) -> float:
    """Return the Shannon entropy in bits per character."""
    length = len(value)
    return -sum(count / length * math.log2(count / length) for count in Counter(value).values())
