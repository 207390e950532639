"""Recognise forgotten texts by salted hashes, from which nobody can read them.

Texts are compared as a person sees them: case, spacing, punctuation at the ends, invisible characters and look-alike
letters do not count. Every digit does: another number is another fact.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from memem.core.memory import ID8, Memory
from memem.core.tombstone import Tombstone
from memem.safety.folding import LOOK_ALIKE, LOOK_ALIKE_LARGE
from memem.safety.invisible import neutralise

WINDOW, STEP, MOST_PIECES = 16, 4, 512  # characters of a piece of a quote, distance of stored pieces, their number
SHORTEST_QUOTE = 20  # characters; a shorter one, such as `yes do that`, counts only within its own turn
SHORTEST_PART = 12  # characters; a shorter statement has to be the whole text
OVERLAP = 1 / 3  # the share of the shorter of two quotes of one turn that has to occur in the other
MAX_SENTENCES = 40

Sentences = tuple[str, ...]
_QUOTES = dict.fromkeys(map(ord, "‘’‚‛′`´ʹʻʼʽˈ"), "'") | dict.fromkeys(map(ord, "“”„‟″«»‹›〝〞"), '"')
_MARKS = _QUOTES | dict.fromkeys(map(ord, "‐‑‒–—―−⁃﹘﹣－˗"), "-")
_BULLET = re.compile(r"(?<!\s)\s*(?:(?:[-*+•>]|#{1,6}|\[[ x]\])\s+)+", re.IGNORECASE)
_LEADING, _TRAILING = " \"'([{*_#", " .,;:!?\"')]}*_。！？、；："
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|(?<!\s)\s*;\s+")
_PARAGRAPH = re.compile(r"\n\s*\n")
_GREEK_LETTER = re.compile("[\u0370-\u03ff\u1f00-\u1fff\U0001d6a8-\U0001d7cb]")
_VARIANT = re.compile("[\u034f\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def fold(text: str) -> str:
    """Fold a text to what a quick reader sees. Folding is idempotent."""
    return _folded(text, LOOK_ALIKE)


def fold_variants(text: str) -> tuple[str, ...]:
    """Fold a text in each way to read it: two if it has Greek letters, else one."""
    small = _folded(text, LOOK_ALIKE)
    return (small,) if text.isascii() else tuple(dict.fromkeys((small, _folded(text, LOOK_ALIKE_LARGE))))


def _folded(text: str, alike: dict[int, str]) -> str:
    for _ in range(8):  # the result of folding a character may need folding itself
        before, text = text, _once(text, alike)
        if text == before:
            break
    return text


def _once(text: str, alike: dict[int, str]) -> str:
    if not text.isascii():
        text = "".join(map(_plain, _VARIANT.sub("", neutralise(text)[0])))
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        text = text.translate(_MARKS).translate(alike)
    else:
        text = neutralise(text)[0].lower().replace("`", "'")
    return _trimmed(" ".join(text.split()))


def _plain(character: str) -> str:
    """Simplify a character: digits of any script become ASCII; a superscript stays apart, since 10² is not 102."""
    if character.isascii():
        return character
    kind = unicodedata.category(character)
    if kind == "Nd":
        return str(unicodedata.decimal(character))
    if kind == "Cf":
        return ""
    plain = unicodedata.normalize("NFKC", character)
    return f"^{plain}" if any(map(str.isdecimal, plain)) else character


def _trimmed(text: str) -> str:
    return text.lstrip(_LEADING).rstrip(_TRAILING)


def split_sentences(text: str) -> list[Sentences]:
    """Fold and split a text into sentences, in each way to read it: line by line, and as wrapped paragraphs."""
    visible = neutralise(text)[0]
    lines = [_BULLET.sub("", line) for line in visible.splitlines()]
    paragraphs = [" ".join(part.split()) for part in _PARAGRAPH.split("\n".join(lines))]
    found: dict[Sentences, None] = {}
    for parts in (lines, paragraphs):
        whole = [sentence for part in parts for sentence in _SENTENCE.split(part) if sentence.strip()]
        for alike in (LOOK_ALIKE, LOOK_ALIKE_LARGE) if _GREEK_LETTER.search(visible) else (LOOK_ALIKE,):
            found[tuple(filter(None, (_folded(each, alike) for each in whole)))] = None
    return [each for each in found if each]


@dataclass(frozen=True)
class Hasher:
    """Computes hashes with a vault's salt."""

    name: str
    salt: bytes

    def of(self, purpose: str, text: str, size: int = 12) -> str:
        from hashlib import blake2b

        data = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=size, key=self.salt).hexdigest()

    def statement(self, parts: Sentences) -> str:
        return self.of("text", " ".join(parts))

    def vague(self, parts: Sentences) -> str:
        """Hash a quote that counts only within its turn."""
        return self.of("quote", " ".join(parts))

    def tombstone(self, memory: Memory, *, key: str, time: str, purged: bool = False) -> Tombstone:
        """Make the tombstone of a memory."""
        statements, quotes = split_sentences(memory.body), _quotes(memory.evidence)
        long = [quote for quote in quotes if len(" ".join(quote)) >= SHORTEST_QUOTE]
        return Tombstone(
            key=key,
            salt=self.name,
            time=time,
            ids=(self.of("id", memory.id), self.of("id", memory.id[:ID8].lower())),
            statements=tuple(dict.fromkeys(map(self.statement, statements))),
            sizes=tuple(sorted({len(each) for each in (*statements, *long) if len(each) <= MAX_SENTENCES})),
            quotes=tuple(dict.fromkeys(map(self.statement, long))),
            vague=tuple(self.vague(each) for each in quotes if each not in long),
            pieces=tuple(self.pieces(memory.evidence)),
            turns=(memory.source_turn,) if memory.source_turn else (),
            session=self.of("session", memory.source_session) if memory.source_session else "",
            purged=purged,
        )

    def pieces(self, quote: str) -> Iterator[str]:
        """Hash every fourth window of a forgotten quote."""
        windows = [
            text[at : at + WINDOW] for text in fold_variants(quote) for at in range(0, len(text) - WINDOW + 1, STEP)
        ]
        for window in list(dict.fromkeys(windows))[:MOST_PIECES]:
            yield self.of("piece", window, 5)


def _quotes(evidence: str) -> list[Sentences]:
    """Split the evidence as a whole, and line by line: an update appends the words of another turn."""
    lines = evidence.splitlines()[:MAX_SENTENCES]
    return list(dict.fromkeys(each for part in (evidence, *lines) for each in split_sentences(part)))


class MemoryHashes:
    """The hashes of a memory under one salt, to compare with tombstones."""

    def __init__(self, memory: Memory, hasher: Hasher) -> None:
        self.memory = memory
        self._hasher = hasher

    @cached_property
    def id(self) -> str:
        return self._hasher.of("id", self.memory.id)

    @cached_property
    def wholes(self) -> frozenset[str]:
        """Hashes of the statement as a whole."""
        return frozenset(map(self._hasher.statement, split_sentences(self.memory.body)))

    def texts(self, sizes: Collection[int]) -> frozenset[str]:
        """Hash statement, title and quote, whole and in runs of these numbers of sentences."""
        found = set(self.wholes)
        for text in (self.memory.body, self.memory.title, self.memory.evidence):
            for parts in split_sentences(text):
                runs = {parts, *_runs(parts, {1, *sizes})}
                found.update(self._hasher.statement(run) for run in runs if len(" ".join(run)) >= SHORTEST_PART)
        return frozenset(found)

    @cached_property
    def vague(self) -> frozenset[str]:
        """Hashes of its quote and the sentences in it, which count only within one turn."""
        quotes = _quotes(self.memory.evidence)
        return frozenset(self._hasher.vague(each) for each in (*quotes, *((part,) for some in quotes for part in some)))

    @cached_property
    def windows(self) -> frozenset[str]:
        """Hashes of every window of its quote."""
        texts = fold_variants(self.memory.evidence)
        windows = {text[at : at + WINDOW] for text in texts for at in range(len(text) - WINDOW + 1)}
        return frozenset(self._hasher.of("piece", window, 5) for window in windows)

    def repeats(self, tombstone: Tombstone) -> bool:
        """Tell whether its quote is that of a forgotten memory of the same turn, or shares enough of it."""
        if self.vague & set(tombstone.vague):
            return True
        shared = len(self.windows & set(tombstone.pieces))
        shorter = min(len(tombstone.pieces), max(1, len(self.windows) // STEP))
        return shared > 0 and shared >= OVERLAP * shorter


def _runs(parts: Sentences, sizes: Collection[int]) -> Iterator[Sentences]:
    for size in sizes:
        for at in range(len(parts) - size + 1):
            yield parts[at : at + size]
