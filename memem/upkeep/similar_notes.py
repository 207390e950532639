"""Find pairs of memories that may say the same: by text, by meaning, and by their rarest words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from memem.compare.statements import LONGEST
from memem.core.errors import MememError
from memem.core.memory import Entry, fingerprint

if TYPE_CHECKING:
    from memem.search.encoders.interface import Vectors
    from memem.workspace import Workspace


MOST_HOLDERS = 64
"""A word that stands in more texts of a project leads to none of them: looking through its holders would be all that
takes time, and what is alike shares rarer ones too."""
TELLING = 8
"""So many of a text's rarest words are looked up."""
LEAST_COVERED = 0.7
"""So much of the shorter text has to stand in the other one."""
MOST_BESIDE = 4
"""So many of the likeliest are named for each text."""

LikelyPair = tuple[int, int, float]
"""Two places in the sequence, the earlier first, and how much of all their words both have, from 0 to 1."""

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def pairs_by_words(texts: Sequence[str]) -> Iterator[LikelyPair]:
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


def word_likeness(one: str, other: str) -> float:
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


MOST_COMPARED, MOST_EFFORT = 2_000, 600_000_000
"""So many pairs, the likeliest, are compared, fewer when they are long: each sentence is held beside each, which takes
as long as the product of their lengths. A few seconds in all; `python -m bench curation` tells."""
LEAST_NEAR = 0.85
"""Of the labelled pairs of statements that say the same 94 in 100 are so near; words find the others, and all of which
one is part of the other."""

Pair = tuple[Entry, Entry, tuple[float, float | None]]
"""Two memories, how alike their words are, and how near they are, where that is known."""


def likely_pairs(ws: Workspace, entries: Sequence[Entry]) -> list[Pair]:
    """The pairs that are worth comparing, the likeliest first: by the same text, by meaning, and by words."""
    pairs: dict[tuple[int, int], tuple[float, float | None]] = {}
    for places in _by_project(entries):
        mine = [entries[place] for place in places]
        # What is longer than can be compared is only ever the same as its very copy.
        texts = [each.body if len(each.body) <= LONGEST else "" for each in mine]
        alike = {(one, other): likeness for one, other, likeness in pairs_by_words(texts)}
        alike |= dict.fromkeys(_same_text(mine), 1.0)
        cosines = _cosines(ws, mine)
        for one, other in alike.keys() | cosines.keys():
            known = alike.get((one, other))
            likeness = word_likeness(mine[one].body, mine[other].body) if known is None else known
            pairs[places[one], places[other]] = (likeness, cosines.get((one, other)))
    best = sorted(pairs.items(), key=lambda each: (-max(each[1][0], each[1][1] or 0.0), each[0]))
    return [(entries[one], entries[other], near) for (one, other), near in best]


def affordable(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """As many of them, from the first on, as can be compared in a few seconds."""
    efforts = accumulate(len(one.body) * len(other.body) for one, other, _ in pairs[:MOST_COMPARED])
    return pairs[: sum(effort <= MOST_EFFORT for effort in efforts)]


def _by_project(entries: Sequence[Entry]) -> list[list[int]]:
    places: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        places.setdefault(entry.project, []).append(place)
    return list(places.values())


def _same_text(entries: Sequence[Entry]) -> Iterator[tuple[int, int]]:
    first: dict[str, int] = {}
    for place, entry in enumerate(entries):
        earlier = first.setdefault(fingerprint(entry.body), place)
        if earlier != place:
            yield earlier, place


def _cosines(ws: Workspace, entries: Sequence[Entry]) -> dict[tuple[int, int], float]:
    """How near notes are whose passages have vectors; none where there is no encoder."""
    if ws.settings.encoder == "none":
        return {}
    from memem.search.passages import passage_key, split_passages

    keys = [(passage_key(text), place) for place, entry in enumerate(entries) for text in split_passages(entry.memory)]
    try:
        with ws.vectors().reading() as view:
            slots = view.slots(list({each for each, _ in keys}))
            known = [(slots[each], place) for each, place in keys if each in slots]
            return _nearest(view.rows[[slot for slot, _ in known]], [place for _, place in known])
    except MememError:
        return {}  # `memem doctor` says what is wrong with them; words find nearly all of it


def _nearest(rows: Vectors, owners: Sequence[int]) -> dict[tuple[int, int], float]:
    """Pairs of notes of which two passages are near, with the cosine of the nearest."""
    import numpy as np

    from memem.search.graph.similar import find_closest

    every = np.arange(len(rows))
    near = find_closest(rows, every, every, LEAST_NEAR, MOST_BESIDE)
    found: dict[tuple[int, int], float] = {}
    for one, other, cosine in zip(near.ones.tolist(), near.others.tolist(), near.cosines.tolist(), strict=True):
        first, second = sorted((owners[one], owners[other]))
        if first != second:
            found[first, second] = max(cosine, found.get((first, second), cosine))
    return found
