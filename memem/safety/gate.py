"""The gate: every text passes it on its way into the vault, and again when a hand-edited note is shown."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from memem.core.errors import InputError, SecretOnly
from memem.core.memory import Memory
from memem.safety.credentials import redact
from memem.safety.naming import project_named

_LINE_BREAKS = "\x0b\x0c\x85\u2028\u2029"

_NEVER_BASIC = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # controls other than tab and line breaks
    "\u00ad\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0"  # soft hyphen, fillers, vowel separators
    "\u202a-\u202e\u2066-\u2069"  # bidirectional embeddings, overrides, isolates
    "\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb"  # joiners, operators, byte order mark, annotations
    "\ufdd0-\ufdef\ufffe\uffff"  # noncharacters
)
_NEVER = (
    f"{_NEVER_BASIC}"
    "\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"  # blank letters and notes
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # tags and the rest of the ignorable block
) + "".join(chr(plane + 0xFFFE) + chr(plane + 0xFFFF) for plane in range(0x10000, 0x110000, 0x10000))

_IN_CONTEXT = "\u034f\u061c\u180b-\u180d\u180f\u200b-\u200f\ufe00-\ufe0f\U000e0100-\U000e01ef"

# The only tag sequences in use are the flags of England, Scotland and Wales. Accepting every region code
# would let a few unseen letters ride behind each black flag.
_SUBDIVISION_FLAG = "\U0001f3f4(?:{})\U000e007f".format(
    "|".join("".join(chr(0xE0000 + ord(letter)) for letter in code) for code in ("gbeng", "gbsct", "gbwls"))
)

_PICTURE = (
    "\u2190-\u21ff\u2300-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff"
)
_SIGN = "\u00a9\u00ae\u203c\u2049\u2122\u2139"  # drawn as emoji on request, never joined to another
_RIGHT_TO_LEFT = (
    "\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdcf\ufdf0-\ufdfb\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
)
_CURSIVE = (
    "\u0600-\u061b\u061d-\u085f\u0870-\u08ff\u1800-\u180a\u1810-\u18af\ua840-\ua87f\ufb50-\ufdcf\ufdf0-\ufdfb"
    "\ufe70-\ufefc\U00010ac0-\U00010aff\U00010d00-\U00010fff\U0001e900-\U0001e95f"
)
_INDIC = (
    "\u0900-\u0dff\u1000-\u109f\u1700-\u17b3\u17b6-\u17ff\u1a20-\u1aaf\u1b00-\u1c4f\ua800-\ua83f\ua880-\uaaff"
    "\uabc0-\uabff\U00011000-\U00011fff"
)
_VIRAMA = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1950-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf"
_IDEOGRAPH = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fffd\U00030000-\U0003fffd"
_WITH_VARIANTS = "\u1000-\u109f\u2190-\u22ff\u2a00-\u2aff\u3001-\u303f\ua840-\ua87f\uff01-\uff65\U00013000-\U0001345f"
_COMBINING = "\u0300-\u034e\u0350-\u036f\u0591-\u05c7\u064b-\u065f"

# Each line: the character before, the one in question, the one after. A neighbour is a character that always
# stays or (before) one already kept, so nothing is kept on the strength of a neighbour that goes.
_PLACES = (
    f"[{_UNSPACED}]\u200b[{_UNSPACED}]",  # parts the words of scripts written without spaces
    f"[{_INDIC}][\u200c\u200d][{_INDIC}]",
    f"[{_VIRAMA}][\u200c\u200d].?",  # also at the end of a word
    f"[^\\s\u200b-\u200f]\u200c[{_CURSIVE}]",  # Persian suffixes follow foreign words too
    f"[{_CURSIVE}]\u200d.?",  # an initial form, as Persian writes before an abbreviation's full stop
    f"[{_PICTURE}\ufe0e\ufe0f]\u200d[{_PICTURE}]",
    f"[{_RIGHT_TO_LEFT}][\u200e\u200f\u061c].?",
    f".?[\u200e\u200f\u061c][{_RIGHT_TO_LEFT}]",
    f"[{_COMBINING}]\u034f[{_COMBINING}]",
    "[0-9#*]\ufe0f\u20e3",  # a digit only as a keycap: elsewhere it would carry a hidden bit
    f"[{_PICTURE}{_SIGN}][\ufe0e\ufe0f].?",
    "[\u1820-\u18aa][\u180b-\u180d\u180f].?",
    f"[{_IDEOGRAPH}{_WITH_VARIANTS}][\ufe00-\ufe02].?",
    f"[{_IDEOGRAPH}][\U000e0100-\U000e01ef].?",
)

# Beyond the basic plane this asks for more than is dangerous: each further range costs time on every letter.
_SUSPECT = re.compile(
    f"[\r{_LINE_BREAKS}{_NEVER_BASIC}\u034f\u061c\u180b-\u180f\u200b-\u200f\ufe00-\ufe0f\u2800\ud800-\udfff"
    "\U00016fe4-\U0001d17a\U0001fffe-\U0010ffff]"
)
_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_CARRIAGE_RETURN = re.compile(r"\r\n?")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LINE_BREAK = re.compile(f"[{_LINE_BREAKS}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NEVER_OR_FLAG = re.compile(f"(?P<flag>{_SUBDIVISION_FLAG})|[{_NEVER}]")
_CONDITIONAL = re.compile(f"[{_IN_CONTEXT}]")
_BRAILLE_RUN = re.compile("[\u2800-\u28ff]+")
# A string needs its terminator on the same line: swallowing the rest would lose what a person wrote.
_ANSI = re.compile(
    r"(?:\x1b\[[0-?]*+|\x9b[0-?]++)[ -/]*+[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)"
    r"|\x1b(?:[#%(-/][0-~]|[78=>])"
)


def neutralise(text: str) -> tuple[str, int]:
    """The text without invisible tricks, and how many were removed or replaced. Twice is the same as once."""
    if (_ASCII_CONTROL if text.isascii() else _SUSPECT).search(text) is None:
        return text, 0
    text = _CARRIAGE_RETURN.sub("\n", text)
    text = _SURROGATE_PAIR.sub(_joined, text)
    text, sequences = _ANSI.subn("", text)
    text, breaks = _LINE_BREAK.subn("\n", text)
    text, surrogates = _SURROGATE.subn("\ufffd", text)
    text, unwanted = _without_what_never_belongs(text)
    text, misplaced = _without_what_is_misplaced(text)
    text, blanks = _with_blank_braille_as_spaces(text)
    return text, sequences + breaks + surrogates + unwanted + misplaced + blanks


def _joined(pair: re.Match[str]) -> str:
    return pair.group().encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _without_what_never_belongs(text: str) -> tuple[str, int]:
    kept = _NEVER_OR_FLAG.sub(lambda match: match["flag"] or "", text)
    return kept, len(text) - len(kept)


def _without_what_is_misplaced(text: str) -> tuple[str, int]:
    pieces: list[str] = []
    previous, position = "", 0
    for match in _CONDITIONAL.finditer(text):
        start, end = match.span()
        if start > position:
            pieces.append(text[position:start])
            previous = text[start - 1]
        position = end
        if _belonging().fullmatch(previous + match.group() + text[end : end + 1]):
            previous = match.group()
            pieces.append(previous)
    pieces.append(text[position:])
    kept = "".join(pieces)
    return kept, len(text) - len(kept)


@cache
def _belonging() -> re.Pattern[str]:
    return re.compile("|".join(_PLACES), re.DOTALL)


def _with_blank_braille_as_spaces(text: str) -> tuple[str, int]:
    """Blank cells stay in a braille word or drawing; on their own they only pretend to be nothing."""
    blanks = 0

    def visible(run: re.Match[str]) -> str:
        nonlocal blanks
        if run.group().strip("\u2800"):
            return run.group()
        blanks += len(run.group())
        return " " * len(run.group())

    return _BRAILLE_RUN.sub(visible, text), blanks


MAX_BODY = 100_000
MAX_TITLE = 300
MAX_ITEMS = 50
MAX_ITEM = 300
SHORTEST_SECRET = 8
"""`pw: abcd`: the many short values of a note hold no secret and need no looking through."""
ORDER = "instruction"
"""Among what was taken out: words to the model, where none belong."""

_TEXTS = ("body", "evidence")
_LINES = (
    *("title", "kind", "status", "stale_because", "author", "created", "updated", "valid_from", "valid_to"),
    *("supersedes", "superseded_by", "source_type", "source_session", "source_turn"),
)
_LISTS = ("tags", "keys", "paths", "anchors", "related", "contradicts")
_NAMES = ("project",)
_BESIDE = frozenset({*_LINES, "anchors", "related", "contradicts"} - {"title"})
"""What stands beside the statement. It is shown too, but nobody is asked about it: a date, a name or a link that gives
orders is none."""
EVERYTHING = (*_TEXTS, *_LINES, *_LISTS, *_NAMES)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A memory that may pass, and what was taken out of it."""

    memory: Memory
    redacted: tuple[str, ...] = ()
    neutralised: int = 0

    @property
    def doubt(self) -> str:
        """Why it should wait for a person: it speaks to the model. Empty when it records a fact."""
        from memem.safety.injection import judge as injection_judge

        return injection_judge.doubt(self.memory)


def judge(memory: Memory, fields: Collection[str] = EVERYTHING) -> Verdict:
    """Clean what somebody wants to keep; refuse what is empty or too large. Only the given fields are judged."""
    if "body" in fields:
        if not memory.body.strip():
            raise InputError("There is nothing to remember: the text is empty.")
        if len(memory.body) > MAX_BODY:
            raise InputError(
                f"The text has {len(memory.body):,} characters; a memory holds at most {MAX_BODY:,}. "
                "Save the conclusion, or split it."
            )
    if "title" in fields and len(memory.title) > MAX_TITLE:
        raise InputError(f"The title has {len(memory.title):,} characters; use at most {MAX_TITLE}.")
    for name in _LISTS:
        items = getattr(memory, name) if name in fields else ()
        if len(items) > MAX_ITEMS or any(len(item) > MAX_ITEM for item in items):
            raise InputError(f"Too many or too long {name}: at most {MAX_ITEMS} of {MAX_ITEM} characters each.")
    verdict = cleanse(memory, fields)
    if "body" in fields and not verdict.memory.body.strip():
        raise InputError("There is nothing to remember: the text holds only invisible characters.")
    if "body" in fields and _says_nothing(verdict):
        raise SecretOnly("The text is nothing but a secret. memem keeps no secrets; nothing was saved.")
    return verdict


def cleanse(memory: Memory, fields: Collection[str] = EVERYTHING) -> Verdict:
    """The memory without secrets and invisible tricks. Also what a note edited by hand shows to others."""
    cleaner = _Cleaner()
    changes: dict[str, Any] = {}
    for name in fields:
        value = getattr(memory, name)
        clean = cleaner.beside if name in _BESIDE else cleaner.line
        if name in _TEXTS:
            changes[name] = cleaner.text(value).strip()
        elif name in _LINES:
            changes[name] = clean(value)
        elif name in _LISTS:
            changes[name] = tuple(item for item in map(clean, value) if item)
        elif name in _NAMES:
            changes[name] = project_named(value)
    return Verdict(replace(memory, **changes), tuple(dict.fromkeys(cleaner.found)), cleaner.removed)


def clean_text(text: str) -> str:
    """Any text without secrets and invisible tricks: before it is cut, since half a secret is not known for one."""
    return _Cleaner().text(text)


def clean_line(text: str) -> str:
    """Any text as one line that may be written down: the reason of an event, what went wrong."""
    return _Cleaner().line(text)


def recorded_line(text: str) -> str:
    """The same of a line that is shown by itself; nothing is left of one that speaks to the model."""
    from memem.safety.injection import judge as injection_judge

    line = clean_line(text)
    return "" if injection_judge.reason(line) else line


class _Cleaner:
    """Cleans texts and remembers what it took out of them."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.removed = 0

    def text(self, text: str) -> str:
        if not text:
            return text
        visible, removed = neutralise(text)
        self.removed += removed
        if len(visible) < SHORTEST_SECRET:
            return visible
        safe, kinds = redact.redact(visible)
        self.found.extend(kinds)
        return safe

    def line(self, text: str) -> str:
        return " ".join(self.text(text).split())

    def beside(self, text: str) -> str:
        line = self.line(text)
        if line.isascii() and " " not in line:
            return line  # most of them are ids, dates and names
        from memem.safety.injection import judge as injection_judge

        if not injection_judge.reason(line):
            return line
        self.found.append(ORDER)
        return ""


def _says_nothing(verdict: Verdict) -> bool:
    rest = redact.without_marks(verdict.memory.body)
    return rest != verdict.memory.body and not any(character.isalnum() for character in rest)


def safely(what: str) -> str:
    """The same in one line, without secrets."""
    return clean_line(what)
