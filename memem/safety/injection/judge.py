"""Decide whether a text gives orders to the model that reads it, instead of recording a fact.

Developers' notes are full of commands ("always run migrations before a deploy") and of attacks that somebody writes
about. So the signs ask whom a command addresses, what it is about, and whether the words are only quoted. One plain
sign is enough; faint ones count together. `python -m bench injection` measures it.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from memem.core.data_files import Patterns, expand, load_table
from memem.core.memory import Memory
from memem.safety.naming import may_be_order

MEMORY = "memory"
REASONS = {
    "address": "it addresses the model about its rules",
    "override": "it tells the model to set its instructions aside",
    "turn": "it imitates a turn of the conversation",
    "persona": "it gives the model another role",
    "act": "it commands the model to act when it reads this",
    "hide": "it asks the model to hide something from the user",
    "leak": "it asks the model to send something elsewhere",
    MEMORY: "it gives orders about what memem stores or recalls",
    "permission": "it claims to have permission",
    "trigger": "it commands the model to act later",
    "shell": "it commands the model to run something",
}
READS_LIKE = "reads like an instruction to the model"
MAX_FAINT_DISTANCE = 240  # characters between two faint signs that count together
MAX_CHARS = 40_000  # only the beginning and the end of a longer text are judged; far less of a note is shown
MIN_ENCODED_CHARS = 24
MAX_NAME_CHARS = 400  # no more of a name is shown
MIN_NAME_WORDS = 3  # fewer give no order
MIN_JOINED_CHARS = 20
_PATTERNS = Patterns(__file__, "judge.toml")
_QUOTES = str.maketrans("‘’‚‛′´ʼ“”„‟″«»＂＇", "'''''''\"\"\"\"\"\"\"\"'")
# A text worth a disguise has one of these words.
_GIVEAWAYS = ("ignore", "disregard", "forget", "instruction", "previous", "system", "prompt")
_LEET = str.maketrans("0134578@$!|", "oieastbasil")
_SPACED = tuple(mark.join(word[:4]) for word in _GIVEAWAYS for mark in " .-_*")
_REVERSED = tuple(word[::-1] for word in _GIVEAWAYS)
_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_ROTATED = tuple(word.translate(_ROT13) for word in _GIVEAWAYS)


@dataclass(frozen=True, slots=True)
class Sign:
    """Words that speak to a model. Every match has one of the `hints`, and one of `also` if there are any."""

    kind: str
    pattern: str
    hints: tuple[str, ...]
    also: tuple[str, ...]
    faint: bool


def explain_doubt(memory: Memory) -> str:
    """Say why a person has to see a memory before it is shown; empty when nobody has to."""
    reason = explain("\n".join((memory.title, memory.body, *memory.keys, *memory.tags, *memory.paths)))
    # The project's own tag does not count: its name is hidden wherever it is shown.
    project = _PATTERNS["letters"].findall(memory.project)
    names = [*memory.paths, *(tag for tag in memory.tags if _PATTERNS["letters"].findall(tag) != project)]
    reason = reason or explain_names((*names, *" ".join((memory.title, *memory.keys)).split()))
    # The evidence quotes somebody, who may well ask for something to be remembered.
    if reason or not memory.evidence:
        return reason
    from memem.core.evidence import strip_speakers  # pinned notes, which every session start reads, rarely have any

    return explain(strip_speakers(memory.evidence), ignored=(MEMORY,))


def explain(text: str, ignored: Iterable[str] = ()) -> str:
    """Say how a text speaks to the model; empty when it does not. `ignored` kinds do not count."""
    kind = classify(text, ignored)
    return f"{READS_LIKE}: {REASONS[kind]}" if kind else ""


def explain_names(names: Iterable[str]) -> str:
    """Say how one of some names speaks to the model; empty when none does."""
    kind = next(filter(None, (classify_name(name) for name in names if may_be_order(name))), "")
    return f"{READS_LIKE}: {REASONS[kind]}" if kind else ""


def classify(text: str, ignored: Iterable[str] = ()) -> str:
    """Return the kind of instruction in a text; empty when there is none."""
    if len(text) > MAX_CHARS:
        text = f"{text[: MAX_CHARS // 2]}\n{text[-MAX_CHARS // 2 :]}"
    ignored = frozenset(ignored)
    return next(filter(None, (_classify_reading(reading, ignored) for reading in _readings(text))), "")


@lru_cache(maxsize=1_024)
def classify_name(name: str) -> str:
    """Return the kind of instruction that the words of a name form, whatever stands between them."""
    name = name[:MAX_NAME_CHARS]
    for text in dict.fromkeys(_spell_out(name)):
        words = text.split()
        joined = "".join(words) if len(words) > len(text) // 3 else max(words, key=len, default="")
        if len(joined) >= MIN_JOINED_CHARS and _PATTERNS["joined"].search(joined):
            return "override"
        is_short = len(words) < MIN_NAME_WORDS and text.isascii()
        if is_short or not any(_has_hints(text, sign) for sign in _load_signs(text.isascii())):
            continue
        if _PATTERNS["cut_short"].search(text):
            return "override"
        if not _PATTERNS["routine_alone"].search(text):
            words = _PATTERNS["routine"].sub("", text).split()
            # An order may begin at any word.
            if kind := classify("\n".join(" ".join(words[start:]) for start in range(len(words)))):
                return kind
    return ""


def _spell_out(name: str) -> Iterator[str]:
    """Yield the words of a name with spaces between them, in each way to read it."""
    from memem.safety.folding import LOOK_ALIKE, fold

    for _ in range(2):  # it may have been encoded twice
        if "%" in name:
            from urllib.parse import unquote

            name = unquote(name)
    folded = fold(name)
    for text in (name, folded.text) if folded else (name,):
        for parted in (_PATTERNS["hump"].sub(" ", text), text):
            words = _fold(" ".join(_PATTERNS["letters"].findall(parted)))
            yield words
            if not words.isascii():
                yield words.translate(LOOK_ALIKE)
        if any(word in words for word in _REVERSED):
            yield words[::-1]
        if "x" in words and "ignor" in words:
            yield words.replace("x", " ")
        if not text.isascii():
            parted = "".join(char if char.isascii() or _is_cased(char) else " " for char in text)
            yield _fold(" ".join(_PATTERNS["letters"].findall(parted))).translate(LOOK_ALIKE)
        if any(map(str.isdigit, text)):
            yield _fold(" ".join(_PATTERNS["signs"].findall(text))).translate(_LEET)
    if len(name) >= MIN_ENCODED_CHARS:
        yield from (_fold(" ".join(_PATTERNS["letters"].findall(text))) for text in _decode_word(name))


def _is_cased(char: str) -> bool:
    """Whether a character belongs to a word in a script with cases; others may separate words, such as `²` and `ー`."""
    return unicodedata.category(char) in ("Lu", "Ll", "Lt", "Mn", "Mc", "Cf")


def _fold(text: str) -> str:
    """Lower case, drop accents, normalise quotation marks and spaces; lines stay."""
    if text.isascii():
        text = text.lower()
    else:
        text = unicodedata.normalize("NFKC", text).casefold().translate(_QUOTES)
        text = unicodedata.normalize("NFC", _PATTERNS["accent"].sub("", unicodedata.normalize("NFD", text)))
    return "\n".join([" ".join(line.split()) for line in text.split("\n")])


def _readings(text: str) -> Iterator[str]:
    """Yield the text as it is, and then without each disguise it may have."""
    plain = _fold(text)
    if "assistant:" in plain and _PATTERNS["asker"].search(plain):
        # A recorded conversation names the speaker; it does not address the assistant.
        plain = _PATTERNS["answerer"].sub("", plain)
    yield plain
    if not plain.isascii():
        from memem.safety.folding import LOOK_ALIKE

        alike = plain.translate(LOOK_ALIKE)
        if alike != plain:
            yield alike
    if any(hint in plain for hint in _SPACED):
        yield _PATTERNS["spaced_letters"].sub(lambda match: re.sub(r"[ .\-_*]", "", match.group()), plain)
    spelled = plain.translate(_LEET)
    if any(word in spelled and word not in plain for word in _GIVEAWAYS):
        yield spelled
    if any(hint in plain for hint in _REVERSED):
        yield plain[::-1]
    if any(hint in plain for hint in _ROTATED):
        yield plain.translate(_ROT13)
    yield from map(_fold, _decode(text, plain))


def _decode(text: str, plain: str) -> Iterator[str]:
    if "&#" in plain or "&lt;" in plain:
        import html

        yield html.unescape(text)
    if plain.count("%20") > 1 or "%3c" in plain:
        from urllib.parse import unquote

        yield unquote(text)
    if "\\u00" in plain or "\\x" in plain:
        yield re.sub(r"\\(?:u00|x)([0-9a-fA-F]{2})", lambda match: chr(int(match[1], 16)), text)
    for word in text.split():
        if len(word) >= MIN_ENCODED_CHARS:
            yield from _decode_word(word.strip("`'\"()[]{}<>.,;:!?*"))


def _decode_word(word: str) -> Iterator[str]:
    """Yield the text that a word encodes in hexadecimal digits or in base64."""
    import base64

    bare = word.rstrip("=").translate(str.maketrans("-_", "+/"))
    for decode in (bytes.fromhex, lambda code: base64.b64decode(code + "=" * (-len(code) % 4), validate=True)):
        try:
            decoded = decode(bare).decode()
        except ValueError:
            continue
        if decoded.isprintable() or "\n" in decoded:
            yield decoded


def _classify_reading(text: str, ignored: frozenset[str]) -> str:
    faint: list[tuple[int, str]] = []
    for sign in _load_signs(text.isascii()):
        if sign.kind in ignored or not _has_hints(text, sign):
            continue
        matches = list(_compile(sign.pattern).finditer(text))
        quotations = [match.span() for match in _PATTERNS["quotation"].finditer(text)] if matches else []
        places = [match.start() for match in matches if not _is_example(text, match, quotations)]
        if places and not sign.faint:
            return sign.kind
        faint += [(place, sign.kind) for place in places]
    faint.sort()
    for number, (place, kind) in enumerate(faint):
        if any(other != kind and later - place <= MAX_FAINT_DISTANCE for later, other in faint[number + 1 :]):
            return kind
    return ""


def _has_hints(text: str, sign: Sign) -> bool:
    for hint in sign.hints:
        if hint in text:
            break
    else:
        return False
    return not sign.also or any(hint in text for hint in sign.also)


def _is_example(text: str, match: re.Match[str], quotations: list[tuple[int, int]]) -> bool:
    """Accept a match in quotation marks, if its line says why it is quoted."""
    start = match.start() + len(match.group()) - len(match.group().lstrip(" \n\"'`.,:;!?*->)]}"))
    inside = next((span for span in quotations if span[0] <= start and match.end() <= span[1] + 1), None)
    if inside is None:
        return False
    line_start = text.rfind("\n", 0, max(inside[0] - 1, 0)) + 1
    line_end = text.find("\n", inside[1])
    around = f"{text[line_start : inside[0]]} {text[inside[1] : line_end if line_end >= 0 else len(text)]}"
    return _PATTERNS["about"].search(around) is not None


@cache
def _load_signs(ascii_only: bool) -> tuple[Sign, ...]:
    """Read the signs of all languages, or those that an ASCII text can have."""
    signs = []
    for name in ("english.toml", "european.toml", *(() if ascii_only else ("scripts.toml",))):
        table = load_table(__file__, name)
        for row in table["signs"]:
            hints = tuple(hint for hint in _split(row["hints"]) if hint.isascii() or not ascii_only)
            if hints:
                pattern = expand(row["pattern"], table.get("fragments", {}))
                signs.append(Sign(row["kind"], pattern, hints, _split(row.get("also", "")), row.get("faint", False)))
    return tuple(signs)


def _split(hints: str) -> tuple[str, ...]:
    return tuple(filter(None, hints.replace("\n", "").split("·")))


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
