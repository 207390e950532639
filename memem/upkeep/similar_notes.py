"""Find pairs of memories that may say the same by their rare words, instead of comparing all pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memem.compare.statements import LONGEST
from memem.core.errors import MememError
from memem.core.memory import Entry, fingerprint

if TYPE_CHECKING:
    from memem.workspace import Workspace

MAX_WORD_TEXTS = 64  # a word of more texts is not looked up: similar texts share rarer ones too
RARE_WORDS = 8  # looked up for each text
MIN_COVERAGE = 0.7  # of the shorter text's words, in the other
MAX_SIMILAR = 4  # for each text
MAX_PAIRS, MAX_EFFORT = 2_000, 600_000_000  # compared; effort: product of lengths; a few seconds (`bench curation`)
MIN_COSINE = 0.85  # finds 94 of 100 labelled pairs that say the same; words find the others

Places = tuple[int, int]  # two positions, the smaller first
Pair = tuple[Entry, Entry, tuple[float, float | None]]  # the share of common words, and the cosine if there are vectors

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def pairs_by_words(texts: Sequence[str]) -> dict[Places, float]:
    """The pairs of texts that share most of the rarest words of one of them, with the share of common words."""
    words = [_split_words(text) for text in texts]
    positions: dict[str, list[int]] = {}
    for position, own in enumerate(words):
        for word in own:
            positions.setdefault(word, []).append(position)
    shared = {word: places for word, places in positions.items() if 1 < len(places) <= MAX_WORD_TEXTS}
    pairs: dict[Places, float] = {}
    for position, own in enumerate(words):
        for other in _similar_texts(position, own, words, shared):
            first, second = sorted((position, other))
            pairs[first, second] = _jaccard(words[first], words[second])
    return pairs


def word_likeness(one: str, other: str) -> float:
    return _jaccard(_split_words(one), _split_words(other))


def _split_words(text: str) -> frozenset[str]:
    """Case-folded words; in scripts without spaces also pairs of characters."""
    words = _WORD.findall(text.casefold())
    pieces = [word[at : at + 2] for word in words if _UNSPACED.search(word) for at in range(len(word) - 1)]
    return frozenset((*words, *pieces))


def _similar_texts(
    position: int, own: frozenset[str], words: Sequence[frozenset[str]], shared: dict[str, list[int]]
) -> list[int]:
    rarest = sorted((word for word in own if word in shared), key=lambda word: (len(shared[word]), word))[:RARE_WORDS]
    common = Counter(other for word in rarest for other in shared[word])
    del common[position]
    coverage = {
        other: len(own & words[other]) / max(1, min(len(own), len(words[other])))
        for other, count in common.items()
        if count >= (len(rarest) + 1) // 2
    }
    covered = (other for other in coverage if coverage[other] >= MIN_COVERAGE)
    return sorted(covered, key=lambda other: (-coverage[other], other))[:MAX_SIMILAR]


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def likely_pairs(ws: Workspace, entries: Sequence[Entry]) -> list[Pair]:
    """The pairs of one project that are worth comparing, the likeliest first."""
    projects: dict[str, list[int]] = {}
    for position, entry in enumerate(entries):
        projects.setdefault(entry.project, []).append(position)
    pairs: dict[Places, tuple[float, float | None]] = {}
    for positions in projects.values():
        some = [entries[position] for position in positions]
        # A text that is too long to compare can only equal an exact copy.
        texts = [entry.body if len(entry.body) <= LONGEST else "" for entry in some]
        likeness = pairs_by_words(texts)
        first: dict[str, int] = {}
        for position, entry in enumerate(some):
            earlier = first.setdefault(fingerprint(entry.body), position)
            if earlier != position:
                likeness[earlier, position] = 1.0
        cosines = _cosines(ws, some)
        for one, other in likeness.keys() | cosines.keys():
            share = likeness.get((one, other))
            share = word_likeness(some[one].body, some[other].body) if share is None else share
            pairs[positions[one], positions[other]] = (share, cosines.get((one, other)))
    best = sorted(pairs.items(), key=lambda pair: (-max(pair[1][0], pair[1][1] or 0.0), pair[0]))
    return [(entries[one], entries[other], scores) for (one, other), scores in best]


def _cosines(ws: Workspace, entries: Sequence[Entry]) -> dict[Places, float]:
    if ws.settings.encoder == "none":
        return {}
    from memem.search.passages import passage_key, split_passages

    keys = [(passage_key(text), place) for place, entry in enumerate(entries) for text in split_passages(entry.memory)]
    try:
        vectors = ws.vectors()  # first: it loads numpy with one BLAS thread
        import numpy as np

        from memem.search.graph.similar import find_closest

        with vectors.reading() as view:
            slots = view.slots(list({key for key, _ in keys}))
            encoded = [(slots[key], position) for key, position in keys if key in slots]
            every = np.arange(len(encoded))
            columns = find_closest(view.rows[[slot for slot, _ in encoded]], every, every, MIN_COSINE, MAX_SIMILAR)
    except MememError:
        return {}  # reported by doctor; words find nearly all of them
    cosines: dict[Places, float] = {}
    for one, other, cosine in zip(*(column.tolist() for column in columns), strict=True):
        first, second = sorted((encoded[one][1], encoded[other][1]))
        if first != second:
            cosines[first, second] = max(cosine, cosines.get((first, second), cosine))
    return cosines
