"""Secrets known by the name they are given: a password, a token, a key, beside a value that looks like one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memem.gate.secret_values import is_chosen, is_generated, is_random, is_real

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
