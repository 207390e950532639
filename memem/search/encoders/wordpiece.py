"""WordPiece: split text into the token ids that the embedding model reads.

The ids are exactly those of the fast tokenizer published with all-MiniLM-L6-v2 (BERT, uncased):

    "Naïve, no?"  ->  chunks    naïve,   no?             between spaces, each cached with its ids
                  ->  words     naive , no ?             folded: accents and case gone, punctuation alone
                  ->  pieces    [CLS] naive , no ? [SEP] the longest tokens of the vocabulary that make up each word

Nothing is computed on import: a prompt pays for what its own characters need.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import chain, islice
from pathlib import Path

from memem.core.files import from_json

_SPECIAL = re.compile(r"(\[(?:CLS|SEP|PAD|UNK|MASK)\])")  # such a token in a text is that token; its case matters
_MAX_SPECIAL_CHARS = len("[MASK]")
_MAX_WORD_CHARS = 100  # a longer word is unknown
_MAX_CHUNK_CHARS = 64  # longer chunks seldom occur twice: they are read in slices and not cached
_SLICE_CHARS = 1024
_MAX_CACHED_CHUNKS = 20_000


class WordPiece:
    """A vocabulary, and a cache of the chunks it has tokenized."""

    def __init__(self, vocabulary: str) -> None:
        """Take the text of `vocab.txt`: one token per line, numbered by line."""
        tokens = vocabulary.split("\n")  # a newline at the end leaves an empty token, which matches no word
        self._vocabulary = dict(zip(tokens, range(len(tokens)), strict=True))
        self._begin, self._end, self._unknown = (self._vocabulary[name] for name in ("[CLS]", "[SEP]", "[UNK]"))
        self._cache: dict[str, list[int]] = {}

    def ids(self, text: str, most: int) -> list[int]:
        """Tokenize a text from [CLS] to [SEP], cut to `most` ids (at least two); read no more of it than needed."""
        ids = [self._begin]
        spaced = text.replace("\n", " ")
        start = 0
        while start < len(spaced) and len(ids) < most:
            # Enough for all ids where a token has six characters; an English one has between four and five.
            end = spaced.find(" ", start + 6 * most)
            if end < 0:
                end = len(spaced)
            # Not split(): it separates at characters that should vanish (vertical tab, form feed, 1c-1f, 85).
            for chunk in filter(None, spaced[start:end].split(" ")):
                cached = self._cache.get(chunk)
                ids += self._tokenize_chunk(chunk, most) if cached is None else cached
            start = end
        del ids[most - 1 :]
        ids.append(self._end)
        return ids

    def _tokenize_chunk(self, chunk: str, most: int) -> list[int]:
        if chunk.isascii() and chunk.isalnum():
            ids = self._tokenize_word(chunk.lower())
        else:
            pieces = chain.from_iterable(map(self._tokenize_word, _split_words(chunk)))
            ids = list(pieces if len(chunk) <= _MAX_CHUNK_CHARS else islice(pieces, most))
        if len(chunk) <= _MAX_CHUNK_CHARS:
            if len(self._cache) >= _MAX_CACHED_CHUNKS:
                self._cache.clear()
            self._cache[chunk] = ids
        return ids

    def _tokenize_word(self, word: str) -> list[int]:
        """Take the longest token that starts the word, then the longest that continues it."""
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


def _split_words(text: str) -> Iterator[str]:
    """Split a text into folded words and special tokens, lazily."""
    cut = ""  # the start of a word that may continue in the next part
    for part in _split_parts(text):
        folded = f"{cut} {part} " if _SPECIAL.fullmatch(part) else cut + part.translate(_FOLDED)
        words = folded.split()
        # Once a word is too long to be known, the rest of it is not needed.
        cut = words.pop()[: _MAX_WORD_CHARS + 1] if words and not folded.endswith(" ") else ""
        yield from words
    if cut:
        yield cut


def _split_parts(text: str) -> Iterator[str]:
    """Slice a text, and separate its special tokens."""
    start = 0
    while start < len(text):
        end = start + _SLICE_CHARS
        # A slice that would end within a token ends before its bracket, where a word begins anyway.
        bracket = text.rfind("[", end - _MAX_SPECIAL_CHARS + 1, end)
        if bracket >= 0 and end < len(text):
            end = bracket
        yield from _SPECIAL.split(text[start:end])
        start = end


class _Folded(dict[int, str]):
    """A table for `str.translate` that fills itself with the characters it meets.

    Characters are decomposed one by one. Normalising a whole text would also reorder marks, but the few it could
    change are not in the vocabulary. Decompositions and lower case are Python's; those that are newer than the
    reference belong to characters that are unknown in either form.
    """

    def __missing__(self, code: int) -> str:
        folded = self[code] = self._fold(code)
        return folded

    def _fold(self, code: int) -> str:
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
    bounds: list[int] = []
    for codes in " ".join(ranges).split():
        first, _, last = codes.partition("-")
        bounds += int(first, 16), int(last or first, 16) + 1
    return bounds


_FOLDED = _Folded()
