"""Fits the weights of confidence to labelled prompts: a logistic regression that need not be told which memory helped.

A prompt is answered when its best memory is good enough. So of a prompt that wants something the best of the right
memories counts, of one that wants nothing the best of all, as the weights are so far; then the weights are fitted to
those, and so on until they settle (multiple instances: Dietterich et al. 1997).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench.prompts import Case
from memem.inject import confidence
from memem.inject.confidence import Evidence, EvidenceWeights

Array = NDArray[np.float64]

SHRINK = 8.0
"""How strongly weights are drawn to nothing, over evidence of equal spread."""
ROUNDS, STEPS = 10, 50
HELD = {"question": 2.0, "name": 1.5}
"""Not fitted, since the public set would lead astray: all that it wants answered are questions, and few of them name
anything. `bench silence` shows what other values do."""
OF_MEANING = ("cosine", "coverage", "unknown", "unknown_name")
OF_WORDS = ("coverage", "words", "unknown", "unknown_name")


def fit(cases: Sequence[Case], free: Sequence[str], held: dict[str, float] | None = None) -> EvidenceWeights:
    """Weights for these pieces of evidence."""
    held = HELD if held is None else held
    bags = [_bag(case, free, held) for case in cases]
    bags = [bag for bag in bags if len(bag[0])]
    every = np.vstack([evidence for evidence, *_ in bags])
    middle, spread = every.mean(0), every.std(0) + 1e-9
    weights, bias = np.ones(len(free)), 0.0
    for _ in range(ROUNDS):
        chosen = []
        for evidence, given, right, wanted in bags:
            odds = (evidence - middle) / spread @ weights + given
            place = int(np.argmax(np.where(right, odds, -np.inf) if wanted else odds))
            chosen.append((*(evidence[place] - middle) / spread, given[place], float(wanted)))
        table = np.array(chosen)
        weights, bias = _logistic(table[:, :-2], table[:, -2], table[:, -1])
    fitted = dict(zip(free, weights / spread, strict=True))
    return EvidenceWeights(always=float(bias - (weights * middle / spread).sum()), **fitted, **held)


def _bag(case: Case, free: Sequence[str], held: dict[str, float]) -> tuple[Array, Array, NDArray[np.bool_], bool]:
    """The evidence of a case's hits, what is held of their odds, and which of them are right."""
    hits = [hit for hit in case.hits if confidence.has_meaning(hit)]
    if case.wanted and case.right.isdisjoint(hit.id for hit in hits):
        hits = []
    seen = [confidence.evidence(hit, case.prompt) for hit in hits]
    evidence = np.array([[getattr(each, name) for name in free] for each in seen]).reshape(len(hits), len(free))
    given = np.array([sum(weight * getattr(each, name) for name, weight in held.items()) for each in seen])
    return evidence, given, np.array([hit.id in case.right for hit in hits], bool), case.wanted


def _logistic(evidence: Array, given: Array, wanted: Array) -> tuple[Array, float]:
    """The weights, and what is always added, that make the labels most likely: Newton's method."""
    table = np.column_stack([evidence, np.ones(len(evidence))])
    penalty = np.diag([SHRINK] * evidence.shape[1] + [1e-6])
    weights = np.zeros(table.shape[1])
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-(table @ weights + given)))
        slope = table.T @ (likely - wanted) + penalty @ weights
        curvature = (table * (likely * (1 - likely))[:, None]).T @ table + penalty
        step = np.linalg.solve(curvature, slope)
        weights = weights - step
        if np.abs(step).max() < 1e-9:
            break
    return weights[:-1], float(weights[-1])


def log_odds(likely: float) -> float:
    return math.log(likely / (1 - likely))


def odds(weights: EvidenceWeights, evidence: Evidence) -> float:
    return sum(weight * piece for weight, piece in zip(weights, evidence, strict=True))


def calibrated(weights: EvidenceWeights, cases: Sequence[Case]) -> EvidenceWeights:
    """The same order, scaled so that of the memories given a probability, such a share is right (Platt)."""
    seen = [
        (odds(weights, confidence.evidence(hit, case.prompt)), hit.id in case.right)
        for case in cases
        for hit in case.hits
        if confidence.has_meaning(hit)
    ]
    table = np.array(seen, float)
    (scale,), shift = _logistic(table[:, :1], np.zeros(len(table)), table[:, 1])
    return EvidenceWeights(*(piece * float(scale) for piece in weights))._replace(
        always=weights.always * float(scale) + shift
    )
