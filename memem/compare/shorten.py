"""Shorten a text where a reader would pause: at the end of a sentence, else of a clause, else of a word."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from memem.core.data_files import load_table

ELLIPSIS = "…"
_BEYOND = 400  # characters after the limit in which markup may be closed
_LONGEST_SENTENCE = 1_000
_LONGEST_WORD = 40  # longer ones are cut in scripts without spaces
_END = re.compile(r"[.!?]+[\"'”’»)\]*_`]*(?=\s|\Z)|[。！？]+[」』”’）*_`]*")
_CLAUSE = re.compile(r"[,;:](?=\s)|\s+[-–—]+(?=\s)|\s+(?=\()|[，、；：]")
_SPACE = re.compile(r"\s+")
_WORD_BEFORE = re.compile(r"[^\s(\[\"“«*_`]+\Z")
_LETTERS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_SPAN = re.compile(
    r"(?P<code>`+)[^`](?:.*?[^`])??(?P=code)(?!`) | !?\[\[[^\[\]]*\]\] | !?\[[^\[\]]*\]\([^()]*(?:\([^()]*\)[^()]*)?\)"
    r" | (?P<mark>\*{1,3}|__|==|~~)(?=[^\s*]).*?(?<=[^\s*])(?P=mark)",
    re.VERBOSE,
)
_MARKUP = re.compile(r"^(?:!?\[+|[*_`=~]+)")
_DANGLING = " \t,;:-–—([{"

Span = tuple[int, int]


def shorten(text: str, most: int) -> str:
    """Cut one line of text to at most `most` characters, never in a word, code, a link or emphasis if avoidable."""
    if len(text) <= most:
        return text
    text = text[: most + _BEYOND]
    spans = _find_spans(text)
    ends = [end for end in _find_sentence_ends(text) if end <= most and not _is_inside(end, spans)]
    if ends and _is_more_than_a_word(text[: ends[-1]]):
        return text[: ends[-1]]
    room = most - len(ELLIPSIS)
    place = _find_pause(text, room, spans)
    if not place:  # it begins with markup that is longer than the line
        text = _MARKUP.sub("", text)
        place = _find_pause(text, room, ()) or room
    return text[:place].rstrip(_DANGLING) + ELLIPSIS


def first_sentence(line: str) -> str:
    """Return the first sentence of a line; the whole line if it has no end in the first thousand characters."""
    start = line[:_LONGEST_SENTENCE]
    spans = _find_spans(start)
    return next((line[:end] for end in _find_sentence_ends(start) if not _is_inside(end, spans)), line)


def _find_sentence_ends(text: str) -> Iterator[int]:
    for match in _END.finditer(text):
        if match[0][0] in "。！？" or _ends_sentence(text[: match.start()], match[0], text[match.end() :].lstrip()[:1]):
            yield match.end()


def _ends_sentence(before: str, mark: str, following: str) -> bool:
    """Whether a mark after these words, and before this character, ends a sentence."""
    if following.islower():
        return False
    word = _WORD_BEFORE.search(before)
    if not mark.startswith(".") or word is None:
        return bool(before.strip())
    name = word[0].lstrip("'‘").casefold()
    if _LETTERS.fullmatch(name) or name in _load_words("abbreviations"):
        return False
    if following.isdigit() and name in _load_words("before_numbers"):
        return False
    lead = before[: word.start()].rstrip()
    return not (name.isdecimal() and (not lead or lead[-1] in ".!?:;"))  # the number of an item in a list


def _find_pause(text: str, room: int, spans: Sequence[Span]) -> int:
    """Find the last place to cut within `room` characters: after a clause in its second half, or a word; 0 if none."""
    clauses = [match.start() for match in _CLAUSE.finditer(text, room // 2, room + 1)]
    words = [match.start() for match in _SPACE.finditer(text, 1, room + 1)]
    clauses, words = ([each for each in places if not _is_inside(each, spans)] for places in (clauses, words))
    if clauses:
        return clauses[-1]
    last = words[-1] if words else 0
    if room - last > _LONGEST_WORD and not text[last:room].isascii():
        return next((start for start, end in spans if start < room < end), room)
    return last


def _is_more_than_a_word(sentence: str) -> bool:
    return bool(_SPACE.search(sentence)) or not sentence.isascii()


def _is_inside(place: int, spans: Sequence[Span]) -> bool:
    return any(start < place < end for start, end in spans)


def _find_spans(text: str) -> list[Span]:
    return [match.span() for match in _SPAN.finditer(text)]


@cache
def _load_words(name: str) -> frozenset[str]:
    return frozenset(load_table(__file__, "shorten.toml")[name].split())
