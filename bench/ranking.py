"""Vary each constant of the ranking on its own, over the sets that `bench recall` measures.

What is found is found once for each question; then it is ranked again with other values. The sets are longmemeval,
devmem and devmem in a crowd, where their files are (--data, or the variable MEMEM_BENCH_DATA), our own queries, and our
own prompts, which are searched for in all projects from within theirs. Questions of longmemeval bear the day they were
asked on, and its sessions theirs, so that "last month" can be tried.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

from bench import corpora, labelled
from bench.corpora import Corpus, Question
from bench.measure import changed, machine, save_json, table
from bench.metrics import METRICS, mean
from bench.options import folder, shared
from bench.recall import LABELLED, READERS
from memem.search import find, fulltext, query
from memem.search import ranking as search_ranking
from memem.search.dates.query import parse_time
from memem.search.encoders import model
from memem.search.query import Scope, SearchMatches
from memem.search.ranking import FUSED, Blend, Boosts
from memem.workspace import Workspace

SHOWN = ("nDCG@10", "any@5")
PROMPTS = "prompts"
BLEND_VALUES: dict[str, tuple[float, ...]] = {
    "meaning": (0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    "meaning_with_literal": (0.3, 0.4, 0.5, 0.6, 0.7),
    "meaning_guessed": (0.0, 0.2, 0.4, 0.7),
    "least_coverage": (0.0, 0.15, 0.25, 0.35, 0.45, 0.6),
    "length": (0.0, 0.01, 0.02, 0.03, 0.04, 0.06),
}
MODULE_VALUES: dict[tuple[ModuleType, str], tuple[float, ...]] = {
    (search_ranking, "CHANCE"): (0.0, 0.05, 0.1, 0.15, 0.2),
    (search_ranking, "SAME_PROJECT"): (1.0, 1.05, 1.15, 1.3, 1.5),
    (search_ranking, "SET_ASIDE"): (0.4, 0.6, 0.8, 1.0),
    (search_ranking, "RIGHT_TIME"): (1.0, 1.05, 1.1, 1.2, 1.4),
}
FINDING_VALUES: dict[tuple[ModuleType, str], tuple[int, ...]] = {
    (query, "RARE"): (1, 3, 8),
    (find, "MIN_CANDIDATES"): (8, 16, 32, 64),
}
FIELD_VALUES = (1.0, 2.0, 3.0, 5.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with all that was found for it, and what the ranking leans to."""

    question: Question
    found: SearchMatches
    leaning: Boosts


Sets = Mapping[str, tuple[Corpus, Sequence[Asked]]]


def run(arguments: list[str]) -> int:
    """Find, rank in every way, and print what comes of it."""
    parser = argparse.ArgumentParser(prog="python -m bench ranking", description=__doc__)
    options = shared(parser).parse_args(arguments)
    known = list(_corpora(options.data))
    with folder(options.cache) as place:

        def find() -> Sets:
            return {corpus.name: (corpus, _search_all(corpus, Path(place), options.data)) for corpus in known}

        sets = find()
        rows = [*measured(sets), *vary_finding(find)]
    print(table(("constant", "value", *_headings(sets)), [_row(each, list(sets)) for each in rows]))
    if options.json:
        save_json(options.json, {"bench": "ranking", "machine": machine(), "rows": rows})
    return 0


def measured(sets: Sets) -> Iterator[dict[str, Any]]:
    """A row for every value of every constant of the ranking."""
    for field in fields(Blend):
        for value in BLEND_VALUES[field.name]:
            yield _measured(sets, field.name, value, replace(FUSED, **{field.name: value}), getattr(FUSED, field.name))
    for (module, name), values in MODULE_VALUES.items():
        used = getattr(module, name)
        for value in values:
            with changed(module, name, value):
                yield _measured(sets, name, value, FUSED, used)


def vary_finding(find: Callable[[], Sets]) -> Iterator[dict[str, Any]]:
    """The same for what decides what is found at all."""
    for (module, name), values in FINDING_VALUES.items():
        used = getattr(module, name)
        for value in values:
            with changed(module, name, value):
                yield _measured(find(), name, value, FUSED, used)
    notes = fulltext.NOTES
    for weight in FIELD_VALUES:
        with changed(fulltext, "NOTES", replace(notes, weights=(weight, weight, 1.0))):
            yield _measured(find(), "weight of title and keys, relative to the body", weight, FUSED, notes.weights[0])


def _measured(sets: Sets, constant: str, value: float, blend: Blend, used: float) -> dict[str, Any]:
    scores = {name: _scores(corpus, questions, blend) for name, (corpus, questions) in sets.items()}
    return {"constant": constant, "value": value, "in_use": value == used, "sets": scores}


def _scores(corpus: Corpus, questions: Sequence[Asked], blend: Blend) -> dict[str, float]:
    values: dict[str, list[float]] = {metric: [] for metric in SHOWN}
    for each in questions:
        ranking = corpus.ranking(hit.id for hit in search_ranking.rank(each.found, each.leaning, blend)[: corpus.depth])
        for metric in SHOWN:
            values[metric].append(METRICS[metric](ranking, each.question.wanted))
    return {metric: round(mean(found), 6) for metric, found in values.items()}


def _corpora(data: Path | None) -> Iterator[Corpus]:
    own = labelled.load()
    yield own
    wanted = [each for each in labelled.prompts() if each.wanted and not each.before]
    questions = (Question(each.text, each.text, each.kind, each.wanted, each.project) for each in wanted)
    yield replace(own, name=PROMPTS, questions=tuple(questions))
    if data:
        yield from (read(data) for read in READERS.values())


def _search_all(corpus: Corpus, place: Path, data: Path | None) -> list[Asked]:
    """Search for every question; the prompts share the vault of the labelled queries."""
    dates = _dates(data) if data and corpus.name == corpora.LONGMEMEVAL else {}
    with closing(corpora.vault(place / _vault_of(corpus), corpus.memories)) as ws:
        model.encode_all(ws)
        return [_dated_question(_find(ws, corpus, each), each, corpus, dates) for each in corpus.questions]


def _vault_of(corpus: Corpus) -> str:
    return LABELLED if corpus.name == PROMPTS else corpus.name


def _find(ws: Workspace, corpus: Corpus, question: Question) -> SearchMatches:
    """Within the question's project; a prompt is looked for everywhere."""
    narrowed = question.project and corpus.name != PROMPTS
    scope = Scope((str(question.project),) if narrowed else None, archive=True)
    return find.find(ws, question.text, scope, corpus.depth * 2, lambda _: [])[0]


def _dates(data: Path) -> dict[str, date]:
    """The days of longmemeval's questions and sessions, by their ids."""
    dates: dict[str, date] = {}
    for line in corpora.lines(corpora.file(data, corpora.LONGMEMEVAL)):
        said = {line["question_id"]: line["question_date"]}
        said |= {session["id"]: session["date"] for session in line["sessions"]}
        dates |= {name: date.fromisoformat(text[:10].replace("/", "-")) for name, text in said.items()}
    return dates


def _dated_question(found: SearchMatches, question: Question, corpus: Corpus, dates: dict[str, date]) -> Asked:
    today = dates.get(question.key)
    if today is None:
        return Asked(question, found, Boosts(question.project or ""))
    dated = tuple(
        replace(match, memory=replace(match.memory, created=f"{dates[corpus.source_of[match.memory.id]]}T12:00:00Z"))
        for match in found.matches
    )
    leaning = Boosts(question.project or "", when=parse_time(question.text, today))
    return Asked(question, replace(found, matches=dated), leaning)


def _headings(sets: Mapping[str, Any]) -> list[str]:
    return [f"{name} {metric}" for name in sets for metric in SHOWN]


def _row(each: dict[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    mark = " <- in use" if each["in_use"] else ""
    numbers = [f"{each['sets'][name][metric]:.3f}" for name in names for metric in SHOWN]
    return each["constant"], f"{each['value']}{mark}", *numbers
