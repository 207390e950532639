"""Secrets in text: known by their own format or by the name they are given, and replaced in place.

Only the secret goes, so that the sentence around it stays useful: `postgres://app:[redacted: password]@db/shop`,
`DB_PASSWORD=[redacted: password]`.
"""

import re
from dataclasses import dataclass
from functools import cache

from memem.gate.secret_formats import PHRASE_RULES, WORD_RULES, is_chosen, is_generated, is_real


@dataclass(frozen=True, slots=True)
class Redaction:
    """Where in the text a secret stands, and what it is in plain words."""

    kind: str
    start: int
    end: int


def find(text: str) -> list[Redaction]:
    """The secrets in a text, in order, never overlapping."""
    found: list[Redaction] = []
    # What lies between two redactions is judged on its own, just as it will be when the redacted text comes
    # back: so redacting twice is the same as redacting once.
    segments = _between(text, 0, [mark.span() for mark in _MARK.finditer(text)])
    while segments:
        offset, segment = segments.pop()
        spans = _without_overlaps(_candidates(segment))
        found += [Redaction(span.kind, offset + span.start, offset + span.end) for span in spans]
        if spans:
            segments += _between(segment, offset, [(span.start, span.end) for span in spans])
    return sorted(found, key=lambda span: span.start)


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with each secret replaced by `[redacted: <kind>]`, and the kinds found, in order."""
    pieces: list[str] = []
    position = 0
    spans = find(text)
    for span in spans:
        pieces += [text[position : span.start], f"[redacted: {span.kind}]"]
        position = span.end
    pieces.append(text[position:])
    return "".join(pieces), tuple(dict.fromkeys(span.kind for span in spans))


_MARK = re.compile(r"\[redacted: [a-z0-9 ]{2,40}\]")


def _between(text: str, offset: int, spans: list[tuple[int, int]]) -> list[tuple[int, str]]:
    starts = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(text)]
    return [(offset + start, text[start:end]) for start, end in zip(starts, ends, strict=True) if end > start]


def _without_overlaps(spans: list[Redaction]) -> list[Redaction]:
    kept: list[Redaction] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if kept and span.start < kept[-1].end:
            # The earlier one names the secret; the tail of the later one is not for reading either.
            kept[-1] = Redaction(kept[-1].kind, kept[-1].start, max(kept[-1].end, span.end))
        else:
            kept.append(span)
    return kept


_WORD_HINTS = [(hint, rule) for rule in WORD_RULES for hint in rule.hints]
_PHRASE_HINTS = [(hint, rule) for rule in PHRASE_RULES for hint in rule.hints]


def _candidates(text: str) -> list[Redaction]:
    long_words = " ".join([word for word in text.split() if len(word) > 14])
    lowered = text.replace("\u0130", "I").lower()  # the one letter that grows when lowered
    rules = [rule for hint, rule in _WORD_HINTS if hint in long_words] if long_words else []
    rules += [rule for hint, rule in _PHRASE_HINTS if hint in lowered]
    found = [
        Redaction(rule.kind, *match.span(1))
        for rule in dict.fromkeys(rules)
        for match in _compiled(rule.pattern).finditer(text)
        if rule.holds(match[1])
    ]
    if any(name in lowered for name in _NAMES):
        found += _by_name(text, lowered)
    return found


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


_NAMES = (
    *("pass", "pwd", "pw", "secret", "token", "key", "kennwort", "contrase\u00f1a", "senha"),
    *("\u043f\u0430\u0440\u043e\u043b\u044c", "\u5bc6\u7801", "\u5bc6\u78bc", "\u53e3\u4ee4"),
    *("\u30d1\u30b9\u30ef\u30fc\u30c9", "\ube44\ubc00\ubc88\ud638", "\ube44\ubc88", "\ud328\uc2a4\uc6cc\ub4dc"),
)
_NAME = re.compile("|".join(_NAMES))
_PASSWORD_ENDING = re.compile(r"word|wd|phrase|code|wort|(?<![a-z].{4})(?![a-z])", re.DOTALL)
_SHORT_PASSWORD = re.compile(r"(?<![a-z])pw(?![a-z])")
_KEY_OF = re.compile(
    r"(api|app|access|account|private|auth|signing|encryption|master|service|storage|admin|deploy|jwt)[ _-]?$"
)
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
    r"|(?P<says>[ ](?:is|was|to|-|\u2013|\u2014)[ ](?:now[ ]|set[ ]to[ ]|still[ ]){0,2}|\u662f[ ]?|[ ]\((?=[^()\s]+\)))"
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


def _by_name(text: str, lowered: str) -> list[Redaction]:
    found: list[Redaction] = []
    for name in _NAME.finditer(lowered):
        if found and name.start() < found[-1].end:
            continue
        kind, end = _full_name(lowered, name)
        assignment = _assignment(text, kind, name.start(), end) if kind else None
        if assignment and _holds_secret(assignment):
            cut = not assignment.quoted and len(assignment.value) == _BARE_BOUND
            rest = _BARE_REST.match(text, assignment.end) if cut else None
            found.append(Redaction(kind, assignment.start, rest.end() if rest else assignment.end))
    return found


def _full_name(lowered: str, name: re.Match[str]) -> tuple[str, int]:
    start, end = name.span()
    kind = name.group()
    if kind == "pass":
        ending = _PASSWORD_ENDING.match(lowered, end)
        return ("password", ending.end()) if ending else ("", end)
    if kind == "pw":
        return ("password" if _SHORT_PASSWORD.match(lowered, start) else "", end)
    if kind == "key":
        owner = _KEY_OF.search(lowered, max(0, start - 12), start)
        return (f"{owner[1]} key" if owner else "", end)
    if kind in ("secret", "token"):
        other = _OTHER_TOKEN.search(lowered, max(0, start - 16), start)
        return ("" if other else kind, end)
    return "password", end


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
    if variable or string or entry:
        return is_real(it.value)
    if password:
        return is_chosen(it.value)
    return is_generated(it.value, at_least=12 if it.how == "gap" else 6 if name == "secret" else 10)
