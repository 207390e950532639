"""How well memories are found: by keywords alone, by meaning alone, and by both together.

Measured on the project's own labelled set and, given the folder with their files (--data, or the variable
MEMEM_BENCH_DATA), on the public sets devmem and longmemeval and on devmem in a crowd of unrelated notes. Encoding
longmemeval takes tens of minutes: --cache keeps its vectors for the next run.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bench import corpora, labelled
from bench.corpora import Corpus, Question
from bench.measure import machine, save_json
from bench.metrics import RESAMPLES
from bench.options import DATA_VARIABLE, folder, shared
from bench.scores import (
    COSINE,
    FUSED,
    KEYWORD,
    MODES,
    Claim,
    Scores,
    all_promises_hold,
    as_json,
    claims,
    score,
    shown,
    shown_claims,
)
from memem.core.errors import InputError, ModelError
from memem.search import find as search_find
from memem.search import ranking
from memem.search.encoders import model
from memem.workspace import Workspace

LABELLED = "labelled"
FILES = {
    "devmem": (corpora.DEVMEM,),
    "crowded": (corpora.DEVMEM, corpora.LONGMEMEVAL),
    "longmemeval": (corpora.LONGMEMEVAL,),
}
SETS = (LABELLED, *FILES)
READERS = {"devmem": corpora.devmem, "crowded": corpora.crowded, "longmemeval": corpora.longmemeval}
BLENDS = {KEYWORD: ranking.KEYWORDS, COSINE: ranking.COSINE, FUSED: ranking.FUSED}

Measure = Callable[[Corpus, Path, int], Scores]
"""Asks the questions of a set whose vault is made in the folder; the number is the seed."""


def run(arguments: list[str]) -> int:
    """Measure the sets, print the tables, and write the JSON when asked; 1 when a promise is broken."""
    return report(_options(arguments), measure)


def report(options: argparse.Namespace, measured: Measure) -> int:
    """Everything but the measuring itself."""
    found: list[Scores] = []
    with folder(options.cache) as kept_in:
        for name in options.sets:
            corpus = _corpus(name, options)
            place = Path(kept_in) / (name if corpus.complete else f"{name}-{options.questions}-{options.seed}")
            found.append(measured(corpus, place, options.seed))
            print(shown(found[-1]) + "\n", flush=True)
    promised = [claim for scores in found for claim in claims(scores)]
    print(shown_claims(promised) if promised else "No promise was judged: they are about the fused ranking.")
    if options.json:
        save_json(options.json, _as_json(found, promised, options))
    return 0 if all_promises_hold(promised) else 1


def measure(corpus: Corpus, folder: Path, seed: int) -> Scores:
    """Put the memories of a set into a vault in this folder, encode them, and ask."""
    _say(f"{corpus.name}: {len(corpus.memories):,} memories")
    with closing(corpora.vault(folder, corpus.memories)) as ws:
        modes = _encoded(ws)
        _say(f"{corpus.name}: {len(corpus.questions):,} questions")

        def find(mode: str, question: Question) -> Iterable[str]:
            hits = search_find.search(
                ws, question.text, project=question.project, limit=corpus.depth, blend=BLENDS[mode]
            )
            return [hit.id for hit in hits]

        return score(corpus, modes, find, seed)


def _encoded(ws: Workspace) -> Sequence[str]:
    """The modes that can be measured."""
    try:
        model.encode_all(ws, _progress)
    except ModelError as problem:
        print(f"Keywords only, there is no model: {problem}")
        return (KEYWORD,)
    return MODES


def _corpus(name: str, options: argparse.Namespace) -> Corpus:
    corpus = labelled.load() if name == LABELLED else READERS[name](options.data)
    return corpus.sample(options.questions, options.seed) if options.questions else corpus


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench recall", description=__doc__)
    shared(parser)
    parser.add_argument("--sets", type=_sets, help=f"comma-separated (default: those there are of {','.join(SETS)})")
    parser.add_argument("--questions", type=int, metavar="N", help="only N questions of each set, always the same ones")
    parser.add_argument("--seed", type=int, default=1, help="of the sample and the intervals (default: 1)")
    options = parser.parse_args(arguments)
    if options.questions is not None and options.questions < 1:
        parser.error("ask at least one question")
    if options.sets is None:
        options.sets = SETS if options.data else (LABELLED,)
        if not options.data:
            print(f"Only the labelled set: the others need --data DIR or {DATA_VARIABLE}.\n")
    for name in options.sets:
        if problem := _missing(name, options.data):
            parser.error(problem)
    return options


def _missing(name: str, data: Path | None) -> str:
    """Return the reason why a set cannot be read, or an empty text."""
    if name == LABELLED:
        return ""
    if data is None:
        return (
            f"the set {name} needs --data DIR with {' and '.join(f'{file}-*.jsonl.gz' for file in FILES[name])} in it"
        )
    try:
        for file in FILES[name]:
            corpora.file(data, file)
    except InputError as problem:
        return f"the set {name} cannot be measured: {problem}"
    return ""


def _sets(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    if unknown := [name for name in names if name not in SETS]:
        raise argparse.ArgumentTypeError(f"there is no set {unknown[0]!r}, only {', '.join(SETS)}")
    return names


def _as_json(found: Sequence[Scores], promised: Sequence[Claim], options: argparse.Namespace) -> dict[str, Any]:
    return {
        "bench": "recall",
        "machine": machine(),
        "seed": options.seed,
        "resamples": RESAMPLES,
        "sampled": options.questions,
        "sets": [as_json(scores) for scores in found],
        "promises": [claim.as_json() for claim in promised],
    }


def _progress(done: int, total: int) -> None:
    _say(f"encoded {done:,} of {total:,}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
