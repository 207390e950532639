"""`python -m bench silence --data DIR`: how often memem speaks when it should not, against when it should.

DIR holds `devmem-dev.jsonl.gz` (sessions, and questions with the sessions that answer them) and
`prompts-dev.jsonl.gz` (prompts about something else). Every turn of the sessions becomes a memory of one project, in
which all prompts are asked: the project filter helps nobody.
"""

import argparse
import tempfile
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from bench import corpora
from bench.corpora import PROJECT
from memem.core.errors import ModelError
from memem.flows import encode, retrieve
from memem.recall.confidence import IN_USE, Line, deserves

LINES = (
    *(replace(IN_USE, coverage=coverage) for coverage in (0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.50, 0.60)),
    *(replace(IN_USE, words=words) for words in (1, 2, 3)),
    *(replace(IN_USE, coverage_with_literal=coverage) for coverage in (0.00, 0.05, 0.10, 0.15, 0.20, 0.30)),
    *(replace(IN_USE, cosine=cosine) for cosine in (0.35, 0.40, 0.45, 0.50, 0.55, 0.60)),
    *(replace(IN_USE, cosine_with_words=cosine) for cosine in (0.00, 0.15, 0.25, 0.30, 0.35, 0.40)),
)


@dataclass(frozen=True, slots=True)
class Point:
    """One line: the share of prompts that fire, of questions that fire, and of those that find the right source."""

    line: Line
    off_topic: float
    answerable: float
    right: float


def run(arguments: list[str]) -> int:
    """Print the curves as a table: each number of the line is varied by itself."""
    parser = argparse.ArgumentParser(prog="python -m bench silence")
    parser.add_argument("--data", type=Path, required=True, help="folder with the evaluation files")
    options = parser.parse_args(arguments)
    print("words  coverage  with literal  cosine  with words  off-topic  answerable  right source")
    for point in curve(options.data):
        line = point.line
        mark = "  <- in use" if line == IN_USE else ""
        words = f"{line.words:>5}  {line.coverage:>8.2f}  {line.coverage_with_literal:>12.2f}"
        meaning = f"{line.cosine:>6.2f}  {line.cosine_with_words:>10.2f}"
        shares = f"{point.off_topic:>9.1%}  {point.answerable:>10.1%}  {point.right:>12.1%}"
        print(f"{words}  {meaning}  {shares}{mark}")
    return 0


def curve(data: Path) -> list[Point]:
    """The shares at each line."""
    corpus = corpora.devmem(data)
    prompts = [line["prompt"] for line in corpora.lines(data / corpora.PROMPTS)]
    with tempfile.TemporaryDirectory() as folder, closing(corpora.vault(Path(folder), corpus.memories)) as ws:
        try:
            encode.encode_all(ws)
        except ModelError as problem:
            print(f"By words alone, there is no model: {problem}")
        silent = [retrieve.eligible(ws, prompt, PROJECT) for prompt in prompts]
        spoken = [retrieve.eligible(ws, question.text, PROJECT) for question in corpus.questions]
    wanted = [question.wanted for question in corpus.questions]
    points = []
    for line in LINES:
        kept = [[hit for hit in hits if deserves(hit, line)] for hits in spoken]
        right = [any(corpus.source_of[hit.id] in want for hit in hits) for hits, want in zip(kept, wanted, strict=True)]
        fired = [any(deserves(hit, line) for hit in hits) for hits in silent]
        points.append(Point(line, _share(fired), _share(list(map(bool, kept))), _share(right)))
    return points


def _share(flags: list[bool]) -> float:
    return sum(flags) / len(flags)
