"""A text as words and numbers: what each is, and what it is compared by."""

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from memem.compare import families
from memem.compare import lexicon as words


@dataclass(frozen=True, slots=True)
class Number:
    """A number. Equal keys mean an equal amount; a version or a date is only equal to itself."""

    key: str
    digits: str
    unit: str = ""
    measures: str = ""
    version: bool = False


_PLAIN = re.compile(r"#?(\d{1,3}(?:[,_]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)([^\W\d_]{1,12}|%)?$")
_VERSION = re.compile(r"v\d+(?:\.\w+)*|\d+(?:\.\d+){2,}(?:[-+.]?\w+)*|\d+\.x(?:\.x)?$")
_MOMENT = re.compile(r"\d{4}-\d{2}(?:-\d{2})?(?:t[\d:.]+z?)?$|\d{1,2}:\d{2}(?::\d{2})?$|\d{1,2}[./]\d{1,2}[./]\d{2,4}$")
_SHORT_UNITS = {"m": "min", "k": ""}


def number_of(lowered: str) -> Number | None:
    """The number that a word is, or None."""
    if digits := families.NUMBER_WORDS.get(lowered):
        return Number(digits, digits)
    if not any(map(str.isdigit, lowered)):
        return None
    if _MOMENT.match(lowered):
        return Number(lowered, lowered, measures="moment")
    if _VERSION.fullmatch(lowered):
        return Number(lowered, lowered, version=True)
    plain = _PLAIN.match(lowered)
    return _amount(plain) if plain else None


def _amount(plain: re.Match[str]) -> Number | None:
    digits, unit = plain[1].replace(",", "").replace("_", ""), plain[2] or ""
    number = Number(digits, digits)
    if not unit:
        return number
    if unit == "k":
        return Number(str(int(Decimal(digits) * 1000)), digits + "k")
    return with_unit(number, _SHORT_UNITS.get(unit, unit))


def with_unit(number: Number, unit: str) -> Number | None:
    """A number with its unit; amounts of time are brought to one unit, so that 60 s is 1 min."""
    if unit not in families.UNITS:
        return None
    name, measures, factor = families.UNITS[unit]
    if factor and number.digits.replace(".", "", 1).isdigit():
        amount = (Decimal(number.digits) * factor).normalize()
        return Number(f"{measures}:{amount:f}", number.digits, name, measures)
    return Number(f"{number.digits} {name}", number.digits, name, measures)


WORD, NAME, LITERAL, NUMBER, VERSION = "word", "name", "literal", "number", "version"
HEAD, VERB, VALUE, SCOPE, ASIDE = "head", "verb", "value", "scope", "aside"
HELD, DENIED, GONE = "", "not", "gone"


@dataclass(slots=True)
class Token:
    """One word of a sentence. `key` is what it is compared by, `raw` how it was written."""

    key: str
    raw: str
    kind: str = WORD
    exact: bool = False
    number: Number | None = None
    content: bool = True
    quiet: bool = False
    low: str = ""
    stem: str = ""
    role: str = HEAD
    state: str = HELD
    alone: bool = True
    """Whether no other content word follows it directly: `npm` in `we use npm`, not in `the npm folder`."""
    follows: str = ""
    """The word before it, function words included."""
    clause: int = 0
    named: bool = False
    """Whether its place makes it a name, or part of one: the `new` of `called new`, the `3` of `worker 3`."""
    weight: float = 1.0

    @property
    def is_value(self) -> bool:
        return self.kind != WORD

    @property
    def is_generic(self) -> bool:
        return self.stem in _GENERIC_STEMS

    @property
    def stands_for_a_place(self) -> bool:
        placed = self.role in (HEAD, SCOPE) or self.follows in words.SCOPING or self.follows == "on"
        return self.key in families.SCOPES and placed


def singular(word: str) -> str:
    """A word without the ending of its plural or third person; every word of one form gets the same."""
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        if word.endswith("ies") and len(word) > 4:
            return word[:-3] + "y"
        if word.endswith(("sses", "xes", "ches", "shes")):
            return word[:-2]
        return word[:-1]
    return word


def stem(word: str) -> str:
    """A word without what inflects it, roughly: `use`, `used` and `using` are one."""
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 2 and word.endswith(ending):
            word = word[: -len(ending)]
            return word[:-1] if word[-1:] == word[-2:-1] and word[-1:] not in "sl" else word
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


VERB_STEMS = frozenset(map(stem, words.VERBS))

_GENERIC_STEMS = frozenset(map(stem, words.GENERIC))

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"

_W = rf"[^\W{_CJK}]"

_CJK_WORDS = sorted(
    (
        word
        for word in {
            *words.NEGATORS, *words.OPPOSITES, *words.LIMITS, *families.UNITS, *words.MOVES, *words.CLAUSE_ENDS,
            *words.VERBS, *families.SCOPES, *words.IGNORED,
            *words.GONE_BEFORE, *words.GONE_AFTER,
            *("不同", "不过", "不仅", "不但", "不错", "无论", "非常", "未来", "特别", "切换到", "迁移到", "改用"),
        }
        if len(word) > 1 and re.match(f"[{_CJK}]", word)
    ),
    key=len,
    reverse=True,
)  # fmt: skip

_TOKEN = re.compile(
    "|".join(
        (
            r"(?P<word>[A-Za-z]+(?=[ \n]))",
            r"(?P<url>[A-Za-z][A-Za-z0-9+.-]*://[^\s<>\"'`)\]]*[^\s<>\"'`)\].,;:!?])",
            r"(?P<template>(?:(?<![A-Za-z0-9_./-])[A-Za-z0-9_./-]+)?<[A-Za-z][A-Za-z0-9_-]*>"
            r"(?:[A-Za-z0-9_./-]*<[A-Za-z][A-Za-z0-9_-]*>)*[A-Za-z0-9_]*)",
            rf"(?P<chunk>(?:--?(?={_W})|[~$@#./*]{{1,3}}(?={_W}))?{_W}+"
            rf"(?:(?:'|[.\-/@+#\\~*&]+|:(?=\d)|(?<=\d),(?=\d{{3}}(?!\d))){_W}+)*"
            r"(?:\+\+|[%#](?!\w)|/(?=\s|$|`)|\(\))?)",
            r"(?P<arrow>(?<![-=])<?[-=]+>|[→⇒⟶⟹←])",
            rf"(?P<cjk>{'|'.join(_CJK_WORDS)}|[{_CJK}])",
            r"(?P<end>(?<![.!?;。！？；…])[.!?;。！？；…]+(?=[\s\"'`)*_\]]|$|[^\x00-\x7f])|\n+|[。！？；])",
            r"(?P<quote>[`\"“”„«»「」『』])",
            r"(?P<sign>[<>=!]=|[<>$^~+]|!(?=\w)|(?<=\s)[*/%&](?=\s)|[^\s\w\x00-\x7f‘’‚‹›·•…‐‑—–、。！？；《》〈〉【】（）]|%)",
            r"(?P<be>[=:])",
            r"(?P<pause>[,()\[\]{}—–、|]|(?<=\s)-+(?=\s))",
        )
    )
)

_MARKUP = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|>[ \t]?(?![\d=]))", re.MULTILINE)

_EMPHASIS = re.compile(r"(\*{1,3}|(?<!\w)_{1,2}|==)(?=[^\s*_=])([^*\n]*?[^\s*_=])\1(?![\w*])")

_BOX = re.compile(r"^([ \t]*[-*+•][ \t]+)\[([ xX])\](.*)", re.MULTILINE)

_WRAPPED = re.compile(r"^([^\n]{60,}[^\n.!?;:。！？；])\n(?=[ \t]*(?!\d+[.)][ \t])[a-z\d])", re.MULTILINE)
"""A line that is so long, ends within a sentence, and is gone on with in small letters, was wrapped."""

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufe0e\ufe0f\ufeff]")

_LINK = re.compile(r"\[([^\]\[]*)\]\(([^)\s\[]*)\)")

_WIKI = re.compile(r"\[\[([^\]\[|]*)(?:\|[^\]\[]*)?\]\]")

_LEAD_IN = re.compile(
    r"^\W*(?:please note|note|nb|fyi|reminder|correction|update)(?: that\b|:)\s*(?=\S)", re.IGNORECASE
)

_FROM_NOW_ON = re.compile(r"\b(?:from now on|going forward|ab jetzt|ab sofort)\b", re.IGNORECASE)

_SHORTENED = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|approx)\.", re.IGNORECASE)

_LITERAL = re.compile(r"[</_.@\\$~:*#+()&]|^--?\w|\d|[a-z][A-Z]|[A-Z]{2}[a-z]{2}")


def unwrapped(text: str) -> str:
    """The text with every sentence on one line that only the width of an editor has broken."""
    return _WRAPPED.sub(r"\1 ", text)


def plain(text: str) -> str:
    """The text in one Unicode form and without its markdown."""
    text = unwrapped(_UNSEEN.sub("", unicodedata.normalize("NFKC", text)).replace("’", "'"))
    text = _BOX.sub(lambda box: box[1] + box[3] + (", undone" if box[2] == " " else ", done"), text)
    text = _FROM_NOW_ON.sub("", _LEAD_IN.sub("", text))
    text = _WIKI.sub(r"\1", _LINK.sub(r"\1 \2", text))
    return _SHORTENED.sub(r"\1", _EMPHASIS.sub(r"\2", _MARKUP.sub("", text)))


def cut(text: str) -> list[list[Token]]:
    """The words of a plain text, sentence by sentence."""
    found: list[list[Token]] = [[]]
    quoted = ""
    for match in _TOKEN.finditer(text):
        kind, raw = match.lastgroup, match.group()
        if kind in ("word", "chunk", "cjk", "template"):
            found[-1] += [Token(*word) for word in _words(raw, quoted == "`", not found[-1])]
        elif kind == "end":
            if "?" in raw:
                found[-1].append(Token(*_small("?", raw)))
            found.append([])
            quoted = ""
        elif kind == "quote":
            quoted = "" if quoted else raw
        else:
            found[-1].append(Token(*_sign(kind, raw)))
    return found


_Word = tuple[str, str, str, bool, Number | None, bool, bool, str, str]
"""What is known of a word wherever it stands: the first fields of a token."""


def _sign(kind: str | None, raw: str) -> _Word:
    if kind == "pause":
        return _small(",", raw, quiet=True)
    if kind == "be":
        return _small("be", raw)
    if kind == "arrow":
        return _small("<-" if raw[0] in "<←" and raw[-1] != ">" else "->", raw)
    if raw == "!":
        return _small("not", raw)
    return (raw, raw, LITERAL, True, None, True, False, raw, raw)


@lru_cache(maxsize=4096)
def _words(raw: str, literal: bool, begins: bool) -> tuple[_Word, ...]:
    """A run of letters and signs as words: mostly one; `isn't` is two, `Redis's` loses its ending."""
    lowered = raw.casefold()
    if lowered in ("can't", "cannot"):
        return (_small("can", "can"), _small("not", "not"))
    if lowered.endswith("n't"):
        denied = {"wo": "will", "sha": "shall"}.get(lowered[:-3], lowered[:-3])
        return (*_words(denied, literal, begins), _small("not", "not"))
    before, apostrophe, after = raw.partition("'")
    if apostrophe and after.casefold() in ("s", "re", "ll", "ve", "d", "m", ""):
        return _words(before, literal, begins)
    if apostrophe and len(before) <= 2:  # l'API, d'abord, qu'on
        return (*_words(before, literal, begins), *_words(after, literal, False))
    return (_word(raw, lowered, literal, begins),)


def _word(raw: str, lowered: str, literal: bool, begins: bool) -> _Word:
    if number := number_of(lowered):
        return (number.key, raw, VERSION if number.version else NUMBER, False, number, True, False, lowered, number.key)
    if not literal and (begins or raw not in _NAMES_TOO) and lowered in _SMALL_WORDS:
        return _small("be" if lowered in words.BE else lowered, raw, quiet=lowered in words.IGNORED)
    if _LITERAL.search(raw):
        kind = NAME if raw.isalpha() and not literal else LITERAL
        return (lowered, raw, kind, True, None, True, False, lowered, lowered)
    key = singular(lowered)
    if literal:
        return (key, raw, NAME, True, None, True, False, lowered, stem(key))
    is_name = (raw != lowered and not begins) or lowered in _KNOWN_NAMES
    return (key, raw, NAME if is_name else WORD, False, None, True, False, lowered, stem(key))


_KNOWN_NAMES = families.RIVALS.keys() - families.COMMON
_NAMES_TOO = ("A", "I", "May")
_SMALL_WORDS = words.BE | words.IGNORED | words.FUNCTION | words.NEGATORS | words.LIMITS.keys()


def _small(key: str, raw: str, *, quiet: bool = False) -> _Word:
    return (key, raw, WORD, False, None, False, quiet, raw.casefold(), stem(key))


def with_units(tokens: list[Token]) -> list[Token]:
    """`30` followed by `seconds` is one token; `per second` and `every third` have a number of their own."""
    merged: list[Token] = []
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.key == "one" and after is not None and after.content:
            _count(token, "1")
        last = merged[-1] if merged else None
        if last is not None and last.number and not last.number.unit and token.low in families.UNITS:
            number = with_unit(last.number, token.low)
            if number:
                merged[-1] = _measured(number, f"{last.raw} {token.raw}")
                continue
        if last is not None and last.key in _PER and token.low in families.UNITS:
            unit = families.UNITS[token.low][0]
            merged.append(_measured(Number(unit, "1", unit, "rate"), token.raw))
            continue
        if last is not None and last.key in _PER and token.low in families.ORDINALS:
            _count(token, families.ORDINALS[token.low])
        merged.append(token)
    return merged


def _count(token: Token, digits: str) -> None:
    token.number, token.kind, token.key, token.stem = Number(digits, digits), NUMBER, digits, digits


def _measured(number: Number, raw: str) -> Token:
    return Token(number.key, raw, NUMBER, number=number, low=raw.casefold(), stem=number.key)


_PER = frozenset("per every each jede jeden pro par cada 每".split())
