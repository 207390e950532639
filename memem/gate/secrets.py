"""Secrets in text: known by their own format or by the name they are given, and replaced in place.

Formats, names and what counts as harmless are tables: a new provider is a new line. Only the secret goes, so
that the sentence stays useful: `postgres://app:[redacted: password]@db/shop`, `TOKEN=[redacted: token]`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass


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
        spans = _without_overlaps(_by_format(segment) + _by_name(segment))
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


# What stands for a secret without being one: references, templates, addresses, paths, masks, placeholders.
_HARMLESS = re.compile(
    r"\$[a-z_({].*|%\w+%|%[sdv(].*|[<\[{(].*|[@#]\{.*|![a-z].*|[*&][a-z_]\w*"
    r"|\w{2,20}://.*|(?:arn|op|vault|ssm|env|file|kms|sha\d+|urn|enc)[:\[].*"
    r"|(?:~|\.{1,2}|[a-z]:)?[/\\][\w./\\@ -]*"
    r"|.*(?:\$\{|\{\{|\.\.\.|\u2026|<[a-z][^>]*>).*|(.)\1*|[x*._#\u2022-]+|.*(?:x{5,}|\*{3,}).*"
    r"|.*(?:example|placeholder|redacted|dummy|fake|sample|change[_-]?(?:me|it|this)|todo|fixme).*"
    r"|(?:.*[_ -])?(?:your|insert|replace|hidden|masked)(?:[_ -].*|[a-z]*)",
    re.IGNORECASE | re.DOTALL,
)
# What follows a name in ordinary prose and code: files, versions, tickets, mail addresses, durations and sizes.
_ORDINARY = re.compile(
    r"[\w./\\-]+\.(?:json|ya?ml|toml|txt|env|ini|cfg|conf|pem|key|enc|gpg|py|[jt]sx?|go|rs|rb|sh|md|html?)(?::\d+)*"
    r"|v?\d+(?:\.\d+)+\S*|[A-Z][A-Z0-9]{1,9}-\d+|[\w.+-]+@[\w-]+(?:\.[a-z]{2,})+"
    r"|\d{1,4}[ -]?(?:[mn]?s|sec\w*|m|min\w*|h|hours?|d|days?|[kKMGT]i?B|k|bits?|bytes?|char\w*|x)"
    r"|[A-Za-z_$][\w$]*(?:[(\[]|\.[A-Za-z_]|->|::|\?\.).*"
)
_TECHNICAL = re.compile(
    r"(?<![a-z0-9])(?:(?:sha|md|base|utf|aes|rsa|ed|hs|rs|es|ps|oauth|argon|pbkdf|blake|crc|curve|x|p|pkcs|uuid"
    r"|u?int|[iufv]|float|https?|ipv|py|gpt)[-_]?\d{1,5}[a-z]{0,4}|k8s|i18n|s3|ec2|2fa|1password)(?![a-z0-9])",
    re.IGNORECASE,
)
_SLUG = re.compile(r"(?:[A-Za-z]+\d{0,4}|\d{1,4})(?:[-_./: ](?:[A-Za-z]+\d{0,4}|\d{1,4}))*")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAME_ENDS = frozenset("pass password passwd passphrase pwd secret secrets token tokens key keys apikey".split())
_STAND_INS = frozenset(
    "none null nil undefined true false yes no on off empty blank default unset missing required optional invalid "
    "incorrect wrong expired valid string str text bytes int integer number bool boolean any object varchar char "
    "hash hashed plaintext encrypted bcrypt argon scrypt test testing mock foo bar baz tbd see same stored env "
    "input prompt auto random generated unknown unused enter confirm reset forgot must bearer basic jwt".split()
)


def _is_real(value: str) -> bool:
    """A value of its own rather than a reference, a placeholder, a path or the name of something."""
    if _HARMLESS.fullmatch(value):
        return False
    if not _SLUG.fullmatch(value):
        return True
    words = [word.lower() for word in _WORD.findall(value)] or [""]
    named = words[-1] in _NAME_ENDS and not re.search(r"\d{3}", value)
    return not named and words[0] not in _STAND_INS and not (words[0] and "/" in value)


def _is_chosen(value: str) -> bool:
    """Looks like a password someone made up: letters with digits or signs among them, or digits alone."""
    core = _TECHNICAL.sub("", value).rstrip("!?")
    mixed = re.search(r"[^\W\d_]", core) and re.search(r"[\d!@#$%^&*~]", core) and len(core) >= 5
    return bool(mixed or value.isdigit()) and not _ORDINARY.fullmatch(value) and _is_real(value)


def _is_generated(value: str) -> bool:
    """Looks machine-made: letters with digits, and not words and numbers joined by hyphens, as names are."""
    core = _TECHNICAL.sub("", value)
    mixed = re.search(r"[A-Za-z]", core) and re.search(r"\d", core) and len(core) >= 6
    named = _ORDINARY.fullmatch(value) or (_SLUG.fullmatch(value) and not value.isalnum())
    return bool(mixed) and not named and _is_real(value)


def _is_key_block(value: str) -> bool:
    """Has key material: prose may name the first and last line of a key file on one line."""
    return re.search(r"\n|\\n|[A-Za-z0-9+/=]{16}", value) is not None


@dataclass(frozen=True, slots=True)
class Rule:
    """A secret known by its own format. The pattern is tried only where one of the hints is in the text."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    holds: Callable[[str], bool] = _is_real


def _prefixed(kind: str, prefixes: str, body: str) -> Rule:
    hints = tuple(prefixes.split())
    starts = "|".join(map(re.escape, hints))
    return Rule(kind, hints, re.compile(rf"(?<![A-Za-z0-9])((?:{starts}){body})", re.ASCII))


def _shaped(kind: str, hints: str, pattern: str, holds: Callable[[str], bool] = _is_real) -> Rule:
    return Rule(kind, tuple(hints.split("|")), re.compile(pattern, re.ASCII), holds)


_ALNUM, _URLSAFE, _HEX = r"[A-Za-z0-9]{20,}", r"[\w-]{20,}", r"[0-9a-fA-F]{32,}"
_OPENING = r"[\"'`*\\\])]{0,4}\s{0,9}[:=]{1,2}>?\s{0,9}[\"'`\\]{0,3}"
_PEM_END = r"PRIVATE KEY(?: BLOCK)? ?-{4,5}"

RULES = (
    _shaped(
        "private key",
        "PRIVATE KEY",
        rf"(-{{4,5}} ?BEGIN (?:[A-Z0-9]+ ){{0,4}}{_PEM_END}"
        rf"(?:(?:(?!----)[\s\S])*+-{{4,5}} ?END (?:[A-Z0-9]+ ){{0,4}}{_PEM_END}"
        r"|(?:(?:\\[nr]|[\s\"'+,>|])*+(?:[A-Za-z]+-[A-Za-z]+: [^\n\\]{0,80}|[A-Za-z0-9+/=]{16,}))++))",
        _is_key_block,
    ),
    _shaped("private key", "Private-Lines:", r"Private-Lines: \d+\s+((?:[A-Za-z0-9+/=]{4,}\s*+)++)"),
    _prefixed("private key", "AGE-SECRET-KEY-1", _ALNUM),
    _shaped("private key", "LS0tLS1CRUdJTiB", r"(LS0tLS1CRUdJTiB(?:QUklW|SU0Eg|PUEVO|FQyBQ|FTkNS)[A-Za-z0-9+/=]{20,})"),
    _shaped("aws access key", "AKIA|ASIA|ABIA", r"(?<![A-Za-z0-9])(A(?:KIA|SIA|BIA)[A-Z0-9]{16})(?![A-Za-z0-9])"),
    _shaped(
        "aws secret key",
        "ecret|ECRET",
        rf"(?i:secret[ _-]?access[ _-]?key){_OPENING}([A-Za-z0-9/+]{{40}})(?![A-Za-z0-9/+=])",
    ),
    _shaped(
        "aws secret key", "AKIA|ASIA", r"A[KS]IA[A-Z0-9]{16}[\s,:;/|\"'`]{1,9}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
    ),
    _prefixed("google api key", "AIza", _URLSAFE),
    _prefixed("google oauth secret", "GOCSPX- ya29. 1//0", _URLSAFE),
    _shaped("azure storage key", "AccountKey=|AccessKey=", r"(?:Account|Access)Key=([A-Za-z0-9+/]{20,}={0,2})"),
    _shaped("azure signature", "sig=", r"[?&;]sig=([A-Za-z0-9%+/=]{20,})"),
    _shaped("azure client secret", "Q~", r"(?<![\w~.])([\w~.]{3}\dQ~[\w~.-]{31,34})"),
    _prefixed("github token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\w{20,}"),
    _prefixed("gitlab token", "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- gloas- glagent- GR1348941", _URLSAFE),
    _prefixed("atlassian token", "ATATT ATCTT ATBB", r"[\w=+/.-]{20,}"),
    _prefixed("slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxc- xoxd- xoxe- xoxe. xapp-", r"[\w.%-]{10,}"),
    _shaped("slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/+-]{20,})"),
    _shaped("discord webhook", "/api/webhooks/", r"/api/webhooks/(\d{15,}/[\w-]{30,})"),
    _shaped("discord token", ".", r"([MNO](?<![\w-].)[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40})(?![\w-])"),
    _shaped("telegram token", ":AA", r"(?<!\d)(\d{7,12}:AA[\w-]{30,})"),
    _prefixed("stripe key", "sk_live_ rk_live_ sk_test_ rk_test_ whsec_", r"[A-Za-z0-9+/=]{16,}"),
    _shaped("twilio key", "SK", r"(?<!\w)(SK[0-9a-f]{32})(?!\w)"),
    _shaped("sendgrid key", "SG.", r"(?<!\w)(SG\.[\w-]{16,}\.[\w-]{16,})"),
    _shaped("mailgun key", "key-", r"(?<!\w)(key-[0-9a-f]{32})(?!\w)"),
    _shaped("mailchimp key", "-us", r"(?<!\w)([0-9a-f]{32}-us\d{1,2})(?!\w)"),
    _prefixed("npm token", "npm_", _ALNUM),
    _prefixed("pypi token", "pypi-Ag", _URLSAFE),
    _prefixed("hugging face token", "hf_ api_org_", _ALNUM),
    _prefixed("anthropic key", "sk-ant-", _URLSAFE),
    _prefixed("openai key", "sk-proj- sk-svcacct- sk-admin- sk-or-v1-", _URLSAFE),
    _prefixed("openai key", "sk-", _ALNUM),
    _prefixed("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", _HEX),
    _shaped("doppler token", "dp.", r"(?<!\w)(dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{30,})"),
    _prefixed("vault token", "hvs. hvb. hvr.", _URLSAFE),
    _prefixed("databricks token", "dapi", _HEX),
    _prefixed("shopify token", "shpat_ shpca_ shppa_ shpss_", _HEX),
    _prefixed("docker token", "dckr_pat_ dckr_oat_", _URLSAFE),
    _prefixed("grafana token", "glsa_ glc_", _ALNUM),
    _prefixed(
        "api key", "gsk_ lin_api_ sntrys_ sntryu_ sbp_ figd_ ntn_ tskey- NRAK- PMAK- pplx- xai- rubygems_", _ALNUM
    ),
    _shaped("jwt", "eyJ", r"(?<![\w-])(eyJ[\w-]{8,}+(?:\.[\w-]*+){2,4})"),
    _shaped("password", "://", r"://[^\s/:@\"'`<>]{0,128}:([^\s/\"'`<>]{1,256})@(?=[\w\[.-])"),
    _shaped(
        "authorization header",
        "uthorization|UTHORIZATION",
        rf"(?i:authorization){_OPENING}(?i:basic|bearer|token|apikey|digest)\s{{1,9}}([\w.~+/=:-]{{8,}})",
    ),
    _shaped("bearer token", "earer |EARER ", r"(?i:bearer) {1,9}([\w.~+/=-]{12,})", _is_generated),
    _shaped("password", "curl ", r"curl [^\n|;]{0,200}?(?<=\s)(?:-u|--user)[ =]?[\"']?[\w.@+-]{0,64}:([^\s\"']{3,})"),
    _shaped(
        "password", "mysql|mariadb", r"(?:mysql\w{0,9}|mariadb) [^\n|;]{0,200}?(?<=\s)-p[\"']?([^\s\"'-][^\s\"']{2,})"
    ),
    _shaped("password", "sshpass ", r"sshpass -p ?[\"']?([^\s\"']{3,})"),
    _shaped("password", "machine ", r"machine \S{1,99}\s+login \S{1,99}\s+password (\S{3,})"),
)


def _by_format(text: str) -> list[Redaction]:
    return [
        Redaction(rule.kind, *match.span(1))
        for rule in RULES
        if any(hint in text for hint in rule.hints)
        for match in rule.pattern.finditer(text)
        if rule.holds(match[1])
    ]


_NAME = re.compile(
    r"(?P<password>pass(?:word|wd|phrase|code)|pwd|(?<=[_/-])pass(?![a-z])|passwort|kennwort|contrase\u00f1a|senha"
    r"|\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6\u7801|\u5bc6\u78bc)"
    r"|(?P<private_key>private[ _-]?key)|(?P<access_key>(?:access|account)[ _-]?key)"
    r"|(?P<api_key>(?:api|secret|auth|signing|encryption|master)[ _-]?key)|(?P<secret>secret)|(?P<token>token)"
)
_NAME_HINTS = (
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "kennwort",
    "contrase",
    "senha",
    "\u043f\u0430\u0440\u043e",
    "\u5bc6",
)
# Page cursors and the vocabulary of language models are called tokens too.
_OTHER_NAME = re.compile(
    r"(?:next|page|continuation|sync|cancel|eos|bos|pad|unk|sep|cls|mask|stop|special|design)[ _-]?$"
)
_FLAG = re.compile(r"(?<!\S)--?[a-z0-9_-]*$")
_KEY_LINE = re.compile(r"^[ \t*-]*[\"']?[\w.-]*$", re.MULTILINE)
_SEPARATOR = re.compile(
    r"(?:[_-]?(?i:key|value|base|text|plain|old|new|prod|dev|staging|live|\d{1,2})){0,2}+(?![A-Za-z0-9_-])"
    r"(?P<about>[ ](?:for|of|to|on|in)[ ][\w.@'/-]{1,40}+(?:[ ][\w.@'/-]{1,40}+){0,4}?|[ ]?\([^()\n]{1,40}\))??"
    r"[\"'`*\\\])]{0,6}"
    r"(?:(?P<assign>,?\s{0,40}[\"']?value[\"']?\s?[:=]\s?|:[ ]?[A-Za-z][\w\[\]|., ]{0,40}?=[ ]?(?=[\"'])"
    r"|[ \t]{0,40}(?::=|=>|->|={1,3}|:(?![:/])|\uff1a|(?<=\w)>)[ \t*]{0,40})"
    r"|(?P<says>[ ](?:is|was|to|-|\u2013|\u2014)[ ](?:now[ ]|set[ ]to[ ]|still[ ]){0,2}|\u662f)"
    r"|(?P<space>[ \t]{1,9}))"
)
_QUOTED = re.compile(r"[rbfuRBFU]{0,2}(?P<q>\\{0,3}[\"'`])(?P<value>(?:(?!(?P=q))[^\n]){1,4096})(?P=q)")
_BARE_CHAR = r"(?:[^\s\"'`;,&<\\]|[,&<](?![\s/&<]|[\w.-]{1,64}[=:]|\Z)|\\(?![nrt\"'`]))"
# A rejected value is read again from the next name in it: the bound keeps that linear.
_BARE = re.compile(rf"[\"'`]?(?P<value>{_BARE_CHAR}{{1,256}}+)")
_BARE_REST = re.compile(rf"{_BARE_CHAR}*+")


def _by_name(text: str) -> list[Redaction]:
    lowered = text.replace("\u0130", "I").lower()  # the one letter that grows when lowered
    if not any(hint in lowered for hint in _NAME_HINTS):
        return []
    found: list[Redaction] = []
    for name in _NAME.finditer(lowered):
        separator = _SEPARATOR.match(text, name.end())
        if separator is None or (found and name.start() < found[-1].end):
            continue
        if _OTHER_NAME.search(lowered, max(0, name.start() - 16), name.start()):
            continue
        span = _value_of(text, lowered, name, separator)
        if span:
            found.append(Redaction(str(name.lastgroup).replace("_", " "), *span))
    return found


def _value_of(text: str, lowered: str, name: re.Match[str], separator: re.Match[str]) -> tuple[int, int] | None:
    quoted = _QUOTED.match(text, separator.end())
    match = quoted or _BARE.match(text, separator.end())
    if match is None:
        return None
    value = match["value"] if quoted else match["value"].rstrip(".,:;)]}>*|")
    start, end = match.start("value"), match.start("value") + len(value)
    password = name.lastgroup == "password"
    flag = separator["space"] and _FLAG.search(lowered, max(0, name.start() - 32), name.start())
    if len(value) < 4 or (separator["space"] and not (flag or password)):
        return None
    # In these places anything is the secret itself; elsewhere it has to look like one.
    variable = separator["assign"] == "=" and text[name.start() : name.end()].isupper()
    string = quoted and password and (flag or not separator["space"])
    entry = (
        password
        and separator["assign"]
        and value.islower()
        and text[end : end + 1] in ("", "\n")
        and _KEY_LINE.search(lowered, max(0, name.start() - 48), name.start())
    )
    if any(char.isspace() for char in value) and not (variable or name.group() == "passphrase"):
        return None
    looks = _is_real if variable or string or entry else _is_chosen if password else _is_generated
    if not looks(value):
        return None
    rest = None if quoted or end < match.end() else _BARE_REST.match(text, end)
    return start, rest.end() if rest else end
