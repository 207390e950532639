"""`python -m bench rules`: what the rules that stand in for a model keep of `rules.toml`, against what they should.

With `--data DIR` also how often they speak in real transcripts (`DIR/transcripts/*/*.jsonl.gz`), where nobody has said
what is right: `--show` lists what they keep, for a person to judge.
"""

import argparse
import gzip
import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.metrics import Interval, bootstrap, resamples
from memem.core.conversation import ASSISTANT, HUMAN, Operation, Turn
from memem.core.memory import KINDS
from memem.mine.rules import extract

FILE = Path(__file__).with_name("rules.toml")
DEV, HELD = SPLITS = ("dev", "held")
SEED = 7


@dataclass(frozen=True, slots=True)
class Expectation:
    """A statement to be kept: the kinds that it may have, and words that it must hold."""

    kinds: tuple[str, ...]
    says: str

    def is_met_by(self, operation: Operation) -> bool:
        return operation.kind in self.kinds and self.says in operation.content


@dataclass(frozen=True, slots=True)
class Case:
    """A short conversation, and what is worth keeping of it."""

    about: str
    split: str
    turns: tuple[Turn, ...]
    expected: tuple[Expectation, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """How many of the kept statements are right, and how many of the right ones were kept."""

    kept: int
    precision: Interval | None
    expected: int
    recall: Interval | None


def run(arguments: list[str]) -> int:
    """Print the scores as a table, then what the rules do with real transcripts."""
    parser = argparse.ArgumentParser(prog="python -m bench rules")
    parser.add_argument("--data", type=Path, help="folder with the evaluation files")
    parser.add_argument(
        "--show", action="store_true", help="list every mistake on dev, and what is kept of the transcripts"
    )
    options = parser.parse_args(arguments)
    cases = load()
    print("split  kind          kept  precision            expected  recall")
    for split in SPLITS:
        chosen = [case for case in cases if case.split == split]
        for kind in ("", *KINDS):
            print(_row(split, kind or "all", score(chosen, kind)))
    if options.show:
        print(*mistakes([case for case in cases if case.split == DEV]), sep="\n")
    if options.data:
        _print_transcripts(options.data, options.show)
    return 0


def load(path: Path = FILE) -> list[Case]:
    """The labelled set."""
    return [_case(table) for table in tomllib.loads(path.read_text(encoding="utf-8"))["case"]]


def score(cases: Sequence[Case], kind: str = "") -> Score:
    """The score over some cases, of one kind or of all. The kind of an expectation is the first that it allows."""
    right: list[float] = []
    met: list[float] = []
    for case in cases:
        operations = extract(case.turns)
        right += [
            float(any(expectation.is_met_by(operation) for expectation in case.expected))
            for operation in operations
            if kind in ("", operation.kind)
        ]
        met += [
            float(any(map(expectation.is_met_by, operations)))
            for expectation in case.expected
            if kind in ("", expectation.kinds[0])
        ]
    return Score(len(right), _interval(right), len(met), _interval(met))


def mistakes(cases: Iterable[Case]) -> Iterator[str]:
    """List the lessons extracted by mistake and the lessons missed."""
    for case in cases:
        operations = extract(case.turns)
        for operation in operations:
            if not any(expectation.is_met_by(operation) for expectation in case.expected):
                yield f"wrong   {case.about}: {operation.kind}: {operation.content}"
        for expectation in case.expected:
            if not any(map(expectation.is_met_by, operations)):
                yield f"missed  {case.about}: {expectation.kinds[0]}: {case.turns[-1].text}"


def sessions(data: Path) -> Iterator[list[Turn]]:
    """The prose of each real session, each turn once however many snapshots of the file there are."""
    for folder in sorted((data / "transcripts").iterdir()):
        turns: dict[str, Turn] = {}
        for snapshot in sorted(folder.glob("*.jsonl.gz")):
            for turn in filter(None, map(_turn, _lines(snapshot))):
                turns.setdefault(turn.uuid, turn)
        yield list(turns.values())


def _print_transcripts(data: Path, show: bool) -> None:
    kept: list[Operation] = []
    human = 0
    for turns in sessions(data):
        kept += extract(turns)
        human += sum(turn.role == HUMAN for turn in turns)
    print(f"{len(kept)} statements in {human} human turns of transcripts: {100 * len(kept) / max(human, 1):.1f} of 100")
    if show:
        print(*(f"  {operation.kind}: {operation.content}" for operation in kept), sep="\n")


def _lines(snapshot: Path) -> Iterator[dict[str, Any]]:
    """The lines that hold one JSON object: a few of a real transcript do not."""
    with gzip.open(snapshot, "rt", encoding="utf-8") as file:
        for line in file:
            with suppress(ValueError):
                yield json.loads(line)


def _turn(line: dict[str, Any]) -> Turn | None:
    """A line of a transcript as a turn, when a person typed it or Claude said it."""
    if line.get("isMeta") or line.get("isSidechain") or line.get("type") not in ("user", "assistant"):
        return None
    content = line.get("message", {}).get("content")
    if line["type"] == "user":
        typed = isinstance(content, str) and not content.startswith("<")
        return Turn(line["uuid"], HUMAN, content) if typed else None
    text = "\n\n".join(block["text"] for block in content if block.get("type") == "text")
    return Turn(line["uuid"], ASSISTANT, text) if text else None


def _case(table: dict[str, Any]) -> Case:
    turns = tuple(Turn(str(number), role, text) for number, (role, text) in enumerate(table["turns"]))
    expected = tuple(Expectation(tuple(each["kinds"]), each["says"]) for each in table["expected"])
    return Case(table["about"], table["split"], turns, expected)


def _interval(values: Sequence[float]) -> Interval | None:
    return bootstrap(values, resamples(len(values), SEED)) if values else None


def _row(split: str, kind: str, it: Score) -> str:
    return f"{split:<5}  {kind:<12}  {it.kept:>4}  {_cell(it.precision)}  {it.expected:>8}  {_cell(it.recall)}"


def _cell(interval: Interval | None) -> str:
    return f"{interval.value:.3f} [{interval.low:.3f}-{interval.high:.3f}]" if interval else f"{'-':<19}"
