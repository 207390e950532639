"""WordPiece: split text into exactly the token ids of the tokenizer published with all-MiniLM-L6-v2 (BERT, uncased).

"Naïve, no?"  ->  chunks    naïve,   no?             between spaces, each cached with its ids
              ->  words     naive , no ?             folded: accents and case gone, punctuation alone
              ->  pieces    [CLS] naive , no ? [SEP] the longest tokens of the vocabulary that make up each word
"""

import re
import unicodedata
from bisect import bisect_right
from functools import cache
from pathlib import Path

from memem.core.files import from_json

_SPECIAL = re.compile(r"(\[(?:CLS|SEP|PAD|UNK|MASK)\])")  # such a token in a text is that token; its case matters
_MAX_WORD_CHARS = 100  # a longer word is unknown
_MAX_CACHED_CHARS = 64  # longer chunks seldom occur twice
_MAX_CACHED_CHUNKS = 20_000


class WordPiece:
    def __init__(self, vocabulary: str) -> None:
        tokens = vocabulary.split("\n")  # a newline at the end leaves an empty token, which matches no word
        self._vocabulary = dict(zip(tokens, range(len(tokens)), strict=True))
        self._begin, self._end, self._unknown = (self._vocabulary[name] for name in ("[CLS]", "[SEP]", "[UNK]"))
        self._cache: dict[str, list[int]] = {}

    def ids(self, text: str, most: int) -> list[int]:
        ids = [self._begin]
        # Not split(): it separates at characters that should vanish (vertical tab, form feed, 1c-1f, 85).
        for chunk in filter(None, text.replace("\n", " ").split(" ")):
            if len(ids) >= most:
                break
            cached = self._cache.get(chunk)
            ids += self._tokenize_chunk(chunk) if cached is None else cached
        del ids[most - 1 :]
        ids.append(self._end)
        return ids

    def _tokenize_chunk(self, chunk: str) -> list[int]:
        if chunk.isascii() and chunk.isalnum():
            ids = self._tokenize_word(chunk.lower())
        else:
            parts = _SPECIAL.split(chunk)
            folded = (f" {part} " if _SPECIAL.fullmatch(part) else part.translate(_FOLDED) for part in parts)
            ids = [piece for word in "".join(folded).split() for piece in self._tokenize_word(word)]
        if len(chunk) <= _MAX_CACHED_CHARS:
            if len(self._cache) >= _MAX_CACHED_CHUNKS:
                self._cache.clear()
            self._cache[chunk] = ids
        return ids

    def _tokenize_word(self, word: str) -> list[int]:
        if len(word) > _MAX_WORD_CHARS:
            return [self._unknown]
        ids: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                piece = self._vocabulary.get(prefix + word[start:end])
                if piece is not None:
                    break
            else:
                return [self._unknown]
            ids.append(piece)
            start = end
        return ids


class _Folded(dict[int, str]):
    """A table for `str.translate` that fills itself with the characters it meets."""

    # Normalising a whole text would also reorder marks, but the few it could change are not in the vocabulary.

    def __missing__(self, code: int) -> str:
        return self.setdefault(code, _fold(code))


def _fold(code: int) -> str:
    character = chr(code)
    if "!" <= character <= "~":  # most prompts have nothing else, and never need the tables
        return character.lower() if character.isalnum() else f" {character} "
    if _is_in(code, "vanishing"):
        return ""
    if character.isspace():
        return " "
    parts = unicodedata.normalize("NFD", character)
    if _is_in(code, "chinese"):
        return f" {parts} "
    return "".join(
        f" {part} " if _is_in(ord(part), "punctuation") else part.lower()
        for part in parts
        if not _is_in(ord(part), "marks")
    )


def _is_in(code: int, table: str) -> bool:
    return bisect_right(_bounds(table), code) % 2 == 1


@cache
def _bounds(table: str) -> list[int]:
    """The start of each range and of the gap after it: a code point after an odd number of them is in a range."""
    # JSON, since tomllib would cost a prompt some milliseconds. The reference is frozen at Unicode 8, where unassigned
    # code points are letters, while Python's own tables grow with every version.
    ranges = from_json(Path(__file__).with_name("wordpiece.json").read_bytes())[table]
    pairs = (codes.partition("-")[::2] for codes in " ".join(ranges).split())
    return [bound for first, last in pairs for bound in (int(first, 16), int(last or first, 16) + 1)]


_FOLDED = _Folded()
