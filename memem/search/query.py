"""What is asked of the index and what it found: terms, scope, matches."""

import math
from dataclasses import dataclass

from memem.core.files import Stamp
from memem.core.memory import Memory


@dataclass(frozen=True, slots=True)
class Term:
    """One thing a query asks for, in the index's spelling."""

    text: str
    literal: bool = False  # an identifier, a path, a number: it means exactly itself
    prefix: bool = False  # a single character of a script written in bigrams
    part: bool = False  # a piece of a compound that is asked for as a whole too
    bigram: bool = False  # two characters of a script without spaces, often the end of a word and the beginning of one


RARE = 3
"""A literal that stands in at most so many notes names them. `python -m bench recall` tells: with eight, what is only
mentioned often, like a project, counts as a name too, and devmem loses."""


def is_name(term: Term, frequency: int) -> bool:
    """Whether a term names the notes it stands in: whoever asks for it wants them, however much else they say."""
    return term.literal and 0 < frequency <= RARE


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look: in some projects or in all, and also among what is archived or no longer in force or not.

    With `now`, only among what holds then by its own word; with `as_of`, among what was held true at that moment.
    """

    projects: tuple[str, ...] | None = None
    archive: bool = False
    now: float | None = None
    as_of: float | None = None


@dataclass(frozen=True, slots=True)
class NoteMatch:
    """A note that may answer: the terms it holds, its raw BM25 and the cosine of its best passage: more is better.

    `cosine` is None when the note has no vector yet, or meaning had no part in the search.
    """

    path: str
    stamp: Stamp
    memory: Memory
    bm25: float
    terms: tuple[Term, ...]
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class SearchMatches:
    """All that a query brought: the matches, and in how many of the `notes` each asked term stands.

    `multilingual` is the encoder's. `degraded` says why meaning had no part in it, when it should have had.
    """

    matches: tuple[NoteMatch, ...]
    frequencies: dict[Term, int]
    notes: int
    multilingual: bool = False
    degraded: str = ""

    def encoder_reads(self) -> list[bool]:
        """Of each match, whether the encoder reads both the query and the note: only then a cosine says something."""
        latin = sum(self.weight(term) for term in self.frequencies if term.text.isascii())
        other = sum(self.weight(term) for term in self.frequencies if not term.text.isascii())
        return [self.multilingual or (latin >= other and is_mostly_ascii(match.memory.body)) for match in self.matches]

    @property
    def total_weight(self) -> float:
        """How much is asked for, by rarity. Up to half of the bigrams are no words, and so in no note: not counted."""
        return sum(map(self.weight, self.frequencies)) - self._no_words

    @property
    def unknown_share(self) -> float:
        """How much of that stands in no note at all, from 0 to 1."""
        missing = sum(self.weight(term) for term, count in self.frequencies.items() if not count) - self._no_words
        return missing / self.total_weight if self.total_weight else 0.0

    @property
    def _no_words(self) -> float:
        bigrams = {term: self.weight(term) for term in self.frequencies if term.bigram}
        missing = sum(weight for term, weight in bigrams.items() if not self.frequencies[term])
        return min(missing, sum(bigrams.values()) / 2)

    @property
    def names_unknown(self) -> bool:
        """Whether an identifier is asked for that stands in no note."""
        return any(term.literal and not count for term, count in self.frequencies.items())

    def weight(self, term: Term) -> float:
        """How much a term says: its inverse document frequency; a piece of a compound says half."""
        frequency = self.frequencies[term]
        rarity = math.log(1 + (self.notes - frequency + 0.5) / (frequency + 0.5))
        return rarity / 2 if term.part else rarity


def is_mostly_ascii(text: str) -> bool:
    """Whether an encoder that reads Latin letters alone reads a text."""
    return 2 * len(text.encode("ascii", "ignore")) >= len(text)
