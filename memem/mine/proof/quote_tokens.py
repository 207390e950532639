"""Split text into the words and signs that a quote must repeat, each with its place, without markup."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import unescape
from itertools import accumulate, pairwise

from memem.core.data_files import load_table

WORDS = {name: frozenset(text.split()) for name, text in load_table(__file__, "quotes.toml").items()}
_CORRECTED: dict[str, str] = dict(pair.split("=") for pair in WORDS["misspelled"])

# Flags of a token
EXACT = 1  # an identifier, a number, a part of one, or a name: no letter of it may differ
CASED = 2  # upper and lower case matter
DROPPABLE = 4  # the number of a list item, the target of a link: a quote may leave it out
MARKER = 8  # `>` or `+` at the start of a line

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_MARK = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
    "\u0e31\u0e34-\u0e4e\u0eb1\u0eb4-\u0ece\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
)
_LETTER = rf"(?:[^\W{_CJK}]|[{_MARK}])"
_NO_DOT_BEFORE = r"""(?<![\w.)\]])(?<![\w.)\]]["'*`])(?<![\w.)\]]\*\*)"""  # a dot after a word is no part of a name
_TOKEN = re.compile(
    rf"""
    (?P<url> https?://[^\s<>"'`|)\]]+ )
  | (?P<word> (?: (?<![\w)\]])[-\u2212](?=[0-9]) | {_NO_DOT_BEFORE}\.(?=[a-zA-Z]) )?
      {_LETTER}+ (?: (?<=[0-9])[.,:](?=[0-9]){_LETTER}+ | ['’ʼ](?=[^\W\d_]){_LETTER}+ )*
      (?: \+\+(?!\w) | (?<=[cfCF])\#(?!\w) )? )
  | (?P<cjk> [{_CJK}] )
  | (?P<both> <[-=]+> | [↔⇔⟷] )
  | (?P<right> -{{1,3}}> | ={{1,2}}> | [→⇒⟶➔➜➞➡↦] )
  | (?P<left> <-{{1,3}} | [←⇐⟵⬅] )
  | (?P<rule> ={{4,}} | ~{{3,}} | \\(?=[^\w\s]) )
  | (?P<unequal> !==? | ≠ ) | (?P<equal> ===? ) | (?P<most> <= | ≤ ) | (?P<least> >= | ≥ )
  | (?P<not> !(?=\w) ) | (?P<struck> ~~ ) | (?P<and> && )
  | (?P<sign> [<>=+%&$€£¥^~@/\\×÷±°✅❌✓✗✔✘] )
    """,
    re.VERBOSE,
)
_SIGNS = {
    **{"both": "<->", "right": "->", "left": "<-", "unequal": "!=", "equal": "==", "most": "<=", "least": ">="},
    **{"not": "!", "struck": "~~", "and": "&"},
}
_FOLDED = re.compile(r"&(?:[a-zA-Z]{2,8}|\#[0-9]{1,6}|\#[xX][0-9a-fA-F]{1,5});|[a-zA-Z]?[^\x00-\x7f]+")
_ITEM = re.compile(r"^[ \t>*+-]*([0-9]{1,3})[.)](?=[ \t])", re.MULTILINE)
_LINE_START = re.compile(r"^[ \t]*(?:[>+][ \t]*)+", re.MULTILINE)
_LINK_TARGET = re.compile(r"\]\(([^()\s]{1,2000})\)")
_CODE = re.compile(r"`[^`\n]{1,200}`")
_JOINTS = frozenset("./\\:-@=_(")
_CLAUSE_END = re.compile(r"[,;!?()\n。，、；：！？—–]|[.:](?=[\s\"'*_`”’])|\s-+\s")


@dataclass(frozen=True)
class Tokens:
    """The tokens of a text; `starts` and `ends` are places in it as it was written."""

    keys: tuple[str, ...]
    forms: tuple[str, ...]  # with their case
    flags: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    new_clause: tuple[bool, ...]  # whether a mark that ends a clause precedes the token

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, key in enumerate(self.keys):
            places.setdefault(key, []).append(place)
        return places

    @cached_property
    def _joined(self) -> tuple[str, list[int]]:
        return _join(self.keys), list(accumulate((len(key) + 1 for key in self.keys), initial=0))

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """The places of the tokens that a quote may not leave out."""
        return tuple(place for place, flag in enumerate(self.flags) if not flag & (DROPPABLE | MARKER))

    @cached_property
    def without_droppable(self) -> "Tokens":
        return self if len(self.kept) == len(self) else self.pick(self.kept)

    @cached_property
    def without_markers(self) -> "Tokens":
        kept = tuple(place for place, flag in enumerate(self.flags) if not flag & MARKER)
        return self if len(kept) == len(self) else self.pick(kept)

    def pick(self, places: Iterable[int]) -> "Tokens":
        columns = (self.keys, self.forms, self.flags, self.starts, self.ends, self.new_clause)
        chosen = list(places)
        return Tokens(*(tuple(column[place] for place in chosen) for column in columns))  # type: ignore[arg-type]

    def find(self, keys: tuple[str, ...]) -> Iterator[int]:
        """Yield the places where these keys follow each other."""
        joined, offsets = self._joined
        needle, at = _join(keys), -1
        while keys and (at := joined.find(needle, at + 1)) >= 0:
            yield bisect_right(offsets, at) - 1


def _join(keys: Iterable[str]) -> str:
    return "\0" + "\0".join(keys) + "\0"


@lru_cache(maxsize=512)
def read_tokens(text: str) -> Tokens:
    """Split a text into tokens, in time proportional to its length."""
    plain, starts, ends = _fold_characters(text)
    droppable = {match.start(1) for match in _ITEM.finditer(plain)}
    targets = _make_spans(match.span(1) for match in _LINK_TARGET.finditer(plain))
    markers = _make_spans(match.span() for match in _LINE_START.finditer(plain))
    code = _make_spans(match.span() for match in _CODE.finditer(plain))
    rows: list[tuple[str, str, int, int, int, bool]] = []
    before, previous = 0, ""
    for match in _TOKEN.finditer(plain):
        group, form, (start, end) = match.lastgroup or "", match.group(), match.span()
        flag = 0
        if group == "url":
            form = form.rstrip(".,;:!?*_")
            end, key, flag = start + len(form), form.casefold(), EXACT
        elif group in ("word", "cjk"):
            form = _trim(form)
            if not form:
                continue
            key, flag = _make_key(form), _classify(plain, start, end, form, previous)
        elif group == "rule":
            continue
        else:
            key = _SIGNS.get(group, form)
            flag = MARKER if form in ">+" and markers(start) else 0
        flag |= EXACT if code(start) else 0
        flag |= DROPPABLE if start in droppable or targets(start) else 0
        place = (starts[start], ends[end - 1]) if starts else (start, end)
        rows.append((key, form, flag, *place, bool(_CLAUSE_END.search(plain, before, start))))
        before, previous = end, form
    return Tokens(*zip(*rows, strict=True)) if rows else Tokens((), (), (), (), (), ())


def _make_key(form: str) -> str:
    key = form.casefold().replace("'", "").replace("’", "").replace("ʼ", "").replace("\u2212", "-")
    return _CORRECTED.get(key, key)


def _trim(form: str) -> str:
    """Remove underscores that set a word off."""
    return form.strip("_") if "_" in form else form


def _classify(plain: str, start: int, end: int, form: str, previous: str) -> int:
    """Tell identifiers, numbers and names from plain words."""
    has_digit = any(map(str.isdigit, form))
    is_camel = any(one.islower() and other.isupper() for one, other in pairwise(form))
    flag = 0
    if (
        (has_digit and not form.isdigit())
        or "_" in form
        or (is_camel and form[0].islower())
        or form.casefold() in WORDS["cased_units"]
    ):
        flag = EXACT | CASED
    elif has_digit or is_camel or (form.isupper() and len(form) > 1):
        flag = EXACT
    elif form[0].isupper() and previous[-1:].islower() and plain[start - 1 : start] == " ":
        flag = EXACT  # a name
    is_joined = plain[end : end + 1] in _JOINTS and plain[end + 1 : end + 2].isalnum()
    follows = plain[start - 1 : start] in _JOINTS and plain[max(start - 2, 0) : start - 1].isalnum() if start else False
    return flag | (EXACT if is_joined or follows else 0)


def _make_spans(spans: Iterable[tuple[int, int]]) -> "_Spans":
    return _Spans(list(spans))


class _Spans:
    """Spans of a text; a call says whether a place is in one of them. Places must be passed in rising order."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._spans = spans
        self._next = 0

    def __call__(self, place: int) -> bool:
        while self._next < len(self._spans) and self._spans[self._next][1] <= place:
            self._next += 1
        return self._next < len(self._spans) and self._spans[self._next][0] <= place


def _fold_characters(text: str) -> tuple[str, list[int], list[int]]:
    """Decode entities and normalise characters; return where each character starts and ends if any changed."""
    if text.isascii() and "&" not in text:
        return text, [], []
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    done = 0
    for match in _FOLDED.finditer(text):
        parts.append(text[done : match.start()])
        starts += range(done, match.start())
        ends += range(done + 1, match.start() + 1)
        done = match.end()
        for start, end in _split_clusters(match):
            cluster = unescape(text[start:end]) if text[start] == "&" else text[start:end]
            folded = "".join(char for char in unicodedata.normalize("NFKC", cluster) if not _is_invisible(char))
            parts.append(folded)
            starts += [start] * len(folded)
            ends += [end] * len(folded)
    parts.append(text[done:])
    starts += range(done, len(text))
    ends += range(done + 1, len(text) + 1)
    return "".join(parts), starts, ends


def _is_invisible(char: str) -> bool:
    return unicodedata.category(char) == "Cf" or "\ufe00" <= char <= "\ufe0f"


def _split_clusters(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of characters with their accents, which may be composed to one."""
    run, start = match.group(), match.start()
    if run[0] == "&":
        yield match.span()
        return
    begin = 0
    for place in range(1, len(run)):
        char = run[place]
        if not unicodedata.combining(char) and not "\u1160" <= char <= "\u11ff":
            yield start + begin, start + place
            begin = place
    yield start + begin, start + len(run)
