"""Telling a value that is a secret from what only stands for one: a reference, a placeholder, a name, a version."""

import math
import re
from collections import Counter

# What stands for a secret without being one: references, templates, calls, addresses, paths, masks, placeholders.
# In a long value a short word proves nothing: chance writes it there too.
_HARMLESS = re.compile(
    r"\$[a-z_({].*|%\w+%|%[sdv(].*|[<\[{(].*|[@#]\{.*|![a-z].*|[*&][a-z_]\w*"
    r"|[a-z_][\w.]*\(.*\)|[a-z_]\w*(?:\.\w+)+[(\[].*|[a-z_]\w*[(\[]"
    r"|\w{2,20}://.*|(?:arn|op|vault|ssm|env|file|kms|sha\d+|urn|enc)[:\[].*"
    r"|(?:~|\.{1,2}|[a-z]:)?[/\\][\w./\\@ -]*"
    r"|.*(?:\$\{|\{\{|\.\.\.|\u2026|<[a-z][^<>]*>).*|(.)\1*|[x*._#\u2022-]+|.*(?:x{8,}|\*{3,}).*"
    r"|.{0,40}(?:x{4,}|example|placeholder|redacted|dummy|fake|sample|change[_-]?(?:me|it|this)|todo|fixme).{0,40}"
    r"|(?:.*[_ -])?(?:your|insert|replace|hidden|masked)(?:[_ -].*|[a-z]*)",
    re.IGNORECASE | re.DOTALL,
)
# What follows a name in ordinary prose and code: files, versions, tickets, mail addresses, durations, sizes, calls.
_ORDINARY = re.compile(
    r"[\w./\\-]+\.(?:json|ya?ml|toml|txt|env|ini|cfg|conf|pem|key|enc|gpg|py|[jt]sx?|go|rs|rb|sh|md|html?)(?::\d+)*"
    r"|v?\d+(?:\.\d+)+\S*|[A-Z][A-Z0-9]{1,9}-\d+|[\w.+-]+@[\w-]+(?:\.[a-z]{2,})+"
    r"|\d{1,4}[ -]?(?:[mn]?s|sec\w*|m|min\w*|h|hours?|d|days?|[kKMGT]i?B|k|bits?|bytes?|char\w*|x)"
    r"|[A-Za-z_$][\w$]*(?:[(\[]|\.[A-Za-z_]|->|::|\?\.).*|[^\[(]*[\])].*"
)
_TECHNICAL = re.compile(
    r"(?<![a-z0-9])(?:(?:sha|md|base|utf|aes|rsa|ed|hs|rs|es|ps|oauth|argon|pbkdf|blake|crc|curve|x|p|pkcs|uuid"
    r"|u?int|[iufv]|float|https?|ipv|py|gpt)[-_]?\d{1,5}[a-z]{0,4}|k8s|i18n|s3|ec2|2fa|1password)(?![a-z0-9])",
    re.IGNORECASE,
)
_LETTER, _DIGIT, _DIGIT_OR_SIGN = (re.compile(chars) for chars in (r"[^\W\d_]", r"\d", r"[\d!@#$%^&*~]"))
_SLUG = re.compile(r"(?:[A-Za-z]+\d{0,4}|\d{1,4})(?:[-_./: ](?:[A-Za-z]+\d{0,4}|\d{1,4}))*")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAMES = frozenset("pass password passwd passphrase pwd secret secrets token tokens key keys apikey".split())
_STAND_INS = frozenset(
    "none null nil undefined true false yes no on off empty blank default unset missing required optional invalid "
    "incorrect wrong expired valid string str text bytes int integer number bool boolean any object varchar char "
    "hash hashed plaintext encrypted bcrypt argon scrypt test testing mock foo bar baz tbd see same stored env "
    "input prompt auto random generated unknown unused enter confirm reset forgot must bearer basic jwt".split()
)


def is_real(value: str) -> bool:
    """A value of its own rather than a reference, a placeholder, a path or the name of something."""
    if _HARMLESS.fullmatch(value):
        return False
    if not _SLUG.fullmatch(value):
        return True
    words = [word.lower() for word in _WORD.findall(value)] or [""]
    named = words[-1] in _NAMES and not re.search(r"\d{3}", value)
    return not named and words[0] not in _STAND_INS and not (words[0] and "/" in value)


def is_chosen(value: str) -> bool:
    """Looks like a password someone made up: letters with digits or signs among them, or digits alone."""
    return _mixes(value.rstrip("!?"), _DIGIT_OR_SIGN, 5) or (value.isdigit() and is_real(value))


def is_mixed(value: str) -> bool:
    """The same where digits alone are something else: a port, a line."""
    return not value.isdigit() and is_chosen(value)


def is_generated(value: str, at_least: int = 10) -> bool:
    """Looks machine-made: letters with digits, and not words and numbers joined by hyphens, as names are."""
    return _mixes(value, _DIGIT, at_least) and (value.isalnum() or not _SLUG.fullmatch(value))


def _mixes(value: str, others: re.Pattern[str], at_least: int) -> bool:
    if not others.search(value) or not _LETTER.search(value):
        return False
    core = _TECHNICAL.sub("", value)
    mixed = others.search(core) and _LETTER.search(core) and len(core) >= at_least
    return bool(mixed) and not _ORDINARY.fullmatch(value) and is_real(value)


def is_credential(value: str) -> bool:
    """Generated, or base64 that happens to have no digit; not the word that follows a scheme's name in prose."""
    return is_generated(value) or (value[1:].lower() != value[1:] and not value.isupper() and is_real(value))


def has_key_material(value: str) -> bool:
    """Prose and code may name the first and the last line of a key file with no key between them."""
    return re.search(r"[A-Za-z0-9+/=]{16}|-[ \t\r]*(?:\n|\\n)[\w+/=.\s\\]+-{4}", value) is not None


_NEVER_IN_A_PHRASE = frozenset("the and are was were not for has had its can may should would could use used".split())


def is_phrase(value: str) -> bool:
    """Twelve words or more, as wallets give them out: their list has none of the commonest English words."""
    words = re.findall(r"[a-z]+", value)
    return len(words) % 3 == 0 and len(set(words)) > len(words) // 2 and _NEVER_IN_A_PHRASE.isdisjoint(words)


_RUN = re.compile(r"[a-z]{10,}|[A-Z]{10,}")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IDENTITY = re.compile(r"(?:[0-9a-f]{8}-)(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]+|[0-9]+", re.IGNORECASE)


def is_random(value: str) -> bool:
    """Looks like chance alone made it, and is neither a hash nor an id, which hexadecimal digits may be as well."""
    if len(value) < 16 or _IDENTITY.fullmatch(value) or _RUN.search(value) or _is_identifier(value):
        return False
    return is_generated(value, 16) and entropy(value) >= 3.5


def _is_identifier(value: str) -> bool:
    """The name of a class, say, with a number or two in it: its parts are words."""
    parts = _PART.findall(value)
    words = [part for part in parts if not part.isdigit() and not part.isupper()]
    return value.isalnum() and len(parts) < len(value) // 3 and all(len(word) > 2 for word in words)


def entropy(value: str) -> float:
    """Bits for each character, by how often each of them stands there."""
    length = len(value)
    return -sum(count / length * math.log2(count / length) for count in Counter(value).values())
