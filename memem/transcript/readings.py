"""Read a tool's output as a person sees it: without escapes, entities, tags and the prefixes of lines."""

import re
from collections.abc import Iterable, Iterator

_NUMBER = r"[ \t]*\d+[ \t]*[→:|│\t-]"  # before the lines of a file
_GREP = r"[\w./~@+-]{1,200}(?::\d+:|-\d+-)|[\w./~@+-]{0,200}\.\w{1,8}[:-](?!\d)"
_BLAME = r"\^?[0-9a-f]{7,40}\b[^()\n]{0,120}\([^()\n]{1,120}?\d+\)"
_PREFIX = re.compile(rf"^(?:{_GREP}|{_BLAME}|{_NUMBER})", re.MULTILINE)
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8}))")
_ESCAPED = re.compile(r"\\[uUx][0-9a-fA-F{]")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_TAG = re.compile(r"<(?:/?([A-Za-z][\w:-]{0,30})(?:\s[^<>]{0,2000})?/?>|!--[^<>]{0,2000}-->)")
_INLINE = frozenset(
    "a abbr b bdi bdo cite code del dfn em font i ins kbd mark q s samp small span strong sub sup u var wbr".split()
)
NEAR_CHARS = 200  # around a spelling that is decoded; far more than a run of words
_MAX_ROUNDS = 3  # of decoding, for markup that is escaped more than once


def list_readings(text: str, others: Iterable[str] = ()) -> Iterator[str]:
    """Yield the encoded or prefixed parts of a text as they read, except text that `others` contain as it is."""
    if _PREFIX.search(text):
        size, text = len(text), _PREFIX.sub("", text)
        for other in others:  # a file that is stored with and without numbers
            text = text.replace(other, "\n") if size / 2 < len(other) < size else text
        yield text
    decoded = [_ESCAPE.sub(_unescape, part) for part in _select_surroundings(text, _ESCAPED)]
    yield from decoded
    for source in (text, *decoded):
        yield from map(_strip_markup, _select_surroundings(source, _TAG, _ENTITY))


def _select_surroundings(text: str, *patterns: re.Pattern[str]) -> Iterator[str]:
    """Yield the parts of a text around the matches of any of the patterns."""
    start, end = 0, -1
    for match_start, match_end in sorted(match.span() for pattern in patterns for match in pattern.finditer(text)):
        if 0 <= end < match_start - NEAR_CHARS:
            yield text[start:end]
            end = -1
        if end < 0:
            start = max(0, match_start - NEAR_CHARS)
        end = match_end + NEAR_CHARS
    if end >= 0:
        yield text[start:end]


def _strip_markup(text: str) -> str:
    from html import unescape

    for _ in range(_MAX_ROUNDS):
        before, text = text, unescape(_TAG.sub(_replace_tag, text))
        if text == before:
            break
    return text


def _replace_tag(tag: re.Match[str]) -> str:
    return "" if tag[1] is None or tag[1].lower() in _INLINE else " "


def _unescape(escape: re.Match[str]) -> str:
    code = int(next(filter(None, escape.groups())), 16)
    return chr(code) if code <= 0x10FFFF else escape[0]
