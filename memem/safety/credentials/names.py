"""Credentials known by the name they are given, and whether a value beside such a name looks like one."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

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
_NAME_WORDS = frozenset("pass password passwd passphrase pwd secret secrets token tokens key keys apikey".split())
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
    named = words[-1] in _NAME_WORDS and not re.search(r"\d{3}", value)
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


_NAMES = (
    *(
        "pass",
        "pwd",
        "pw",
        "secret",
        "token",
        "key",
        "cred",
        "auth",
        "kennwort",
        "mot de passe",
        "wachtwoord",
        "has\u0142o",
        "l\u00f6senord",
        "\u015fifre",
        "contrase\u00f1a",
        "senha",
    ),
    *("\u043f\u0430\u0440\u043e\u043b\u044c", "\u5bc6\u7801", "\u5bc6\u78bc", "\u53e3\u4ee4"),
    *("\u30d1\u30b9\u30ef\u30fc\u30c9", "\ube44\ubc00\ubc88\ud638", "\ube44\ubc88", "\ud328\uc2a4\uc6cc\ub4dc"),
)
_NAME = re.compile("|".join(_NAMES))
_PASSWORD_ENDING = re.compile(r"word|wd|phrase|code|wort|(?<![a-z].{4})(?![a-z])", re.DOTALL)
_SHORT_PASSWORD = re.compile(r"(?<![a-z])pw(?![a-z])")
_KEY_OF = re.compile(
    r"(api|app|access|account|private|auth|signing|encryption|master|service|storage|admin|deploy|jwt|hmac"
    r"|webhook|license|wallet|client|shared)[ _-]?$"
)
# Keys that everybody may know, and those of tables, caches and maps.
_OPEN_KEY = re.compile(
    r"(?:public|primary|foreign|cache|sort|partition|hash|index|map|object|s3|dict|row|unique|group|translation|shard"
    r"|routing|idempotency|registry|site|publishable|anon|measurement|query|state|react|item|lookup|dedup"
    r"|mutex|lock|redis)[ _-]?$"
)
_VAGUE_ENDING = re.compile(r"(?:entials?|s)?(?![a-z])")
# Page cursors and the vocabulary of language models are called tokens too.
_OTHER_TOKEN = re.compile(r"(?:next|page|continuation|sync|cancel|eos|bos|pad|unk|sep|cls|mask|stop|special)[ _-]?$")
# The user's part of an address; what follows it has a rule of its own.
_USER = re.compile(r"://[\w.+-]*\Z")
_FLAG = re.compile(r"(?:^|\s)--?[\w-]*\Z")
_ENTRY = re.compile(r"(?:^|\n)[ \t*-]*[\"']?[\w.-]*\Z")
# Between a name and its value: the rest of the name, whom it is for, closing quotes, and what joins the two.
_SEPARATOR = re.compile(
    r"(?:[_-]?(?i:value|base|text|plain|old|new|prod|dev|staging|live|\d{1,2})|[ _-]?(?i:key)){0,2}(?![A-Za-z0-9_-])"
    r"(?:[ ](?:for|of|to|on|in)[ ][\w.@'/-]{1,40}+(?:[ ][\w.@'/-]{1,40}+){0,4}?|[ ]?\([^()\n]{1,40}\))??"
    r"[\"'`*\\\])]{0,6}(?:"
    r"(?P<assign>,?\s{0,40}[\"']?value[\"']?\s?[:=]\s?|:[ ]?[A-Za-z][\w\[\]|., ]{0,40}?=[ ]?(?=[\"'])"
    r"|[ \t]{0,40}(?::=|=>|->|={1,3}|:(?![:/])|\uff1a|(?<=\w)>(?=[^<>\n]{4,200}</))[ \t*]{0,40})"
    r"|(?P<says>[ ](?:is|was|to|ist|lautet|est|es|\u00e8|-|\u2013|\u2014)[ ]"
    r"(?:now[ ]|set[ ]to[ ]|still[ ]){0,2}|\u662f[ ]?|[ ]\((?=[^()\s]+\)))"
    r"|(?P<beside>(?<=[\"']),[ ]?(?=[\"'])))"
)
_FLAG_GAP = re.compile(r"(?:[_-](?i:key))?(?P<flag>[ \t]{1,9})")
_GAP = re.compile(r"(?P<gap>[ \t]{1,9})(?=\S{0,64}?\d)")
_QUOTED = re.compile(r"[rbfuRBFU]{0,2}(?P<q>\\{0,3}[\"'`])(?P<value>(?:(?!(?P=q))[^\n]){1,4096})(?P=q)")
_BARE_CHAR = r"(?:[^\s\"'`;,&<\\]|[,&<](?![\s/&<]|[\w.-]{1,64}[=:]|\Z)|\\(?![nrt\"'`]))"
# A value that is turned down is read again from the next name in it: the bound keeps that linear.
_BARE_BOUND = 80
_BARE = re.compile(rf"(?:[\"'`](?![+,)\]]))?(?P<value>{_BARE_CHAR}{{1,{_BARE_BOUND}}})")
_BARE_REST = re.compile(rf"{_BARE_CHAR}*")


@dataclass(frozen=True, slots=True)
class _Assignment:
    """A value beside a name that promises a secret, and how the two are joined."""

    kind: str
    name: str
    before: str
    how: str
    sign: str
    quoted: bool
    value: str
    start: int
    end: int
    after: str


def by_name(text: str, lowered: str) -> Iterator[tuple[str, int, int]]:
    """What each value is, and where it stands; `lowered` is the text in lower case, of the same length."""
    if not any(name in lowered for name in _NAMES):
        return
    reached = 0
    for name in _NAME.finditer(lowered):
        if name.start() < reached:
            continue
        kind, end = _full_name(text, lowered, name)
        assignment = _assignment(text, kind, name.start(), end) if kind else None
        if assignment and _holds_secret(assignment):
            cut = not assignment.quoted and len(assignment.value) == _BARE_BOUND
            rest = _BARE_REST.match(text, assignment.end) if cut else None
            reached = rest.end() if rest else assignment.end
            yield kind, assignment.start, reached


def _full_name(text: str, lowered: str, name: re.Match[str]) -> tuple[str, int]:
    start, end = name.span()
    kind = name.group()
    if kind == "pass":
        ending = _PASSWORD_ENDING.match(lowered, end)
        return ("password", ending.end()) if ending else ("", end)
    if kind == "pw":
        return ("password" if _SHORT_PASSWORD.match(lowered, start) else "", end)
    if kind == "key":
        owner = _KEY_OF.search(lowered, max(0, start - 14), start)
        return (f"{owner[1]} key" if owner else "key" if _is_key(text, lowered, start) else "", end)
    if kind in ("cred", "auth"):
        ending = _VAGUE_ENDING.match(lowered, end)
        return ("credential", ending.end()) if ending and not lowered[start - 1 : start].isalpha() else ("", end)
    if kind in ("secret", "token"):
        other = _OTHER_TOKEN.search(lowered, max(0, start - 16), start)
        return ("" if other else kind, end)
    return "password", end


def _is_key(text: str, lowered: str, start: int) -> bool:
    """A key of something: neither the end of another word nor one that everybody may know."""
    own = not lowered[start - 1 : start].isalpha() or text[start].isupper()
    return own and not _OPEN_KEY.search(lowered, max(0, start - 14), start)


def _assignment(text: str, kind: str, start: int, end: int) -> _Assignment | None:
    name, before = text[start:end], text[max(0, start - 48) : start]
    separator = None if _USER.search(before) else _SEPARATOR.match(text, end)
    if separator is None:
        separator = (_FLAG_GAP if _FLAG.search(before) else _GAP).match(text, end)
    if separator is None:
        return None
    quoted = _QUOTED.match(text, separator.end())
    match = quoted or _BARE.match(text, separator.end())
    if match is None:
        return None
    value, value_start = match["value"], match.start("value")
    if not quoted and not value.endswith("..."):
        value = value.rstrip(".,:;)]}>*|")
    user, slash, rest = value.partition("/")
    if before.endswith("/") and user and rest:  # user/password: admin/hunter2
        value, value_start = rest, value_start + len(user + slash)
    how = str(separator.lastgroup)
    value_end = value_start + len(value)
    after = text[value_end : value_end + 1]
    return _Assignment(
        kind, name, before, how, separator[how], quoted is not None, value, value_start, value_end, after
    )


def _holds_secret(it: _Assignment) -> bool:
    password, name = it.kind == "password", it.name.lower()
    variable = it.name.isupper() and it.sign == "="
    sentence = re.search(r"\s", it.value) and not variable and name != "passphrase"
    if len(it.value) < 4 or sentence:
        return False
    # Tests pass, too, and say so in capitals.
    if name == "pass" and (it.how not in ("assign", "flag") or (it.name == "PASS" and it.before[-1:] not in "_/-")):
        return False
    # In these places even a plain word is the secret itself: an environment variable, a quoted password, an
    # entry of its own line in a settings file. Elsewhere it has to look like a secret.
    string = password and it.quoted and it.how in ("assign", "says", "flag")
    alone = it.sign in (":", ": ", "=") and it.after in ("", "\n") and _ENTRY.search(it.before)
    entry = alone and (it.name.isupper() or (password and it.value.islower()))
    if it.kind in ("key", "credential"):
        return is_random(it.value) or (variable and len(it.value) > 31 and is_generated(it.value))
    if variable or string or entry:
        return is_real(it.value)
    if password:
        return is_chosen(it.value)
    return is_generated(it.value, at_least=12 if it.how == "gap" else 6 if name == "secret" else 10)
