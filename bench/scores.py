"""What was measured of a set, as tables, as JSON, and held against what is promised."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bench.corpora import Corpus, Question
from bench.measure import table
from bench.metrics import METRICS, Difference, Interval, bootstrap, difference, mean, resamples

KEYWORD, COSINE, FUSED = MODES = ("keyword", "cosine", "fused")
MAIN, HIT = "nDCG@10", "any@5"
SURE_KINDS = {"literal": "literal queries", "cjk": "CJK queries"}
"""Kinds of queries (the labelled set has them) that each have to find their memory among the first five."""

Find = Callable[[str, Question], Iterable[str]]
"""The ids of the memories found for a question in a mode, best first."""


@dataclass(frozen=True)
class Scores:
    """How well the questions of one set were answered: a number per mode, metric and question."""

    name: str
    questions: tuple[Question, ...]
    values: Mapping[str, Mapping[str, tuple[float, ...]]]
    seed: int
    complete: bool = True

    @cached_property
    def _draws(self) -> list[list[int]]:
        return resamples(len(self.questions), self.seed)

    @cached_property
    def intervals(self) -> dict[str, dict[str, Interval]]:
        """By mode and metric."""
        return {
            mode: {metric: bootstrap(values, self._draws) for metric, values in metrics.items()}
            for mode, metrics in self.values.items()
        }

    @cached_property
    def differences(self) -> dict[str, Difference]:
        """How much better fused is than each of the other modes, when it was measured."""
        others = [mode for mode in self.values if mode != FUSED] if FUSED in self.values else []
        ours = {mode: self.values[mode][MAIN] for mode in self.values}
        return {mode: difference(ours[FUSED], ours[mode], self._draws) for mode in others}

    @cached_property
    def kinds(self) -> dict[str, list[int]]:
        """The places of the questions of each kind, in the order the kinds appear in."""
        places: dict[str, list[int]] = {}
        for place, question in enumerate(self.questions):
            places.setdefault(question.kind, []).append(place)
        return places

    def average(self, mode: str, metric: str, kind: str) -> float:
        """Over the questions of one kind."""
        return mean([self.values[mode][metric][place] for place in self.kinds[kind]])


@dataclass(frozen=True, slots=True)
class Claim:
    """Something promised and what was measured of it; a sample of the questions judges nothing."""

    what: str
    value: float
    wanted: str
    holds: bool
    judged: bool

    def as_json(self) -> dict[str, Any]:
        verdict = self.holds if self.judged else None
        return {"what": self.what, "value": round(self.value, 4), "wanted": self.wanted, "holds": verdict}


def score(corpus: Corpus, modes: Sequence[str], find: Find, seed: int) -> Scores:
    """Ask every question in every mode."""
    values: dict[str, dict[str, list[float]]] = {mode: {metric: [] for metric in METRICS} for mode in modes}
    for question in corpus.questions:
        for mode in modes:
            ranking = corpus.ranking(find(mode, question))
            for metric, measured in METRICS.items():
                values[mode][metric].append(measured(ranking, question.wanted))
    frozen = {mode: {name: tuple(each) for name, each in metrics.items()} for mode, metrics in values.items()}
    return Scores(corpus.name, corpus.questions, frozen, seed, corpus.complete)


def claims(scores: Scores) -> list[Claim]:
    """What is promised of a set. Nothing is when only keywords were measured."""
    promised = [
        Claim(
            f"{scores.name}: fused beats {mode} on {MAIN}",
            found.interval.value,
            "> 0",
            found.interval.value > 0,
            scores.complete,
        )
        for mode, found in scores.differences.items()
    ]
    for kind, what in SURE_KINDS.items():
        if scores.differences and kind in scores.kinds:
            value = scores.average(FUSED, HIT, kind)
            promised.append(Claim(f"{scores.name}: {what} hit@5", value, "1.000", value == 1, scores.complete))
    return promised


def kept(promised: Iterable[Claim]) -> bool:
    """Whether no promise that was judged is broken."""
    return all(claim.holds or not claim.judged for claim in promised)


def shown(scores: Scores) -> str:
    """All numbers of a set as text."""
    return "\n\n".join(_sections(scores))


def shown_claims(promised: Iterable[Claim]) -> str:
    """The promises as a table."""
    rows = [(claim.what, f"{claim.value:.3f}", claim.wanted, _verdict(claim)) for claim in promised]
    return table(("promise", "measured", "wanted", ""), rows)


def as_json(scores: Scores) -> dict[str, Any]:
    """The same numbers as data, and the main one of every question."""
    return {
        "set": scores.name,
        "questions": len(scores.questions),
        "complete": scores.complete,
        "metrics": {
            mode: {metric: interval.as_json() for metric, interval in found.items()}
            for mode, found in scores.intervals.items()
        },
        "fused_minus": {
            mode: found.interval.as_json() | {"better": found.better, "equal": found.equal, "worse": found.worse}
            for mode, found in scores.differences.items()
        },
        "kinds": {kind: _kind_as_json(scores, kind) for kind in scores.kinds},
        "answers": [
            {"question": question.key, "kind": question.kind}
            | {mode: round(metrics[MAIN][place], 4) for mode, metrics in scores.values.items()}
            for place, question in enumerate(scores.questions)
        ],
    }


def _kind_as_json(scores: Scores, kind: str) -> dict[str, Any]:
    averages = {
        mode: {metric: round(scores.average(mode, metric, kind), 4) for metric in (MAIN, HIT)} for mode in scores.values
    }
    return {"questions": len(scores.kinds[kind]), **averages}


def _sections(scores: Scores) -> Iterator[str]:
    modes = tuple(scores.values)
    sampled = "" if scores.complete else ", a sample"
    yield f"{scores.name}: {len(scores.questions):,} questions{sampled}"
    rows = [(metric, *(_interval(scores.intervals[mode][metric]) for mode in modes)) for metric in METRICS]
    yield table(("95 % intervals", *modes), rows)
    if scores.differences:
        apart = [
            (f"fused - {mode}", _interval(found.interval, "+"), found.better, found.equal, found.worse)
            for mode, found in scores.differences.items()
        ]
        yield table((MAIN, "paired", "better", "equal", "worse"), apart)
    headings = [f"{metric} {mode}" for metric in (MAIN, HIT) for mode in modes]
    by_kind = [
        (kind, len(places), *(f"{scores.average(mode, metric, kind):.3f}" for metric in (MAIN, HIT) for mode in modes))
        for kind, places in scores.kinds.items()
    ]
    yield table(("kind", "questions", *headings), by_kind)


def _interval(interval: Interval, sign: str = "") -> str:
    return f"{interval.value:{sign}.3f} [{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"


def _verdict(claim: Claim) -> str:
    if not claim.judged:
        return "judged on all questions only"
    return "holds" if claim.holds else "BROKEN"
