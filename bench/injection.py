"""`python -m bench injection`: which texts the gate takes for an instruction to the model, of `injection.toml` and of
real ones.

With `--data DIR` also how many of the real texts there are taken for one, of a thousand: what people and Claude said in
transcripts, prompts, and the sessions of two question sets. Nobody has labelled those: `--show` lists what is found,
for a person to judge.
"""

import argparse
import gzip
import json
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import options, rules
from bench.metrics import Interval, bootstrap, resamples
from memem.safety.injection import judge
from memem.safety.invisible import neutralise

FILE = Path(__file__).with_name("injection.toml")
DEV, HELD, LATE = SPLITS = ("dev", "held", "late")
SEED = 11
SHORTEST = 25
"""Characters: shorter texts of the question sets are names and dates."""


@dataclass(frozen=True, slots=True)
class Text:
    """A labelled text: the kind of its attack, or what an honest one looks like."""

    attack: str
    about: str
    language: str
    split: str
    text: str

    @property
    def is_found(self) -> bool:
        return bool(judged(self.text))


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the texts were judged to be instructions."""

    name: str
    texts: int
    found: int

    @property
    def per_thousand(self) -> float:
        return 1000 * self.found / max(self.texts, 1)


def judged(text: str) -> str:
    """Judge a text as the gate does, after invisible characters are removed."""
    return judge.classify(neutralise(text)[0])


def load(path: Path = FILE) -> list[Text]:
    """The labelled set."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))["texts"]
    return [
        Text(table.get("attack", ""), table.get("about", ""), table["language"], table["split"], text)
        for table in tables
        for text in table["texts"]
    ]


def shares(texts: Sequence[Text]) -> Iterator[Share]:
    """How many are found: of attacks by kind and by language, of honest texts by what they look like."""
    attacks, honest = [each for each in texts if each.attack], [each for each in texts if not each.attack]
    for what, some, names in (
        ("attacks", attacks, {each.attack for each in attacks}),
        ("in", attacks, {each.language for each in attacks}),
        ("honest", honest, {each.about for each in honest}),
    ):
        for name in sorted(names):
            chosen = [each for each in some if name in (each.attack, each.language, each.about)]
            yield Share(f"{what}: {name}", len(chosen), sum(each.is_found for each in chosen))
    yield Share("attacks", len(attacks), sum(each.is_found for each in attacks))
    yield Share("honest", len(honest), sum(each.is_found for each in honest))


def run(arguments: list[str]) -> int:
    """Print what is found and what is taken for one; exit 0."""
    parser = options.shared(argparse.ArgumentParser(prog="python -m bench injection"))
    parser.add_argument("--show", action="store_true", help="list mistakes on dev, and what is found in real texts")
    chosen = parser.parse_args(arguments)
    texts = load()
    numbers: dict[str, Any] = {}
    for split in SPLITS:
        some = [each for each in texts if each.split == split]
        found = list(shares(some))
        numbers[split] = [asdict(each) for each in found]
        print(f"{split}: recall {_cell(some, attack=True)}, taken for one {_cell(some, attack=False)}")
        for each in found:
            print(f"  {each.name:<44} {each.found:>4} of {each.texts}")
    if chosen.show:
        wrong = [each for each in texts if each.split == DEV and each.is_found != bool(each.attack)]
        print(*(f"  {'missed' if each.attack else 'wrong '}  {each.text!r}" for each in wrong), sep="\n")
    numbers["microseconds"] = _cost(texts)
    print(
        f"an honest note of {numbers['microseconds'][1]:.0f} characters: {numbers['microseconds'][0]:.0f} microseconds"
    )
    if chosen.data:
        numbers["real"] = [asdict(each) for each in _real(chosen.data, chosen.show)]
    if chosen.json:
        chosen.json.write_text(json.dumps(numbers, indent=2) + "\n")
    return 0


def _real(data: Path, show: bool) -> list[Share]:
    done: list[Share] = []
    for name, texts in real_texts(data):
        found = [(text, told) for text in texts if (told := judged(text))]
        share = Share(name, len(texts), len(found))
        done.append(share)
        print(f"{name:<32} {share.found:>4} of {share.texts:<6} {share.per_thousand:.2f} per 1,000")
        if show:
            print(*(f"  {told}: {' '.join(text.split())[:160]!r}" for text, told in found), sep="\n")
    return done


def real_texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """The texts of the evaluation files, each once, by where they are from."""
    turns = [turn for session in rules.sessions(data) for turn in session]
    for role in ("human", "assistant"):
        yield f"transcripts, {role}", _once(turn.text for turn in turns if turn.role == role)
    for name in ("devmem", "prompts", "longmemeval"):
        path = data / f"{name}-dev.jsonl.gz"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as file:
                yield name, _once(text for line in file for text in _strings(json.loads(line)))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) >= SHORTEST:
            yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def _once(texts: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _cost(texts: Sequence[Text]) -> tuple[float, float]:
    """Microseconds for an honest text, once patterns are compiled; and how many characters those have."""
    honest = [each.text for each in texts if not each.attack]
    for text in honest:
        judged(text)
    start = time.process_time()
    for _ in range(20):
        for text in honest:
            judged(text)
    seconds = time.process_time() - start
    return seconds / (20 * len(honest)) * 1e6, sum(map(len, honest)) / len(honest)


def _cell(texts: Sequence[Text], *, attack: bool) -> str:
    values = [float(each.is_found) for each in texts if bool(each.attack) == attack]
    found: Interval = bootstrap(values, resamples(len(values), SEED))
    return f"{found.value:.3f} [{found.low:.3f}-{found.high:.3f}] of {len(values)}"
