"""What secrets look like: provider formats as a table, and how to tell a value from what only stands for one.

A new provider is a new line in `WORD_RULES`.
"""

import re
from collections.abc import Callable
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


def is_generated(value: str, at_least: int = 10) -> bool:
    """Looks machine-made: letters with digits, and not words and numbers joined by hyphens, as names are."""
    return _mixes(value, _DIGIT, at_least) and (value.isalnum() or not _SLUG.fullmatch(value))


def _mixes(value: str, others: re.Pattern[str], at_least: int) -> bool:
    if not others.search(value) or not _LETTER.search(value):
        return False
    core = _TECHNICAL.sub("", value)
    mixed = others.search(core) and _LETTER.search(core) and len(core) >= at_least
    return bool(mixed) and not _ORDINARY.fullmatch(value) and is_real(value)


def _is_credential(value: str) -> bool:
    """Generated, or base64 that happens to have no digit; not the word that follows a scheme's name in prose."""
    return is_generated(value) or (value[1:].lower() != value[1:] and not value.isupper() and is_real(value))


def _has_key_material(value: str) -> bool:
    """Prose and code may name the first and the last line of a key file with no key between them."""
    return re.search(r"[A-Za-z0-9+/=]{16}|-[ \t\r]*(?:\n|\\n)[\w+/=.\s\\]+-{4}", value) is not None


@dataclass(frozen=True, slots=True)
class Rule:
    """A secret known by its format: group 1 of the pattern, tried only where one of the hints is in the text.

    Patterns stay source until they are first needed: compiling them all would cost a tenth of a second. Possessive
    repeats are for single characters only: early releases of Python 3.11 go wrong on groups.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    holds: Callable[[str], bool] = is_real


def _prefixed(kind: str, prefixes: str, body: str) -> Rule:
    hints = tuple(prefixes.split())
    starts = "|".join(map(re.escape, hints))
    return Rule(kind, hints, rf"(?<![A-Za-z0-9])((?:{starts}){body})")


_ALNUM, _URLSAFE, _HEX = r"[A-Za-z0-9]{20,}", r"[\w-]{20,}", r"[0-9a-fA-F]{32,}"
_FORTY = r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
_ASSIGNED = r"[\"'`*\\\])]{0,4}\s{0,9}[:=]{1,2}>?\s{0,9}[\"'`\\]{0,3}"
_PEM_NAME = r"(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}"

# Secrets that are one long word: looked for among the text's long words only.
WORD_RULES = (
    _prefixed("private key", "AGE-SECRET-KEY-1", _ALNUM),
    Rule("private key", ("LS0tLS1CRUdJTiB",), r"(LS0tLS1CRUdJTiB(?:QUklW|SU0Eg|PUEVO|FQyBQ|FTkNS)[\w+/=]{20,})"),
    Rule("aws access key", ("AKIA", "ASIA", "ABIA"), r"(?<![A-Za-z0-9])(A(?:KI|SI|BI)A[A-Z0-9]{16})(?![A-Za-z0-9])"),
    Rule("aws secret key", ("AKIA", "ASIA"), rf"A[KS]IA[A-Z0-9]{{16}}[\s,:;/|\"'`]{{1,9}}{_FORTY}"),
    _prefixed("google api key", "AIza", _URLSAFE),
    _prefixed("google oauth secret", "GOCSPX- ya29. 1//0", _URLSAFE),
    Rule("azure storage key", ("AccountKey=", "AccessKey="), r"(?:Account|Access)Key=([A-Za-z0-9+/]{20,}={0,2})"),
    Rule("azure signature", ("sig=",), r"[?&;]sig=([A-Za-z0-9%+/=]{20,})"),
    Rule("azure client secret", ("Q~",), r"(?<![\w~.])([\w~.]{3}\dQ~[\w~.-]{31,34})"),
    _prefixed("github token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\w{20,}"),
    _prefixed("gitlab token", "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- gloas- glagent- GR1348941", _URLSAFE),
    _prefixed("atlassian token", "ATATT ATCTT ATBB", r"[\w=+/.-]{20,}"),
    _prefixed("slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxc- xoxd- xoxe- xoxe. xapp-", r"[\w.%-]{10,}"),
    Rule("slack webhook", ("hooks.slack.com/",), r"hooks\.slack\.com/\w{7,10}/([\w/+-]{20,})"),
    Rule("discord webhook", ("/api/webhooks/",), r"/api/webhooks/(\d{15,}/[\w-]{30,})"),
    Rule("discord token", (".",), r"([MNO](?<![\w-].)[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40})(?![\w-])"),
    Rule("telegram token", (":AA",), r"(?<!\d)(\d{7,12}:AA[\w-]{30,})"),
    _prefixed("stripe key", "sk_live_ rk_live_ sk_test_ rk_test_ whsec_", r"[A-Za-z0-9+/=]{16,}"),
    Rule("twilio key", ("SK",), r"(?<!\w)(SK[0-9a-f]{32})(?!\w)"),
    Rule("sendgrid key", ("SG.",), r"(?<!\w)(SG\.[\w-]{16,}\.[\w-]{16,})"),
    Rule("mailgun key", ("key-",), r"(?<!\w)(key-[0-9a-f]{32})(?!\w)"),
    Rule("mailchimp key", ("-us",), r"(?<!\w)([0-9a-f]{32}-us\d{1,2})(?!\w)"),
    _prefixed("npm token", "npm_", _ALNUM),
    _prefixed("pypi token", "pypi-Ag", _URLSAFE),
    _prefixed("hugging face token", "hf_ api_org_", _ALNUM),
    _prefixed("anthropic key", "sk-ant-", _URLSAFE),
    _prefixed("openai key", "sk-proj- sk-svcacct- sk-admin- sk-or-v1-", _URLSAFE),
    _prefixed("openai key", "sk-", _ALNUM),
    _prefixed("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", _HEX),
    Rule("doppler token", ("dp.",), r"(?<!\w)(dp\.[a-z]{2,5}\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{30,})"),
    _prefixed("vault token", "hvs. hvb. hvr.", _URLSAFE),
    _prefixed("databricks token", "dapi", _HEX),
    _prefixed("shopify token", "shpat_ shpca_ shppa_ shpss_", _HEX),
    _prefixed("docker token", "dckr_pat_ dckr_oat_", _URLSAFE),
    _prefixed("grafana token", "glsa_ glc_", _ALNUM),
    _prefixed("api key", "gsk_ lin_api_ sntrys_ sntryu_ sbp_ ntn_ NRAK- PMAK- pplx- xai- rubygems_", _ALNUM),
    _prefixed("api key", "figd_ tskey- pscale_tkn_ sb_secret_", _URLSAFE),
    Rule("jwt", ("eyJ",), r"(?<![\w-])(eyJ[\w-]{8,}+(?:\.[\w-]*+){2,4})"),
)

# Secrets known by the words around them: their hints are looked for in the whole text, in lower case.
PHRASE_RULES = (
    Rule(
        "private key",
        ("private key",),
        rf"(-{{4,5}} ?BEGIN {_PEM_NAME}(?:(?:(?!----)[\s\S])*-{{4,5}} ?END {_PEM_NAME}"
        r"|(?:(?:\\[nr]|[\s\"'+,>|])*(?:[A-Za-z]+-[A-Za-z]+: [^\n\\]{0,80}|[A-Za-z0-9+/=]{16,}))+))",
        _has_key_material,
    ),
    Rule("private key", ("private-lines:",), r"Private-Lines: \d+((?:\s+[A-Za-z0-9+/=]{4,}+(?![-:]))+)"),
    Rule("aws secret key", ("secret",), rf"(?i:secret[ _-]?access[ _-]?key){_ASSIGNED}{_FORTY}"),
    Rule(
        "password",
        ("://",),
        r"://[^\s/:@\"'`<>]{0,128}:(?!\d{1,5}[/?#])([^\s\"'`<>]{1,256}?)@(?=[\w.-]{1,255}+(?!@)|\[)",
    ),
    Rule(
        "authorization header",
        ("authorization",),
        rf"(?i:authorization){_ASSIGNED}(?i:basic|bearer|token|apikey|digest)\s{{1,9}}([\w.~+/=:-]{{8,}})",
        _is_credential,
    ),
    Rule("bearer token", ("bearer ",), r"(?i:bearer) {1,9}([\w.~+/=-]{12,})", is_generated),
    Rule("password", ("curl ",), r"curl [^\n|;]{0,200}?(?<=\s)(?:-u|--user)[ =]?[\"']?[\w.@+-]{0,64}:([^\s\"']{3,})"),
    Rule("password", ("mysql", "mariadb"), r"(?:mysql\w{0,9}|mariadb) [^\n|;]{0,200}?(?<=\s)-p[\"']?(\w[^\s\"']{2,})"),
    Rule("password", ('"auth"',), r"\"auth\"\s*:\s*\"([A-Za-z0-9+/=]{12,})\""),
    Rule("password", ("securestring",), r"ConvertTo-SecureString (?:-String )?[\"']?([^\s\"']{4,})"),
    Rule(
        "password",
        ("password", "passphrase"),
        r"(?<![^\s\"'`(])([^\s\"'`()]{5,64})[\"'`]?,?"
        r" (?:is|as) (?:(?:the|our|my|its|a) )?(?:\w{1,12} )?pass(?:word|phrase)",
        is_chosen,
    ),
    Rule("password", ("sshpass ",), r"sshpass -p ?[\"']?([^\s\"']{3,})"),
    Rule("password", ("machine ",), r"machine \S{1,99}\s+login \S{1,99}\s+password (\S{3,})"),
)
