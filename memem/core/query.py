"""What travels from the index to recall: what was asked for, and what was found."""

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


@dataclass(frozen=True, slots=True)
class Match:
    """A note that holds some of the terms, with its raw BM25: more is better."""

    path: str
    stamp: Stamp
    memory: Memory
    bm25: float
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """All that a query brought: the matches, and in how many of the `notes` each asked term stands."""

    matches: tuple[Match, ...]
    frequencies: dict[Term, int]
    notes: int

    def weight(self, term: Term) -> float:
        """How much a term says: its inverse document frequency; a piece of a compound says half."""
        frequency = self.frequencies[term]
        rarity = math.log(1 + (self.notes - frequency + 0.5) / (frequency + 0.5))
        return rarity / 2 if term.part else rarity
