"""Names of projects, branches and files, which anybody may choose, as a model or a person may see them.

Imports nothing heavy.
"""

import re

from memem.core.project import normalise

# Prompts wait for this check: only a name with a part that may be generated is searched for secrets.
_GENERATED = re.compile(r"(?=[a-z_]*\d)\w{16,}")
HIDDEN_NAME = "(name withheld: it reads like an instruction)"
MIN_ORDER_CHARS = 14  # a shorter name says too little; in a script without spaces, half of that is enough
# Ids, dates and single words give no orders.
_HARMLESS = re.compile(r"[\W\d_a-fA-FTZ]*|\W?[A-Z]?[a-z]{1,19}\W{0,3}", re.ASCII)
_WORD = re.compile(r"\W{0,2}[^\W\d_]{1,19}\W{0,3}")
_LONG_WORD = re.compile(rf"\S{{{MIN_ORDER_CHARS // 2},}}")
# A word in running text can give orders only if it joins several words, and one of them hints at an order.
_JOINED = re.compile(r"[^\W\d_]+(?:[\W\d_]+[^\W\d_]+){2}")
_ORDER_HINTS = re.compile(
    "ignor|forget|disreg|overrid|bypass|instru|anweis|anterior|previo|preced|prior|system|prompt|rule|regel|direct|obey"
    "|reveal|secret|you|claude|assist|user|human|memory|approv|permi|exfil|curl|send|erongi|[^\x00-\x7f]|(?:\\b[a-z][\\W_]){4}",
    re.IGNORECASE,
)
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def clean_project_name(name: str) -> str:
    """Return the one spelling of a project's name, as its notes have it."""
    usual = normalise(name)
    if not _GENERATED.search(usual):
        return usual
    from memem.safety.credentials.redact import redact

    clean, kinds = redact(name)
    return normalise(clean) if kinds else usual


def display_name(name: str) -> str:
    """Return the name of a project, branch, file or property as a model may see it."""
    return HIDDEN_NAME if _reads_like_order(name) else name


def hide_orders(text: str) -> str:
    """Hide the names in a text that read like instructions, whatever separates their words."""
    return _LONG_WORD.sub(lambda word: HIDDEN_NAME if _reads_like_order(word[0]) else word[0], text)


def hide_joined_orders(text: str) -> str:
    """Hide the words of a running text whose joined parts read like instructions; sentences stay."""
    return _LONG_WORD.sub(lambda word: HIDDEN_NAME if _is_joined_order(word[0]) else word[0], text)


def _is_joined_order(word: str) -> bool:
    if not _ORDER_HINTS.search(word) or not _JOINED.search(word) or _UNSPACED.search(word):
        return False
    return _reads_like_order(word)


def spell_path(path: object) -> str:
    """Return a path as state stores it: one with a secret in it is redacted, and told from others by a digest."""
    text = str(path)
    if not _GENERATED.search(text.lower()):
        return text
    from memem.safety.credentials.redact import redact

    clean, kinds = redact(text)
    if not kinds:
        return text
    import hashlib

    return f"{clean}#{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def display_path(path: object) -> str:
    """Return a path as a model may see it, without secrets."""
    from memem.safety.gate import clean_line

    line = clean_line(str(path).encode("utf-8", "replace").decode())
    return HIDDEN_NAME if any(map(_reads_like_order, (line, *re.split(r"[/\\]", line)))) else line


def may_be_order(name: str) -> bool:
    """Tell whether a name is worth a closer look."""
    if name.isascii():
        return len(name) >= MIN_ORDER_CHARS and not _HARMLESS.fullmatch(name)
    if _UNSPACED.search(name):
        return len(name) >= MIN_ORDER_CHARS // 2
    return len(name) >= MIN_ORDER_CHARS and not _WORD.fullmatch(name)


def _reads_like_order(name: str) -> bool:
    if not may_be_order(name):
        return False
    from memem.safety.injection.judge import classify_name

    return bool(classify_name(name))
