"""Results of one set as tables and JSON, checked against the promised values."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from bench.corpora import Corpus, Question
from bench.measure import table
from bench.metrics import CURVES, METRICS, PLACES, Difference, Interval, bootstrap, difference, mean, resamples

KEYWORD, COSINE, FUSED = MODES = ("keyword", "cosine", "fused")
MAIN, HIT, ALL = "nDCG@10", "any@5", "all@5"
SURE_KINDS = {"literal": "literal queries", "cjk": "CJK queries"}
"""Kinds of queries (the labelled set has them) that each have to find their memory among the first five."""
BETTER = Fraction(4, 68)
"""The share of longmemeval's questions for which fused must find all answers, in addition to those of keywords."""
IN_A_CROWD = Fraction(95, 97)
"""The share of devmem's questions that find an answer in a crowded vault."""

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
    memories: int = 0

    @cached_property
    def _draws(self) -> list[list[int]]:
        return resamples(len(self.questions), self.seed)

    @cached_property
    def intervals(self) -> dict[str, dict[str, Interval]]:
        """By mode and metric."""
        return {
            mode: {metric: bootstrap(metrics[metric], self._draws) for metric in METRICS}
            for mode, metrics in self.values.items()
        }

    @cached_property
    def curves(self) -> dict[str, dict[str, list[float]]]:
        """By mode, for any and for all of what is wanted: the share of questions that find it in the first 1, 2, ..."""
        return {
            mode: {name: [mean(metrics[f"{name}@{k}"]) for k in PLACES] for name in CURVES}
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

    def count(self, mode: str, metric: str, kind: str | None = None) -> int:
        """Questions, of one kind or of all, with a metric that is 1 for those that are answered and 0 for others."""
        places = range(len(self.questions)) if kind is None else self.kinds[kind]
        return round(sum(self.values[mode][metric][place] for place in places))


@dataclass(frozen=True, slots=True)
class Claim:
    """Something promised and what was measured of it; a sample of the questions judges nothing."""

    what: str
    value: float
    wanted: str
    holds: bool
    judged: bool
    counted: str = ""
    """The number of questions that the share refers to."""

    @property
    def measured(self) -> str:
        return format_value(self.value, self.counted)

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "value": round(self.value, 6),
            "counted": self.counted,
            "wanted": self.wanted,
            "holds": self.holds if self.judged else None,
        }


def format_value(value: float, counted: str = "") -> str:
    """A share or a difference to three places, anything larger as a whole number; in questions too where counted."""
    shown = f"{value:.3f}" if abs(value) < 10 else f"{value:,.0f}"
    return f"{shown} ({counted})" if counted else shown


def score(corpus: Corpus, modes: Sequence[str], find: Find, seed: int) -> Scores:
    """Ask every question in every mode."""
    curves = {f"{name}@{k}": metric for name, metrics in CURVES.items() for k, metric in metrics.items()}
    measures = {**curves, **METRICS}
    values: dict[str, dict[str, list[float]]] = {mode: {metric: [] for metric in measures} for mode in modes}
    for question in corpus.questions:
        for mode in modes:
            ranking = corpus.ranking(find(mode, question))
            for metric, measured in measures.items():
                values[mode][metric].append(measured(ranking, question.wanted))
    frozen = {mode: {name: tuple(each) for name, each in metrics.items()} for mode, metrics in values.items()}
    return Scores(corpus.name, corpus.questions, frozen, seed, corpus.complete, len(corpus.memories))


def claims(scores: Scores) -> list[Claim]:
    """Return the promises for a set; there are none when only keywords were measured."""
    if not scores.differences:
        return []
    promised = [_beats(scores, mode, found) for mode, found in scores.differences.items()]
    promised += [_sure(scores, kind) for kind in SURE_KINDS if kind in scores.kinds]
    if "paraphrase" in scores.kinds:
        promised.append(_no_worse(scores, f"paraphrase queries, {HIT}", COSINE, "paraphrase"))
    if scores.name == "crowded":
        promised.append(_enough(scores))
    if scores.name == "longmemeval":
        promised += [_no_worse(scores, HIT, KEYWORD), _better(scores)]
    return promised


def _beats(scores: Scores, mode: str, found: Difference) -> Claim:
    value = found.interval.value
    return Claim(f"{scores.name}: fused beats {mode} on {MAIN}", value, "> 0", value > 0, scores.complete)


def _sure(scores: Scores, kind: str) -> Claim:
    questions, found = len(scores.kinds[kind]), scores.count(FUSED, HIT, kind)
    name, holds = f"{scores.name}: {SURE_KINDS[kind]}, {HIT}", found == questions
    return Claim(name, found / questions, "1.000", holds, scores.complete, f"{found} of {questions}")


def _no_worse(scores: Scores, what: str, than: str, kind: str | None = None) -> Claim:
    """Than another mode, counted in questions with an answer among the first five."""
    questions = len(scores.questions if kind is None else scores.kinds[kind])
    ours, theirs = (scores.count(mode, HIT, kind) for mode in (FUSED, than))
    name, wanted = f"{scores.name}: {what}, no worse than {than}", f">= {theirs} of {questions}"
    return Claim(name, ours / questions, wanted, ours >= theirs, scores.complete, f"{ours} of {questions}")


def _enough(scores: Scores) -> Claim:
    questions, found = len(scores.questions), scores.count(FUSED, HIT)
    least = math.ceil(IN_A_CROWD * questions)
    wanted, counted = f">= {least} of {questions}", f"{found} of {questions}"
    return Claim(f"{scores.name}: {HIT}", found / questions, wanted, found >= least, scores.complete, counted)


def _better(scores: Scores) -> Claim:
    """All answers are found for at least this many questions more than by keywords."""
    questions = len(scores.questions)
    ours, theirs = (scores.count(mode, ALL) for mode in (FUSED, KEYWORD))
    more = math.ceil(BETTER * questions)
    name = f"{scores.name}: {ALL}, at least {more} questions more than {KEYWORD}"
    wanted = f">= {theirs + more} of {questions}"
    holds = ours >= theirs + more
    return Claim(name, ours / questions, wanted, holds, scores.complete, f"{ours} of {questions}")


def all_promises_hold(promised: Iterable[Claim]) -> bool:
    """Whether no promise that was judged is broken."""
    return all(claim.holds or not claim.judged for claim in promised)


def shown(scores: Scores) -> str:
    """All numbers of a set as text."""
    return "\n\n".join(_sections(scores))


def shown_claims(promised: Iterable[Claim]) -> str:
    """The promises as a table."""
    rows = [(claim.what, claim.measured, claim.wanted, _verdict(claim)) for claim in promised]
    return table(("promise", "measured", "wanted", ""), rows)


def as_json(scores: Scores) -> dict[str, Any]:
    """The same numbers as data, and the main one of every question."""
    return {
        "set": scores.name,
        "memories": scores.memories,
        "questions": len(scores.questions),
        "complete": scores.complete,
        "metrics": {
            mode: {metric: interval.as_json() | _counted(scores, mode, metric) for metric, interval in found.items()}
            for mode, found in scores.intervals.items()
        },
        "curves": {
            mode: {name: [round(value, 6) for value in values] for name, values in curves.items()}
            for mode, curves in scores.curves.items()
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
        mode: {metric: round(scores.average(mode, metric, kind), 6) for metric in (MAIN, HIT)} for mode in scores.values
    }
    return {"questions": len(scores.kinds[kind]), **averages}


def _counted(scores: Scores, mode: str, metric: str) -> dict[str, int]:
    """The share in questions, of a metric that counts them."""
    return {"count": scores.count(mode, metric)} if metric.startswith(tuple(CURVES)) else {}


def _sections(scores: Scores) -> Iterator[str]:
    modes = tuple(scores.values)
    sampled = "" if scores.complete else ", a sample"
    yield f"{scores.name}: {len(scores.questions):,} questions{sampled}"
    rows = [(metric, *(_cell(scores, mode, metric) for mode in modes)) for metric in METRICS]
    yield table(("95 % intervals", *modes), rows)
    against = [
        (f"{name}@k {mode}", *(f"{value:.3f}" for value in curves[name]))
        for name in CURVES
        for mode, curves in scores.curves.items()
    ]
    yield table(("k", *map(str, PLACES)), against)
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


def _cell(scores: Scores, mode: str, metric: str) -> str:
    questions = "".join(f"{count}: " for count in _counted(scores, mode, metric).values())
    return questions + _interval(scores.intervals[mode][metric])


def _interval(interval: Interval, sign: str = "") -> str:
    return f"{interval.value:{sign}.3f} [{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"


def _verdict(claim: Claim) -> str:
    if not claim.judged:
        return "judged on all questions only"
    return "holds" if claim.holds else "BROKEN"
