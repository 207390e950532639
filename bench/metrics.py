"""How good a ranking is, and how sure one may be of the average.

A ranking is a list of sources, best first, each at most once; `wanted` are the sources that answer. Everything is pure.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

RESAMPLES = 2_000
CONFIDENCE = 0.95

Metric = Callable[[Sequence[str], Collection[str]], float]


@dataclass(frozen=True, slots=True)
class Interval:
    """An average and the bounds between which it lies in 95 of 100 repetitions with other questions."""

    value: float
    low: float
    high: float

    def as_json(self) -> dict[str, float]:
        return {"value": round(self.value, 6), "low": round(self.low, 6), "high": round(self.high, 6)}


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better one way is than another on the same questions, and on how many of them."""

    interval: Interval
    better: int
    equal: int
    worse: int


def any_at(ranking: Sequence[str], wanted: Collection[str], k: int) -> float:
    """1 when at least one of the wanted is among the first k."""
    return float(any(source in wanted for source in ranking[:k]))


def all_at(ranking: Sequence[str], wanted: Collection[str], k: int) -> float:
    """1 when all of the wanted are among the first k, which more than k of them never are."""
    return float(set(wanted) <= set(ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], wanted: Collection[str]) -> float:
    """1 over the place of the first wanted; 0 when there is none."""
    return next((1 / place for place, source in enumerate(ranking, 1) if source in wanted), 0.0)


def ndcg_at(ranking: Sequence[str], wanted: Collection[str], k: int) -> float:
    """The gain of the first k over that of the best possible order; a wanted source gains 1, another 0."""
    gain = sum(_discount(place) for place, source in enumerate(ranking[:k], 1) if source in wanted)
    return gain / sum(_discount(place) for place in range(1, min(len(wanted), k) + 1))


METRICS: Mapping[str, Metric] = {
    "any@1": partial(any_at, k=1),
    "any@5": partial(any_at, k=5),
    "any@10": partial(any_at, k=10),
    "all@5": partial(all_at, k=5),
    "all@10": partial(all_at, k=10),
    "MRR": reciprocal_rank,
    "nDCG@10": partial(ndcg_at, k=10),
}
PLACES = range(1, 11)
CURVES: Mapping[str, Mapping[int, Metric]] = {
    "any": {k: partial(any_at, k=k) for k in PLACES},
    "all": {k: partial(all_at, k=k) for k in PLACES},
}
"""Recall against how far one looks."""


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def resamples(count: int, seed: int, times: int = RESAMPLES) -> list[list[int]]:
    """`times` draws of `count` questions with replacement. Whatever is compared uses the same draws."""
    random = Random(seed)
    return [random.choices(range(count), k=count) for _ in range(times)]


def bootstrap(values: Sequence[float], draws: Sequence[Sequence[int]]) -> Interval:
    """The average over the questions, with the percentile interval of its value in the draws."""
    averages = sorted(sum(map(values.__getitem__, draw)) / len(draw) for draw in draws)
    tail = (1 - CONFIDENCE) / 2
    low, high = math.floor(tail * len(averages)), math.ceil((1 - tail) * len(averages)) - 1
    return Interval(mean(values), averages[low], averages[high])


def difference(ours: Sequence[float], theirs: Sequence[float], draws: Sequence[Sequence[int]]) -> Difference:
    """Ours minus theirs, question by question, so that hard questions count alike for both."""
    apart = [our - their for our, their in zip(ours, theirs, strict=True)]
    better, worse = sum(each > 0 for each in apart), sum(each < 0 for each in apart)
    return Difference(bootstrap(apart, draws), better, len(apart) - better - worse, worse)


def _discount(place: int) -> float:
    return 1 / math.log2(place + 1)
