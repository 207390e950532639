"""Recognise forgotten memories by salted hashes, from which nobody can read them: of statement, quote, id and turn.

Texts are compared as a person sees them: case, spacing, punctuation at the ends, invisible characters and look-alike
letters do not count. Every digit does: another number is another fact.
"""

import os
import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from memem.core.evidence import strip_speakers
from memem.core.memory import ID8, Memory
from memem.core.tombstone import Removal, Tombstone
from memem.safety.folding import LOOK_ALIKE, LOOK_ALIKE_LARGE
from memem.safety.gate import cleanse
from memem.safety.invisible import neutralise
from memem.vault.tombstones import TombstoneIndex

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


def fold(text: str, alike: dict[int, str] = LOOK_ALIKE) -> str:
    """Fold a text to what a quick reader sees. Folding is idempotent."""
    for _ in range(8):  # the result of folding a character may need folding itself
        before = text
        if text.isascii():
            text = neutralise(text)[0].lower().replace("`", "'")
        else:
            text = "".join(map(_plain, _VARIANT.sub("", neutralise(text)[0])))
            text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
            text = text.translate(_MARKS).translate(alike)
        text = " ".join(text.split()).lstrip(_LEADING).rstrip(_TRAILING)
        if text == before:
            break
    return text


def fold_variants(text: str) -> tuple[str, ...]:
    """Fold a text in each way to read it: two if it has Greek letters, else one."""
    small = fold(text)
    return (small,) if text.isascii() else tuple(dict.fromkeys((small, fold(text, LOOK_ALIKE_LARGE))))


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


def split_sentences(text: str) -> list[Sentences]:
    """Fold and split a text into sentences, in each way to read it: line by line, and as wrapped paragraphs."""
    visible = neutralise(text)[0]
    lines = [_BULLET.sub("", line) for line in visible.splitlines()]
    paragraphs = [" ".join(part.split()) for part in _PARAGRAPH.split("\n".join(lines))]
    found: dict[Sentences, None] = {}
    for parts in (lines, paragraphs):
        whole = [sentence for part in parts for sentence in _SENTENCE.split(part) if sentence.strip()]
        for alike in (LOOK_ALIKE, LOOK_ALIKE_LARGE) if _GREEK_LETTER.search(visible) else (LOOK_ALIKE,):
            found[tuple(filter(None, (fold(sentence, alike) for sentence in whole)))] = None
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
        statements, quotes = split_sentences(memory.body), _quotes(strip_speakers(memory.evidence))
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
            pieces=tuple(self.windows(strip_speakers(memory.evidence), STEP)[:MOST_PIECES]),
            turns=(memory.source_turn,) if memory.source_turn else (),
            session=self.of("session", memory.source_session) if memory.source_session else "",
            purged=purged,
        )

    def windows(self, quote: str, step: int = 1) -> list[str]:
        """Hash every window of a quote, or every `step`th."""
        starts = ((text, start) for text in fold_variants(quote) for start in range(0, len(text) - WINDOW + 1, step))
        windows = dict.fromkeys(text[start : start + WINDOW] for text, start in starts)
        return [self.of("piece", window, 5) for window in windows]


def _quotes(evidence: str) -> list[Sentences]:
    """Split the evidence as a whole, and line by line: an update appends the words of another turn."""
    lines = evidence.splitlines()[:MAX_SENTENCES]
    return list(dict.fromkeys(each for part in (evidence, *lines) for each in split_sentences(part)))


@dataclass(frozen=True)
class MemoryHashes:
    """The hashes of a memory under one salt, to compare with tombstones."""

    memory: Memory
    hasher: Hasher

    @cached_property
    def id(self) -> str:
        return self.hasher.of("id", self.memory.id)

    @cached_property
    def wholes(self) -> frozenset[str]:
        return frozenset(map(self.hasher.statement, split_sentences(self.memory.body)))

    def texts(self, sizes: Collection[int]) -> frozenset[str]:
        """Hash statement, title and quote, whole and in runs of these numbers of sentences."""
        found = set(self.wholes)
        for text in (self.memory.body, self.memory.title, strip_speakers(self.memory.evidence)):
            for parts in split_sentences(text):
                starts = ((start, size) for size in {1, *sizes} for start in range(len(parts) - size + 1))
                runs = {parts, *(parts[start : start + size] for start, size in starts)}
                found.update(self.hasher.statement(run) for run in runs if len(" ".join(run)) >= SHORTEST_PART)
        return frozenset(found)

    @cached_property
    def vague(self) -> frozenset[str]:
        """Hashes of its quote and the sentences in it, which count only within one turn."""
        quotes = _quotes(strip_speakers(self.memory.evidence))
        return frozenset(self.hasher.vague(each) for each in (*quotes, *((part,) for some in quotes for part in some)))

    @cached_property
    def windows(self) -> frozenset[str]:
        return frozenset(self.hasher.windows(strip_speakers(self.memory.evidence)))

    def repeats(self, tombstone: Tombstone) -> bool:
        """Tell whether its quote is that of a forgotten memory of the same turn, or shares enough of it."""
        if self.vague & set(tombstone.vague):
            return True
        shared = len(self.windows & set(tombstone.pieces))
        shorter = min(len(tombstone.pieces), max(1, len(self.windows) // STEP))
        return shared > 0 and shared >= OVERLAP * shorter


def make_tombstone(memory: Memory, hasher: Hasher, time: str, *, purged: bool = False) -> Tombstone:
    """Make the tombstone of a memory as it leaves the gate, like the memories compared with it."""
    return hasher.tombstone(cleanse(memory).memory, key=os.urandom(8).hex(), time=time, purged=purged)


def find_removals(known: TombstoneIndex, identity: str) -> list[Removal]:
    """Find the removals of an id whose note is not back."""
    names = _ids(known, identity) if known.removed else ()
    return [removal for name in names for removal in known.removed.get(name, ())]


def find_matching(known: TombstoneIndex, memory: Memory) -> list[Tombstone]:
    """Find the tombstones that match a memory, however it is worded."""
    found: list[Tombstone] = []
    for candidate in _candidates(known, memory):
        found += known.by_id.get(candidate.id, ())
        found += [stone for text in candidate.texts(known.sizes) for stone in known.by_text.get(text, ())]
        found += filter(candidate.repeats, known.by_turn.get(memory.source_turn, ()))
    return _unique(found)


def find_same(known: TombstoneIndex, memory: Memory, *, by_statement: bool = True) -> list[Tombstone]:
    """Find the tombstones of the memory itself: by its id, or by its exact statement."""
    found: list[Tombstone] = []
    for candidate in _candidates(known, memory):
        found += known.by_id.get(candidate.id, ())
        texts = candidate.wholes if by_statement else ()
        found += [stone for text in texts for stone in known.by_text.get(text, ()) if text in stone.statements]
    return _unique(found)


def find_by_id(known: TombstoneIndex, identity: str) -> list[Tombstone]:
    """Find the tombstones in force of an id, or of its first characters."""
    return _unique(stone for each in _ids(known, identity) for stone in known.by_id.get(each, ()))


def filter_by_id(known: TombstoneIndex, stones: Iterable[Tombstone], identity: str) -> list[Tombstone]:
    """Select the tombstones of an id, or of its first characters."""
    hashes = _ids(known, identity)
    return [stone for stone in stones if not hashes.isdisjoint(stone.ids)]


def _ids(known: TombstoneIndex, identity: str) -> set[str]:
    wanted = identity.lower() if len(identity) <= ID8 else identity
    return {Hasher(name, salt).of("id", wanted) for name, salt in known.salts.items()}


def _candidates(known: TombstoneIndex, memory: Memory) -> list[MemoryHashes]:
    clean = cleanse(memory).memory if known.salts else memory
    return [MemoryHashes(clean, Hasher(name, salt)) for name, salt in known.salts.items()]


def _unique(stones: Iterable[Tombstone]) -> list[Tombstone]:
    return list({stone.key: stone for stone in stones}.values())
