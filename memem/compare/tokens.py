"""Split a text into sentences of comparable words, names and numbers."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from memem.core.data_files import load_table

WORD, NAME, NUMBER, SMALL, BREAK = "word", "name", "number", "small", "break"


@dataclass(frozen=True, slots=True)
class Token:
    """A word, compared by `key`; `raw` is its spelling."""

    key: str
    raw: str
    kind: str

    @property
    def is_content(self) -> bool:
        return self.kind in (WORD, NAME, NUMBER)

    @property
    def is_value(self) -> bool:
        return self.kind in (NAME, NUMBER)

    @property
    def is_verb(self) -> bool:
        return self.kind in (WORD, SMALL) and (self.key == "be" or self.raw.casefold() in words("verbs"))

    @property
    def is_telling(self) -> bool:
        """Whether the word can show what a statement is about."""
        return self.is_content and not self.is_verb


@dataclass(frozen=True)
class Sentence:
    """The words of a sentence, without those that say nothing."""

    tokens: tuple[Token, ...]
    goes_on: bool  # begins with a pronoun, so it needs the sentence before it
    is_definite: bool  # says that something is the one and only: "X is our Y"
    is_question: bool

    @cached_property
    def spoken(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.kind != BREAK)

    @cached_property
    def content(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.is_content)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        return tuple(token.key for token in self.spoken)

    @cached_property
    def telling(self) -> dict[str, Token]:
        """The words that can show what the sentence is about, by their keys."""
        return {token.key: token for token in self.content if not token.is_verb}

    @cached_property
    def names(self) -> frozenset[str]:
        """The keys of its names, and of its words with a capital letter."""
        telling = self.telling.values()
        return frozenset(token.key for token in telling if token.kind == NAME or token.raw[:1].isupper())

    def is_addition(self, place: int) -> bool:
        """Whether the words from this place on only add to what is said before them."""
        places = [at for at, token in enumerate(self.tokens) if token.kind != BREAK]
        if place >= len(places):
            return False
        at = places[place]
        return not at or self.tokens[at - 1].kind == BREAK or self.tokens[at].key in words("additions")


@cache
def words(name: str) -> frozenset[str]:
    """A list of single words from words.toml."""
    return frozenset(load_table(__file__, "words.toml")[name].split())


@cache
def phrases(name: str) -> dict[str, list[tuple[str, ...]]]:
    """A list of phrases from words.toml by their first word, the longest first, each as the keys of its words."""
    table = load_table(__file__, "words.toml")[name].split(";")
    listed = [[word for word in phrase.split() if word not in words("ignored")] for phrase in table]
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted((tuple(map(_key, each)) for each in listed), key=len, reverse=True):
        by_first.setdefault(phrase[0], []).append(phrase)
    return by_first


@cache
def _units() -> dict[str, str]:
    return dict(unit.split("=") for group in load_table(__file__, "words.toml")["units"] for unit in group.split())


@cache
def quantities() -> dict[str, int]:
    """Which units measure the same quantity."""
    groups = enumerate(load_table(__file__, "words.toml")["units"])
    return {unit.split("=")[1]: number for number, group in groups for unit in group.split()}


@cache
def opposites() -> frozenset[tuple[str, str]]:
    """Pairs of words that deny each other, in both orders."""
    pairs = [[side.split() for side in pair.split(" / ")] for pair in load_table(__file__, "words.toml")["opposites"]]
    both = [(_key(one), _key(other)) for left, right in pairs for one in left for other in right]
    return frozenset(both) | frozenset((other, one) for one, other in both)


@lru_cache(maxsize=512)
def content_keys(*texts: str) -> frozenset[str]:
    """The keys of all words of some texts."""
    return frozenset(token.key for text in texts for sentence in sentences(text) for token in sentence.content)


@lru_cache(maxsize=512)
def sentences(text: str) -> tuple[Sentence, ...]:
    """Every sentence of a text that has any words."""
    return tuple(sentence for sentence in map(_sentence, _END.split(plain(text))) if sentence.spoken)


_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_W = rf"[^\W{_CJK}]"
_END = re.compile(r"(?<=[^\s.!?;。！？；…])(?:[.;](?=[\s\"'`)*_\]]|$)|[!。！；]+)|(?<=[?？])|\n+")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufe0e\ufe0f\ufeff]")
_MARKUP = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|>[ \t]?(?![\d=]))", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*{1,3}|(?<!\w)_{1,2}|==)(?=[^\s*_=])([^*\n]*?[^\s*_=])\1(?![\w*])")
_BOX = re.compile(r"^([ \t]*[-*+•][ \t]+)\[([ xX])\](.*)", re.MULTILINE)
_WRAPPED = re.compile(r"^([^\n]{60,}[^\n.!?;:。！？；])\n(?=[ \t]*(?!\d+[.)][ \t])[a-z\d])", re.MULTILINE)
_LINK = re.compile(r"\[([^\]\[]*)\]\(([^)\s\[]*)\)")
_WIKI = re.compile(r"\[\[([^\]\[|]*)(?:\|[^\]\[]*)?\]\]")
_LEAD_IN = re.compile(r"^\W*(?:please note|note|nb|fyi|reminder|correction|update)(?: that\b|:)\s*(?=\S)", re.I)
_FROM_NOW_ON = re.compile(r"\b(?:from now on|going forward|ab jetzt|ab sofort)\b", re.I)
_SHORTENED = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|approx)\.", re.I)


def unwrapped(text: str) -> str:
    """Join lines that were broken only to fit a width."""
    return _WRAPPED.sub(r"\1 ", text)


def plain(text: str) -> str:
    """The text in one Unicode form and without its Markdown."""
    text = unwrapped(_UNSEEN.sub("", unicodedata.normalize("NFKC", text)).replace("’", "'"))
    text = _BOX.sub(lambda box: box[1] + box[3] + (", undone" if box[2] == " " else ", done"), text)
    text = _FROM_NOW_ON.sub("", _LEAD_IN.sub("", text))
    text = _WIKI.sub(r"\1", _LINK.sub(r"\1 \2", text))
    return _SHORTENED.sub(r"\1", _EMPHASIS.sub(r"\2", _MARKUP.sub("", text)))


@cache
def _pattern() -> re.Pattern[str]:
    table = load_table(__file__, "words.toml")
    listed = " ".join(
        [*(value for value in table.values() if isinstance(value, str)), *table["opposites"], *table["units"]]
    )
    cjk_words = sorted({word for word in re.findall(rf"[{_CJK}]+", listed) if len(word) > 1}, key=len, reverse=True)
    return re.compile(
        "|".join(
            (
                r"(?P<url>[A-Za-z][A-Za-z0-9+.-]*://[^\s<>\"'`)\]]*[^\s<>\"'`)\].,;:!?])",
                r"(?P<template>(?:(?<![A-Za-z0-9_./-])[A-Za-z0-9_./-]+)?<[A-Za-z][A-Za-z0-9_-]*>"
                r"(?:[A-Za-z0-9_./-]*<[A-Za-z][A-Za-z0-9_-]*>)*[A-Za-z0-9_]*)",
                rf"(?P<chunk>(?:--?(?={_W})|[~$@#./*]{{1,3}}(?={_W}))?{_W}+"
                rf"(?:(?:'|[.\-/@+#\\~*&]+|:(?=\d)|(?<=\d),(?=\d{{3}}(?!\d))){_W}+)*"
                r"(?:\+\+|[%#](?!\w)|/(?=\s|$|`)|\(\))?)",
                rf"(?P<cjk>{'|'.join(cjk_words)}|[{_CJK}])",
                r"(?P<quote>`)",
                r"(?P<be>[=:](?!=))",
                r"(?P<pause>[,()\[\]{}—–、|]|(?<=\s)-+(?=\s))",
                r"(?P<sign>(?<![-=])<?[-=]+>|[<>=!]=|[<>$^~+]|!(?=\w)|(?<=\s)[*/%&](?=\s)|[^\s\w\x00-\x7f‘’·•…‐‑《》【】“”„«»「」『』]|%)",
            )
        )
    )


_DEFINITE = re.compile(r"\b(?:is|are|ist|sind|est|es)\s+(?:the|our|my|der|die|das|unser|unsere|notre|nuestro)\b", re.I)


def _sentence(text: str) -> Sentence:
    tokens: list[Token] = []
    quoted = False
    for match in _pattern().finditer(text):
        kind, raw = match.lastgroup, match.group()
        if kind == "quote":
            quoted = not quoted
        elif kind == "pause":
            tokens += [] if quoted else [Token(",", raw, BREAK)]
        elif kind == "be":
            tokens += [] if quoted and raw == ":" else [Token("be", raw, SMALL)]
        else:
            is_called = bool(tokens) and tokens[-1].raw in ("called", "named") and _key(raw) not in words("small")
            tokens += _tokens_of(raw, quoted, not tokens, is_called)
    first = re.match(r"\W*(\w+)", text)
    begins = first[1].casefold() if first else ""
    whole = tuple(token for token in _with_units(tokens) if token.key)
    return Sentence(whole, begins in words("pronouns"), bool(_DEFINITE.search(text)), text.rstrip().endswith("?"))


@lru_cache(maxsize=4096)
def _tokens_of(raw: str, quoted: bool, begins: bool, is_called: bool = False) -> tuple[Token, ...]:
    """A run of letters and signs as tokens: mostly one; "isn't" is two, "Redis's" loses its ending."""
    lowered = "can't" if raw.casefold() == "cannot" else raw.casefold()
    if lowered.endswith("n't"):
        base = {"wo": "will", "sha": "shall", "ca": "can"}.get(lowered[:-3], lowered[:-3])
        return (*_tokens_of(base, quoted, begins), Token("not", raw, SMALL))
    before, apostrophe, after = raw.partition("'")
    if apostrophe and after.casefold() in ("s", "re", "ll", "ve", "d", "m", ""):
        return _tokens_of(before, quoted, begins)
    if apostrophe and len(before) <= 2:  # l'API, d'abord, qu'on
        return (*_tokens_of(before, quoted, begins), *_tokens_of(after, quoted, False))
    if not quoted and lowered in words("ignored") and (begins or raw != "A"):
        return ()
    if is_called:  # "the table called users" is another one than the table called user
        return (Token(raw, raw, NAME),)
    return (_token(raw, lowered, quoted, begins),)


def _token(raw: str, lowered: str, quoted: bool, begins: bool) -> Token:
    if raw == "!":
        return Token("not", raw, SMALL)
    if number := _number(lowered):
        return Token(number, raw, NUMBER)
    if not quoted and lowered in words("small"):
        return Token(_key(lowered), raw, SMALL)
    is_literal = bool(_LITERAL.search(raw))
    is_name = quoted or is_literal or (raw != lowered and not begins)
    return Token(raw if is_literal else _key(lowered), raw, NAME if is_name else WORD)


_LITERAL = re.compile(r"[</_.@\\$~:*#+()&]|^--?\w|\d|[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_AMOUNT = re.compile(r"(\d{1,3}(?:[,_]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)([^\W\d_]{1,12}|%)?$")
_FIXED = re.compile(
    r"v\d+(?:\.\w+)*|\d+(?:\.\d+){2,}(?:[-+.]?\w+)*|\d+\.x(?:\.x)?|\d{4}-\d{2}(?:-\d{2})?(?:t[\d:.]+z?)?"
    r"|\d{1,2}:\d{2}(?::\d{2})?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d+(?:\.\d+)?e[-+]?\d+"
)
_BE = frozenset(("is", "are", "be", "been", "being", "ist", "sind", "est", "sont", "是", "为"))


def _number(lowered: str) -> str:
    """The key of a number, version, date or time; empty for any other word."""
    number_words = load_table(__file__, "words.toml")["number_words"].split()
    if lowered in number_words:
        return str(number_words.index(lowered))
    if _FIXED.fullmatch(lowered):
        return lowered
    amount = _AMOUNT.match(lowered)
    if not amount or (amount[2] and amount[2] not in _units()):
        return ""
    digits = amount[1].replace(",", "").replace("_", "")
    return f"{digits} {_units()[amount[2]]}" if amount[2] else digits


def _key(word: str) -> str:
    """A lowered word without the ending of its plural or third person."""
    if word in _BE:
        return "be"
    if word in ("does", "did"):
        return "do"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        if word.endswith("ies") and len(word) > 4:
            return word[:-3] + "y"
        return word[:-2] if word.endswith(("sses", "xes", "ches", "shes")) else word[:-1]
    return word


def _with_units(tokens: list[Token]) -> list[Token]:
    merged: list[Token] = []
    for token in tokens:
        last = merged[-1] if merged else None
        unit = _units().get(token.raw.casefold())
        if last and last.kind == NUMBER and unit and " " not in last.key:
            merged[-1] = Token(f"{last.key} {unit}", f"{last.raw} {token.raw}", NUMBER)
        else:
            merged.append(token)
    return merged
