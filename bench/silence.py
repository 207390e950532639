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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memem.core.memory import Hit, Memory
from memem.flows import reindex, retrieve
from memem.recall import confidence
from memem.vault import note
from memem.workspace import Workspace, open_workspace

PROJECT = "bench"
COVERAGES = (0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.50, 0.60)


@dataclass(frozen=True, slots=True)
class Point:
    """One threshold: the share of prompts that fire, of questions that fire, and of those answered rightly."""

    coverage: float
    off_topic: float
    answerable: float
    right: float
    chosen: bool


def run(arguments: list[str]) -> int:
    """Print the curve as a table."""
    parser = argparse.ArgumentParser(prog="python -m bench silence")
    parser.add_argument("--data", type=Path, required=True, help="folder with the evaluation files")
    options = parser.parse_args(arguments)
    points = curve(options.data)
    print("coverage  off-topic  answerable  right source")
    for point in points:
        mark = "  <- in use" if point.chosen else ""
        shares = f"{point.off_topic:>9.1%}  {point.answerable:>10.1%}  {point.right:>12.1%}"
        print(f"{point.coverage:>8.2f}  {shares}{mark}")
    return 0


def curve(data: Path) -> list[Point]:
    """The shares at each threshold."""
    dialogue = _lines(data / "devmem-dev.jsonl.gz")[0]
    prompts = [line["prompt"] for line in _lines(data / "prompts-dev.jsonl.gz")]
    questions = [question for question in dialogue["questions"] if question["haystackSessionIds"]]
    with tempfile.TemporaryDirectory() as folder:
        ws, session_of = _vault(Path(folder), dialogue["sessions"])
        silent = [_hits(ws, prompt) for prompt in prompts]
        spoken = [_hits(ws, question["question"]) for question in questions]
        ws.close()
    wanted = [set(question["haystackSessionIds"]) for question in questions]
    points = []
    for threshold in COVERAGES:
        kept = [[hit for hit in hits if confidence.deserves(hit, threshold)] for hits in spoken]
        right = [any(session_of[hit.id] in want for hit in hits) for hits, want in zip(kept, wanted, strict=True)]
        fired = [any(confidence.deserves(hit, threshold) for hit in hits) for hits in silent]
        in_use = threshold == confidence.MIN_COVERAGE
        points.append(Point(threshold, _share(fired), _share(list(map(bool, kept))), _share(right), in_use))
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


def _hits(ws: Workspace, prompt: str) -> list[Hit]:
    return retrieve.eligible(ws, prompt, PROJECT)


def _share(flags: list[bool]) -> float:
    return sum(flags) / len(flags)


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]
