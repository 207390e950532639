"""Count, at a threshold, the prompts that get a memory, those that should not, and how many memories are right."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from random import Random
from typing import Any

from bench import fitting
from bench.metrics import bootstrap, mean, resamples
from bench.prompts import ABSTENTION, Case
from memem.core.memory import MOST_HITS, Hit
from memem.core.options import OPTIONS
from memem.inject import confidence
from memem.inject.confidence import EvidenceWeights, Thresholds
from memem.inject.pack import drop_repeats, pack
from memem.safety import quote

FOLDS, REPEATS = 5, 4
COST = 6.0
"""To say something out of turn is as bad as to be silent so often when something was to be said."""
BUDGET = 8_000
BANDS = ((0.0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.0))

Choose = Callable[[Case], list[Hit]]
"""A way of deciding which memories a prompt is shown."""


@dataclass(frozen=True, slots=True)
class Point:
    """The outcome for all prompts at one threshold."""

    line: float
    off_topic: int
    of_off: int
    answered: int
    right: int
    of_on: int
    items: int
    right_items: int
    characters: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def in_use() -> Thresholds:
    """The line as long as nobody changes it."""
    defaults = {option.key: option.default for option in OPTIONS}
    keys = ("recall_min_confidence", "recall_min_item_score", "recall_oov_threshold")
    return Thresholds(*(float(defaults[key]) for key in keys))


def at(line: Thresholds, weights: EvidenceWeights | None = None) -> Choose:
    """To show what reaches a line, as a slice does; by other weights than those in use, when given."""

    def choose(case: Case) -> list[Hit]:
        hits = case.hits if weights is None else [_weighed(hit, case, weights) for hit in case.hits]
        rated = confidence.apply_thresholds(hits, case.prompt, line)
        return drop_repeats([hit for hit in rated if not hit.kept_out])[:MOST_HITS]

    return choose


def above_cosine(least: float) -> Choose:
    """The plain way: to show what is near enough."""
    return lambda case: [hit for hit in case.hits if (hit.cosine or 0.0) >= least][:MOST_HITS]


def point(cases: Sequence[Case], choose: Choose, line: float) -> Point:
    """Count prompts that need something and those that need nothing; skip questions without an answer."""
    shown = [(case, choose(case)) for case in cases if case.kind != ABSTENTION]
    spoken = [(case, hits) for case, hits in shown if case.wanted and hits]
    return Point(
        line,
        off_topic=sum(bool(hits) for case, hits in shown if not case.wanted),
        of_off=sum(not case.wanted for case, _ in shown),
        answered=len(spoken),
        right=sum(any(hit.id in case.right for hit in hits) for case, hits in spoken),
        of_on=sum(case.wanted for case, _ in shown),
        items=sum(len(hits) for _, hits in spoken),
        right_items=sum(hit.id in case.right for case, hits in spoken for hit in hits),
        characters=statistics.median([_characters(hits) for _, hits in spoken] or [0]),
    )


def crossed(cases: Sequence[Case], seed: int = 1) -> dict[str, Any]:
    """Weights and line from four fifths of the prompts, judged on the others: what to expect of prompts nobody saw."""
    cases = [case for case in cases if case.kind != ABSTENTION]
    fired: list[list[float]] = [[] for _ in cases]
    right: list[list[float]] = [[] for _ in cases]
    for repeat in range(REPEATS):
        fold_of = _folds(cases, Random(seed + repeat))
        for fold in range(FOLDS):
            training = [case for case, own in zip(cases, fold_of, strict=True) if own != fold]
            weights = fitting.fit(training, fitting.OF_MEANING)
            choose = at(best_line(training, weights), weights)
            for place, case in enumerate(cases):
                if fold_of[place] == fold:
                    hits = choose(case)
                    fired[place].append(float(bool(hits)))
                    right[place].append(float(any(hit.id in case.right for hit in hits)))
    on = [place for place, case in enumerate(cases) if case.wanted]
    off = [place for place, case in enumerate(cases) if not case.wanted]
    parts = {"off_topic": (fired, off), "answered": (fired, on), "right": (right, on)}
    shares = {name: _share([mean(values[place]) for place in places], seed) for name, (values, places) in parts.items()}
    return {"folds": FOLDS, "repeats": REPEATS, **shares}


def has_meaning(cases: Sequence[Case]) -> bool:
    """Whether there was a model when they were asked."""
    return any(confidence.has_meaning(hit) for case in cases for hit in case.hits)


def best_line(cases: Sequence[Case], weights: EvidenceWeights) -> Thresholds:
    """The line that serves these prompts best, in the middle between those that serve them as well."""
    used = in_use()
    choose = at(replace(used, confidence=0.0), weights)
    best = [(max((hit.helps or 0.0 for hit in choose(case)), default=0.0), case.wanted) for case in cases]
    places = sorted({likely for likely, _ in best} | {1.0})
    lines = [(low + high) / 2 for low, high in pairwise(places)]
    worth = [_worth(best, line) for line in lines]
    equal = [line for line, each in zip(lines, worth, strict=True) if each >= max(worth) - 1e-9]
    return replace(used, confidence=(equal[0] + equal[-1]) / 2)


def _worth(best: Sequence[tuple[float, bool]], line: float) -> float:
    """The share that is answered, less what the share that fires out of turn costs."""
    fires = {wanted: [likely >= line for likely, each in best if each == wanted] for wanted in (True, False)}
    return mean(fires[True]) - COST * mean(fires[False])


def by_kind(cases: Sequence[Case], choose: Choose) -> list[dict[str, Any]]:
    """Group the outcome by kind of prompt and by whether it needs something."""
    kinds = dict.fromkeys((case.kind, case.wanted) for case in cases)
    return [_kind([case for case in cases if (case.kind, case.wanted) == kind], choose, *kind) for kind in kinds]


def reliability(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Count, per band of confidence, how many memories were right."""
    seen = [(hit.helps or 0.0, hit.id in case.right) for case in cases for hit in case.hits]
    rows = []
    for low, high in BANDS:
        band = [(likely, right) for likely, right in seen if low <= likely < high or likely == high == 1.0]
        if band:
            predicted, observed = mean([likely for likely, _ in band]), mean([float(right) for _, right in band])
            rows.append({"low": low, "high": high, "items": len(band), "predicted": predicted, "observed": observed})
    return rows


def _kind(cases: Sequence[Case], choose: Choose, kind: str, wanted: bool) -> dict[str, Any]:
    shown = [(case, choose(case)) for case in cases]
    return {
        "kind": kind,
        "prompts": len(cases),
        "wanted": wanted,
        "fired": sum(bool(hits) for _, hits in shown),
        "right": sum(any(hit.id in case.right for hit in hits) for case, hits in shown),
        "never": sum(any(hit.id in case.never for hit in hits) for case, hits in shown),
        "items": sum(len(hits) for _, hits in shown),
        "right_items": sum(hit.id in case.right for case, hits in shown for hit in hits),
    }


def _weighed(hit: Hit, case: Case, weights: EvidenceWeights) -> Hit:
    if not confidence.has_meaning(hit):
        return hit
    odds = fitting.odds(weights, confidence.evidence(hit, case.prompt))
    return replace(hit, helps=1 / (1 + math.exp(-odds)))


def _characters(hits: Sequence[Hit]) -> int:
    facts = quote.list_facts(project="project", branch="main", task_mode="explain", files=())
    return len(pack(hits, [], facts, hits[0].project, BUDGET).text)


def _folds(cases: Sequence[Case], random: Random) -> list[int]:
    """A fold for each case, so that those that want something are spread as evenly as the others."""
    fold_of = [0] * len(cases)
    for wanted in (True, False):
        places = [place for place, case in enumerate(cases) if case.wanted == wanted]
        random.shuffle(places)
        for number, place in enumerate(places):
            fold_of[place] = number % FOLDS
    return fold_of


def _share(values: Sequence[float], seed: int) -> dict[str, Any]:
    interval = bootstrap(values, resamples(len(values), seed))
    return interval.as_json() | {"count": round(sum(values), 2), "of": len(values)}
