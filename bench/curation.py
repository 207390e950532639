"""`python -m bench curation`: how long a look takes that suggests what would tidy a vault, and what it finds, by words.

Into a synthetic vault copies of some of its notes are planted: as they are, with a sentence more, and with another
number. The first two should be found, the last must not be. Times are multiples of a bare start in the same rounds.
"""

import argparse
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path

from bench import vaults
from bench.measure import BARE, Task, bare_start, interleave, ratio, table, timed
from memem.core.memory import Memory
from memem.search import refresh
from memem.upkeep import curate
from memem.workspace import Workspace, open_workspace

SIZES = (1_000, 10_000)
ROUNDS = 3
EVERY = 100
"""So many notes have one copy of each sort."""
LOOK = "a look"
SAME, MORE, CHANGED = "the same", "a sentence more", "another number"


@dataclass(frozen=True, slots=True)
class Looked:
    """How long a look took, in bare starts, and how many of the planted pairs of each sort it found."""

    notes: int
    bare_starts: float
    planted: int
    found: dict[str, int]


def run(arguments: list[str]) -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench curation")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args(arguments)
    rows = [measure(notes, options.rounds) for notes in options.sizes]
    print(table(("notes", "x bare start", "planted", *rows[0].found), map(_row, rows)))
    return 0


def measure(notes: int, rounds: int) -> Looked:
    """A vault of so many notes, with copies of some of them, looked at."""
    with tempfile.TemporaryDirectory(prefix="memem-bench-") as name:
        folder = Path(name)
        environ = {"MEMEM_ENCODER": "none", "MEMEM_FSYNC": "0", "HOME": name}
        ws = open_workspace(actor="bench", home=folder / "home", vault=folder / "vault", environ=environ)
        try:
            vaults.write_notes(ws, notes)
            planted = [_plant(ws, vaults.memory(number)) for number in range(0, notes, EVERY)]
            refresh.refresh(ws)
            tasks: dict[str, Task] = {BARE: bare_start(environ, folder), LOOK: timed(curate.suggest, repeat(ws))}
            taken = interleave(tasks, rounds)
            return Looked(notes, ratio(taken, LOOK, BARE), len(planted), _count_suggested(ws, planted))
        finally:
            ws.close()


def _plant(ws: Workspace, memory: Memory) -> dict[str, tuple[str, str]]:
    """Copies of a note in projects of their own, so that each has one partner: sort -> the ids of the two."""
    body = " ".join(memory.body.split())  # one paragraph, since unrelated bullets would be split
    texts = {
        SAME: body.replace(" ", "  "),
        MORE: f"{body} It was measured twice in April.",
        CHANGED: f"{body} It takes 40 seconds.",
    }
    pairs = {}
    for sort, text in texts.items():
        first = f"{body} It takes 30 seconds." if sort == CHANGED else body
        ids = (_put(ws, memory, sort, first, 1), _put(ws, memory, sort, text, 2))
        pairs[sort] = ids
    return pairs


def _put(ws: Workspace, memory: Memory, sort: str, text: str, number: int) -> str:
    identity = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{memory.id} {sort} {number}"))
    project = f"{memory.project}-{sort.replace(' ', '-')}"
    copy = replace(memory, id=identity, body=text, project=project, layer=2, author="model", source_type="mined")
    vaults.write_note(ws, copy)
    return identity


def _count_suggested(ws: Workspace, planted: Sequence[dict[str, tuple[str, str]]]) -> dict[str, int]:
    """How many planted pairs of each sort are suggested as one."""
    most, curate.MAX_OF_A_KIND = curate.MAX_OF_A_KIND, 1_000_000
    try:
        found = curate.suggest(ws).suggestions
    finally:
        curate.MAX_OF_A_KIND = most
    suggested = {frozenset(entry.id for entry in each.notes) for each in found if each.what == curate.MERGE}
    return {sort: sum(frozenset(each[sort]) in suggested for each in planted) for sort in (SAME, MORE, CHANGED)}


def _row(looked: Looked) -> tuple[object, ...]:
    return (looked.notes, f"{looked.bare_starts:.0f}", looked.planted, *looked.found.values())
