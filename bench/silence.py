"""`python -m bench silence --data DIR`: how often memem speaks when it should not, against when it should.

DIR holds `devmem-dev.jsonl.gz` (sessions, and questions with the sessions that answer them) and
`prompts-dev.jsonl.gz` (prompts about something else). Every turn of the sessions becomes a memory of one project, in
which all prompts are asked: the project filter helps nobody.
"""

import argparse
import gzip
import json
import tempfile
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memem.core.memory import Memory
from memem.flows import reindex, retrieve
from memem.recall.confidence import IN_USE, Line, deserves
from memem.vault import note
from memem.workspace import Workspace, open_workspace

PROJECT = "bench"
LINES = (
    *(replace(IN_USE, coverage=coverage) for coverage in (0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.50, 0.60)),
    *(replace(IN_USE, words=words) for words in (1, 2, 3)),
    *(replace(IN_USE, coverage_with_literal=coverage) for coverage in (0.00, 0.05, 0.10, 0.15, 0.20, 0.30)),
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
    print("words  coverage  with literal  off-topic  answerable  right source")
    for point in curve(options.data):
        line = point.line
        mark = "  <- in use" if line == IN_USE else ""
        numbers = f"{line.words:>5}  {line.coverage:>8.2f}  {line.coverage_with_literal:>12.2f}"
        shares = f"{point.off_topic:>9.1%}  {point.answerable:>10.1%}  {point.right:>12.1%}"
        print(f"{numbers}  {shares}{mark}")
    return 0


def curve(data: Path) -> list[Point]:
    """The shares at each line."""
    dialogue = _lines(data / "devmem-dev.jsonl.gz")[0]
    prompts = [line["prompt"] for line in _lines(data / "prompts-dev.jsonl.gz")]
    questions = [question for question in dialogue["questions"] if question["haystackSessionIds"]]
    with tempfile.TemporaryDirectory() as folder:
        ws, session_of = _vault(Path(folder), dialogue["sessions"])
        silent = [retrieve.eligible(ws, prompt, PROJECT) for prompt in prompts]
        spoken = [retrieve.eligible(ws, question["question"], PROJECT) for question in questions]
        ws.close()
    wanted = [set(question["haystackSessionIds"]) for question in questions]
    points = []
    for line in LINES:
        kept = [[hit for hit in hits if deserves(hit, line)] for hits in spoken]
        right = [any(session_of[hit.id] in want for hit in hits) for hits, want in zip(kept, wanted, strict=True)]
        fired = [any(deserves(hit, line) for hit in hits) for hits in silent]
        points.append(Point(line, _share(fired), _share(list(map(bool, kept))), _share(right)))
    return points


def _vault(folder: Path, sessions: list[dict[str, Any]]) -> tuple[Workspace, dict[str, str]]:
    ws = open_workspace(
        actor="bench", home=folder / "home", vault=folder / "vault", environ={"HOME": str(folder), "MEMEM_FSYNC": "0"}
    )
    ws.store.make_vault()
    session_of: dict[str, str] = {}
    for session in sessions:
        for number, message in enumerate(session["messages"]):
            identity = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{session['sessionId']}/{number}"))
            text = message["content"]
            memory = Memory(id=identity, title=" ".join(text[:80].split()), body=text, project=PROJECT)
            (ws.store.paths.memories / note.file_name(memory)).write_text(note.new_text(memory), encoding="utf-8")
            session_of[identity] = session["sessionId"]
    reindex.refresh(ws)
    return ws, session_of


def _share(flags: list[bool]) -> float:
    return sum(flags) / len(flags)


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]
