"""Whether a text says what was forgotten, told by salted hashes alone: nobody can read there what it was.

Texts are compared as a person sees them: case, spacing, punctuation at the ends, invisible characters and letters that
look like others do not count. Every digit does: another number is another fact.
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

WINDOW, STEP, MOST_PIECES = 16, 4, 512
"""Characters of a piece of a quote, how far apart those that are kept begin, and how many are kept."""
SHORTEST_QUOTE = 20
"""Characters. `yes do that` is said of many things: beyond its own turn it tells nothing."""
SHORTEST_PART = 12
"""Characters of a statement that is known again within a longer text; a shorter one has to be all of it."""
OVERLAP = 1 / 3
"""The share of the shorter of two quotes of one turn that has to stand in the other."""
MAX_SENTENCES = 40

Sentences = tuple[str, ...]
"""A text as its folded sentences."""
_QUOTES = dict.fromkeys(map(ord, "‘’‚‛′`´ʹʻʼʽˈ"), "'") | dict.fromkeys(map(ord, "“”„‟″«»‹›〝〞"), '"')
_MARKS = _QUOTES | dict.fromkeys(map(ord, "‐‑‒–—―−⁃﹘﹣－˗"), "-")
_BULLET = re.compile(r"(?<!\s)\s*(?:(?:[-*+•>]|#{1,6}|\[[ x]\])\s+)+", re.IGNORECASE)
_LEADING, _TRAILING = " \"'([{*_#", " .,;:!?\"')]}*_。！？、；："
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|(?<!\s)\s*;\s+")
_PARAGRAPH = re.compile(r"\n\s*\n")
_GREEK_LETTER = re.compile("[\u0370-\u03ff\u1f00-\u1fff\U0001d6a8-\U0001d7cb]")
_VARIANT = re.compile("[\u034f\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def fold(text: str) -> str:
    """The text as it looks to somebody who reads quickly. Twice is the same as once."""
    return _folded(text, LOOK_ALIKE)


def fold_variants(text: str) -> tuple[str, ...]:
    """The ways to read it: two where it has Greek letters, else one."""
    small = _folded(text, LOOK_ALIKE)
    return (small,) if text.isascii() else tuple(dict.fromkeys((small, _folded(text, LOOK_ALIKE_LARGE))))


def _folded(text: str, alike: dict[int, str]) -> str:
    for _ in range(8):  # what comes of a character may be one that is folded itself, once or twice
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
    """A character without its costume: digits of any script are ours; one that holds a number stays apart from others,
    since 10² is not 102."""
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
    """The folded sentences of a text, in each way to read it: line by line, and as paragraphs that may be wrapped."""
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
    """Hashes that nobody without the salt can try."""

    name: str
    salt: bytes

    def of(self, purpose: str, text: str, size: int = 12) -> str:
        from hashlib import blake2b

        told = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
        return blake2b(told, digest_size=size, key=self.salt).hexdigest()

    def statement(self, parts: Sentences) -> str:
        return self.of("text", " ".join(parts))

    def vague(self, parts: Sentences) -> str:
        """Of a quote that counts within its turn alone."""
        return self.of("quote", " ".join(parts))

    def tombstone(self, memory: Memory, *, key: str, time: str, purged: bool = False) -> Tombstone:
        """What is left of a memory."""
        statements, quotes = split_sentences(memory.body), _quotes(memory.evidence)
        telling = [each for each in quotes if len(" ".join(each)) >= SHORTEST_QUOTE]
        return Tombstone(
            key=key,
            salt=self.name,
            time=time,
            ids=(self.of("id", memory.id), self.of("id", memory.id[:ID8].lower())),
            statements=tuple(dict.fromkeys(map(self.statement, statements))),
            sizes=tuple(sorted({len(each) for each in (*statements, *telling) if len(each) <= MAX_SENTENCES})),
            quotes=tuple(dict.fromkeys(map(self.statement, telling))),
            vague=tuple(self.vague(each) for each in quotes if each not in telling),
            pieces=tuple(self.pieces(memory.evidence)),
            turns=(memory.source_turn,) if memory.source_turn else (),
            session=self.of("session", memory.source_session) if memory.source_session else "",
            purged=purged,
        )

    def pieces(self, quote: str) -> Iterator[str]:
        """Of a quote that was forgotten: every fourth window."""
        windows = [
            text[at : at + WINDOW] for text in fold_variants(quote) for at in range(0, len(text) - WINDOW + 1, STEP)
        ]
        for window in list(dict.fromkeys(windows))[:MOST_PIECES]:
            yield self.of("piece", window, 5)


def _quotes(evidence: str) -> list[Sentences]:
    """All of it, and each line: an update puts the words of another turn below the first."""
    lines = evidence.splitlines()[:MAX_SENTENCES]
    return list(dict.fromkeys(each for part in (evidence, *lines) for each in split_sentences(part)))


class MemoryHashes:
    """A memory that somebody wants to keep, as the tombstones of one salt would know it."""

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
        """Hashes of everything it says: statement, title and quote, whole and in runs of so many sentences."""
        found = set(self.wholes)
        for text in (self.memory.body, self.memory.title, self.memory.evidence):
            for parts in split_sentences(text):
                runs = {parts, *_runs(parts, {1, *sizes})}
                found.update(self._hasher.statement(run) for run in runs if len(" ".join(run)) >= SHORTEST_PART)
        return frozenset(found)

    @cached_property
    def vague(self) -> frozenset[str]:
        """Hashes of its quote, and of each sentence in it, that count within one turn alone."""
        quotes = _quotes(self.memory.evidence)
        return frozenset(self._hasher.vague(each) for each in (*quotes, *((part,) for some in quotes for part in some)))

    @cached_property
    def windows(self) -> frozenset[str]:
        """Hashes of every window of its quote."""
        texts = fold_variants(self.memory.evidence)
        windows = {text[at : at + WINDOW] for text in texts for at in range(len(text) - WINDOW + 1)}
        return frozenset(self._hasher.of("piece", window, 5) for window in windows)

    def repeats(self, tombstone: Tombstone) -> bool:
        """Whether its quote, of the same turn, is that of the forgotten one, or shares enough of it."""
        if self.vague & set(tombstone.vague):
            return True
        shared = len(self.windows & set(tombstone.pieces))
        shorter = min(len(tombstone.pieces), max(1, len(self.windows) // STEP))
        return shared > 0 and shared >= OVERLAP * shorter


def _runs(parts: Sentences, sizes: Collection[int]) -> Iterator[Sentences]:
    for size in sizes:
        for at in range(len(parts) - size + 1):
            yield parts[at : at + size]
