"""The terms and scope of a query, and the matches it finds."""

import math
from dataclasses import dataclass

from memem.core.files import Stamp
from memem.core.memory import Memory

RARE = 3  # a literal in at most this many notes names them; with 8, `bench recall` loses on devmem


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a query, in the index's spelling."""

    text: str
    literal: bool = False  # an identifier, a path, a number: it means exactly itself
    prefix: bool = False  # a single character of a script written in bigrams
    part: bool = False  # a piece of a compound that is searched for as a whole too
    bigram: bool = False  # two characters of a script without spaces, possibly across two words


def is_name(term: Term, frequency: int) -> bool:
    """Tell whether a term names the notes it occurs in, so that a query with it wants them."""
    return term.literal and 0 < frequency <= RARE


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to search: the projects (None: all), and whether archived and inactive notes count."""

    projects: tuple[str, ...] | None = None
    archive: bool = False
    now: float | None = None  # only notes that are valid then by their own properties
    as_of: float | None = None  # only notes that were held true then


@dataclass(frozen=True, slots=True)
class NoteMatch:
    path: str
    stamp: Stamp
    memory: Memory
    bm25: float
    terms: tuple[Term, ...]
    cosine: float | None = None  # None without a vector, or when the search was by words alone


@dataclass(frozen=True, slots=True)
class SearchMatches:
    matches: tuple[NoteMatch, ...]
    frequencies: dict[Term, int]  # in how many of the notes each term of the query occurs
    notes: int
    multilingual: bool = False  # the encoder reads other scripts
    degraded: str = ""  # why meaning did not count when it should have

    def encoder_reads(self) -> list[bool]:
        """For each match, whether the encoder reads both the query and the note: otherwise a cosine says little."""
        latin = sum(self.weight(term) for term in self.frequencies if term.text.isascii())
        other = sum(self.weight(term) for term in self.frequencies if not term.text.isascii())
        return [self.multilingual or (latin >= other and is_mostly_ascii(match.memory.body)) for match in self.matches]

    @property
    def total_weight(self) -> float:
        """The weight of the query's terms, without bigrams that are probably not words."""
        return sum(map(self.weight, self.frequencies)) - self._non_word_weight

    @property
    def unknown_share(self) -> float:
        """The share of that weight, from 0 to 1, that occurs in no note."""
        missing = sum(self.weight(term) for term, count in self.frequencies.items() if not count)
        return (missing - self._non_word_weight) / self.total_weight if self.total_weight else 0.0

    @property
    def _non_word_weight(self) -> float:
        """The weight of missing bigrams, at most half of all: up to half of the bigrams are not words."""
        bigrams = {term: self.weight(term) for term in self.frequencies if term.bigram}
        missing = sum(weight for term, weight in bigrams.items() if not self.frequencies[term])
        return min(missing, sum(bigrams.values()) / 2)

    @property
    def names_unknown(self) -> bool:
        return any(term.literal and not count for term, count in self.frequencies.items())

    def weight(self, term: Term) -> float:
        """The inverse document frequency of a term; half of it for a piece of a compound."""
        frequency = self.frequencies[term]
        rarity = math.log(1 + (self.notes - frequency + 0.5) / (frequency + 0.5))
        return rarity / 2 if term.part else rarity


def is_mostly_ascii(text: str) -> bool:
    return 2 * len(text.encode("ascii", "ignore")) >= len(text)
