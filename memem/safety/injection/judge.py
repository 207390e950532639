"""Whether a text speaks to the model that will read it, instead of recording a fact.

Notes of developers are full of commands ("always run migrations before a deploy"), of harnesses and of attacks that
somebody writes about. So it is judged by signs: whom a command is meant for, what it is about, and whether the words
are only quoted. One plain sign is enough, faint ones count together. `python -m bench injection` measures what is found
and what is taken for one.

Cheap where there is nothing: words that every sign needs are looked for first, and patterns are compiled when one is
met.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from memem.core.memory import Memory

ADDRESS, OVERRIDE, TURN, PERSONA, ACT, HIDE, LEAK, MEMORY, PERMISSION, TRIGGER, SHELL = (
    *("address", "override", "turn", "persona", "act", "hide", "leak", "memory", "permission", "trigger", "shell"),
)
TOLD = {
    ADDRESS: "it speaks to the model about its rules",
    OVERRIDE: "it tells the model to set its instructions aside",
    TURN: "it imitates a turn of the conversation",
    PERSONA: "it gives the model another role",
    ACT: "it commands the model to act when it reads this",
    HIDE: "it wants something kept from the user",
    LEAK: "it wants something sent elsewhere",
    MEMORY: "it gives orders about the memory",
    PERMISSION: "it claims a permission",
    TRIGGER: "it commands the model to act later",
    SHELL: "it commands the model to run something",
}


@dataclass(frozen=True, slots=True)
class Sign:
    """Words that speak to a model. One of the `hints`, which are parted by `·`, and one of `also` where there are some,
    is in every text that the pattern can match."""

    kind: str
    weight: int
    hints: str
    pattern: str
    also: str = ""


START = (
    r"(?:^|[.!?:;,()\[\]{}<>*\"'`「『（-]\s{0,3}|\n\s*|"
    r"\b(?:please|must|point|should|shall|will|now|then|and|just|so|also|kindly|simply|immediately|first|instead|always|"
    r"you (?:need|have|are|ought) to|want you to|need you to|ask you to|like you to|task is to|told to|"
    r"permission to|that you|you can|you may|are to)\s+)"
)
"""Where a command begins: with a sentence, or behind words that lead to one."""

ENOUGH = 2
NEAR = 240
"""Characters between two faint signs that count together."""
READS_LIKE = "reads like an instruction to the model"
MOST = 40_000
"""Characters of a text that are judged: its beginning and its end. A note is shown in far less."""
_QUOTES = str.maketrans("‘’‚‛′´ʼ“”„‟″«»＂＇", "'''''''\"\"\"\"\"\"\"\"'")
_ACCENT = r"(?<=[a-z])[\u0300-\u036f]+"
_GIVEAWAYS = ("ignore", "disregard", "forget", "instruction", "previous", "system", "prompt")
"""One of them is in what is worth a disguise."""
_LEET = str.maketrans("0134578@$!|", "oieastbasil")
_SPACED = tuple(mark.join(word[:4]) for word in _GIVEAWAYS for mark in " .-_*")
_APART = r"(?<!\w)\w(?:[ .\-_*]\w){3,}(?!\w)"
_REVERSED = tuple(word[::-1] for word in _GIVEAWAYS)
_ROT = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_ROTATED = tuple(word.translate(_ROT) for word in _GIVEAWAYS)
CODED = 24
"""Characters of a word that may be a text in code."""
_ABOUT = (
    r"\b(?:"
    r"inject\w*|jailbreak\w*|attack\w*|phrases?|payloads?|strings?|patterns?|detect\w*|classif\w*"
    r"|filter\w*|flag\w*|block\w*|reject\w*|examples?|e\.g|such as|like|contain\w*|tests?|fixtures?"
    r"|saniti[sz]\w*|regex\w*|match\w*|wrap\w*|tags?|delimiters?|tokens?|templates?|escape[sd]?|strip\w*"
    r"|tried|wrote|say|says|said|saying|headers?|markers?|quoted?|reads|typed|begins?|starts?"
    r"|red[- ]team\w*|prompts? like|users? (?:who|that)|documents?|page|paper|malicious)\b"
    r"|注入|攻击|攻撃|検出|检测|공격|атак|инъекц"
)
_ASKER, _ANSWERER = r"(?:^|\n)(?:user|human): ", r"(?:(?<=\n)|^)assistant: "
_QUOTED = r"(?s:```.*?```)|`[^`\n]+`|\"[^\"\n]{3,400}\"|(?<!\w)'[^'\n]{3,400}'(?!\w)|「[^」\n]+」|『[^』\n]+』"


def doubt(memory: Memory) -> str:
    """Why a memory should not be shown before a person has seen it; empty when it may.

    What proves it is somebody's speech: there, to ask for something to be remembered is no wonder.
    """
    said = reason("\n".join((memory.title, memory.body, *memory.keys, *memory.tags, *memory.paths)))
    return said or (reason(memory.evidence, besides=(MEMORY,)) if memory.evidence else "")


def reason(text: str, besides: Iterable[str] = ()) -> str:
    """In which way a text speaks to the model, in words; empty when it does not. `besides`: kinds that do not count."""
    found = kind(text, besides)
    return f"{READS_LIKE}: {TOLD[found]}" if found else ""


def kind(text: str, besides: Iterable[str] = ()) -> str:
    """The kind of the strongest sign in a text that speaks to the model; empty when it does not."""
    if len(text) > MOST:
        text = f"{text[: MOST // 2]}\n{text[-MOST // 2 :]}"
    for each in _readings(text):
        found = _judged(each, frozenset(besides))
        if found:
            return found
    return ""


def folded(text: str) -> str:
    """Small letters without accents, plain quotation marks, one space between words; lines stay."""
    if text.isascii():
        text = text.lower()
    else:
        text = unicodedata.normalize("NFKC", text).casefold().translate(_QUOTES)
        text = unicodedata.normalize("NFC", _compiled(_ACCENT).sub("", unicodedata.normalize("NFD", text)))
    return "\n".join([" ".join(line.split()) for line in text.split("\n")])


def _readings(text: str) -> Iterator[str]:
    """The ways in which a text can be read: as it stands, and as somebody may have disguised it."""
    plain = folded(text)
    if "assistant:" in plain and _compiled(_ASKER).search(plain):
        # What was said in a conversation, as notes hold it: who answers is named there, and not spoken to.
        plain = _compiled(_ANSWERER).sub("", plain)
    yield plain
    if not plain.isascii():
        from memem.safety.folding import LOOK_ALIKE

        alike = plain.translate(LOOK_ALIKE)
        if alike != plain:
            yield alike
    if any(hint in plain for hint in _SPACED):
        yield _compiled(_APART).sub(lambda match: re.sub(r"[ .\-_*]", "", match.group()), plain)
    read = plain.translate(_LEET)
    if any(word in read and word not in plain for word in _GIVEAWAYS):
        yield read
    if any(hint in plain for hint in _REVERSED):
        yield plain[::-1]
    if any(hint in plain for hint in _ROTATED):
        yield plain.translate(_ROT)
    yield from (folded(each) for each in _decoded(text, plain))


def _decoded(text: str, plain: str) -> Iterator[str]:
    """What stands in a text in code."""
    if "&#" in plain or "&lt;" in plain:
        import html

        yield html.unescape(text)
    if plain.count("%20") > 1 or "%3c" in plain:
        from urllib.parse import unquote

        yield unquote(text)
    if "\\u00" in plain or "\\x" in plain:
        yield re.sub(r"\\(?:u00|x)([0-9a-fA-F]{2})", lambda match: chr(int(match[1], 16)), text)
    for word in text.split():
        if len(word) >= CODED:
            yield from _as_text(word.strip("`'\"()[]{}<>.,;:!?*"))


def _as_text(word: str) -> Iterator[str]:
    """What a word says that is text in base64 or in hexadecimal digits."""
    import base64

    bare = word.rstrip("=").translate(str.maketrans("-_", "+/"))
    for decode in (bytes.fromhex, lambda code: base64.b64decode(code + "=" * (-len(code) % 4), validate=True)):
        try:
            said = decode(bare).decode()
        except ValueError:
            continue
        if said.isprintable() or "\n" in said:
            yield said


def _judged(text: str, besides: frozenset[str]) -> str:
    faint: list[tuple[int, str]] = []
    for sign, hints, also in _signs(text.isascii()):
        if sign.kind in besides or not _may_stand(text, hints, also):
            continue
        places = _places(text, sign)
        if places and sign.weight >= ENOUGH:
            return sign.kind
        faint += [(at, sign.kind) for at in places]
    faint.sort()
    pairs = ((one, other) for place, one in enumerate(faint) for other in faint[place + 1 :])
    return next((one[1] for one, other in pairs if one[1] != other[1] and other[0] - one[0] <= NEAR), "")


def _may_stand(text: str, hints: tuple[str, ...], also: tuple[str, ...]) -> bool:
    for hint in hints:
        if hint in text:
            break
    else:
        return False
    return not also or any(hint in text for hint in also)


def _places(text: str, sign: Sign) -> list[int]:
    """Where a sign stands, and is not only told about."""
    matches = list(_compiled(sign.pattern).finditer(text))
    quoted = [each.span() for each in _compiled(_QUOTED).finditer(text)] if matches else []
    return [match.start() for match in matches if not _is_told_about(text, match, quoted)]


def _is_told_about(text: str, match: re.Match[str], quoted: list[tuple[int, int]]) -> bool:
    """Whether it stands in quotation marks, in a sentence that says why."""
    start = match.start() + len(match.group()) - len(match.group().lstrip(" \n\"'`.,:;!?*->)]}"))
    inside = next((span for span in quoted if span[0] <= start and match.end() <= span[1] + 1), None)
    if inside is None:
        return False
    begin = text.rfind("\n", 0, max(inside[0] - 1, 0)) + 1
    end = text.find("\n", inside[1])
    around = f"{text[begin : inside[0]]} {text[inside[1] : end if end >= 0 else len(text)]}"
    return _compiled(_ABOUT).search(around) is not None


@cache
def _signs(in_ascii: bool) -> tuple[tuple[Sign, tuple[str, ...], tuple[str, ...]], ...]:
    """All of them, with their hints; of an ASCII text those that can stand in one."""
    from memem.safety.injection.english_faint import FAINT
    from memem.safety.injection.english_orders import ORDERS
    from memem.safety.injection.english_talk import TALK
    from memem.safety.injection.european import TONGUES
    from memem.safety.injection.scripts import SCRIPTS

    found = []
    for sign in (*TALK, *ORDERS, *FAINT, *TONGUES, *(() if in_ascii else SCRIPTS)):
        hints = tuple(hint for hint in sign.hints.split("·") if not in_ascii or hint.isascii())
        if hints:
            found.append((sign, hints, tuple(filter(None, sign.also.split("·")))))
    return tuple(found)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
