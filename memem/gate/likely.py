"""Which of many texts may say the same, by their words: few pairs, found without holding each text beside each."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

MOST_HOLDERS = 64
"""A word that stands in more texts of a project leads to none of them: looking through its holders would be all that
takes time, and what is alike shares rarer ones too."""
TELLING = 8
"""So many of a text's rarest words are looked up."""
LEAST_COVERED = 0.7
"""So much of the shorter text has to stand in the other one."""
MOST_BESIDE = 4
"""So many of the likeliest are named for each text."""

Pair = tuple[int, int, float]
"""Two places in the sequence, the earlier first, and how much of all their words both have, from 0 to 1."""

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def likely(texts: Sequence[str]) -> Iterator[Pair]:
    """Pairs of texts of which one may say what the other says."""
    words = [_words_of(text) for text in texts]
    holders: dict[str, list[int]] = {}
    for place, mine in enumerate(words):
        for word in mine:
            holders.setdefault(word, []).append(place)
    shared = {word: places for word, places in holders.items() if 1 < len(places) <= MOST_HOLDERS}
    found: dict[tuple[int, int], float] = {}
    for place, mine in enumerate(words):
        for other in _beside(place, mine, words, shared):
            pair = (min(place, other), max(place, other))
            found[pair] = _likeness(words[pair[0]], words[pair[1]])
    yield from ((*pair, likeness) for pair, likeness in sorted(found.items()))


def likeness(one: str, other: str) -> float:
    """How much of all the words of two texts both have, from 0 to 1."""
    return _likeness(_words_of(one), _words_of(other))


def _words_of(text: str) -> frozenset[str]:
    """The words of a text as they are looked up: folded, and two characters each in scripts without spaces."""
    found = _WORD.findall(text.casefold())
    pieces = [word[at : at + 2] for word in found if _UNSPACED.search(word) for at in range(len(word) - 1)]
    return frozenset((*found, *pieces))


def _beside(
    place: int, mine: frozenset[str], words: Sequence[frozenset[str]], shared: dict[str, list[int]]
) -> list[int]:
    """The few texts that have most of a text's rarest words, and cover it or are covered by it."""
    rarest = sorted((word for word in mine if word in shared), key=lambda word: (len(shared[word]), word))[:TELLING]
    met = Counter(other for word in rarest for other in shared[word])
    del met[place]
    enough = (len(rarest) + 1) // 2
    covered = {other: _covered(mine, words[other]) for other, times in met.items() if times >= enough}
    best = sorted((other for other in covered if covered[other] >= LEAST_COVERED), key=lambda at: (-covered[at], at))
    return best[:MOST_BESIDE]


def _covered(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, min(len(one), len(other)))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))
