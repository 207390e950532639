"""`python -m bench truth`: what becomes of the labelled memories when they are saved in turn, without a model.

Those that superseded others, in the set, should be found to contradict them; all others should stand beside each other.
`--show` lists what was missed, and what was wrongly taken for a contradiction, or for known.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench import labelled
from memem.core.memory import Memory, id8_of
from memem.core.trust import SPEECH
from memem.notes import reconcile
from memem.notes.reconcile import Candidate
from memem.workspace import Workspace, open_workspace

Pair = tuple[str, str]
"""Two ids: of the earlier memory, and of the one that should end it."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The expected pairs found, other pairs found, and memories not saved at all."""

    expected: frozenset[Pair]
    found: frozenset[Pair]
    lost: tuple[str, ...]
    pairs: int

    @property
    def missed(self) -> frozenset[Pair]:
        return self.expected - self.found

    @property
    def false(self) -> frozenset[Pair]:
        return self.found - self.expected


def run(arguments: list[str]) -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(prog="python -m bench truth")
    parser.add_argument("--show", action="store_true", help="list what went wrong")
    options = parser.parse_args(arguments)
    memories = in_order(labelled.load().memories)
    with tempfile.TemporaryDirectory() as folder:
        truth = measure(Path(folder), memories)
    print(f"memories {len(memories)}, pairs of one project {truth.pairs:,}")
    print(f"contradictions found {len(truth.expected) - len(truth.missed)} of {len(truth.expected)}")
    print(f"false positives {len(truth.false)}; lost or merged into another note {len(truth.lost)}")
    if options.show:
        texts = {memory.id: " ".join(memory.body.split()) for memory in memories}
        for name, some in (("missed", truth.missed), ("false", truth.false)):
            for one, other in sorted(some):
                print(f"\n{name}:\n  {texts[one]}\n  {texts[other]}")
        for identity in truth.lost:
            print(f"\nnot kept:\n  {texts[identity]}")
    return 0


def in_order(memories: tuple[Memory, ...]) -> list[Memory]:
    """Order memories so that each comes before the one that supersedes it."""
    by_id8 = {memory.id8: memory for memory in memories}

    def age(memory: Memory) -> int:
        later = by_id8.get(id8_of(memory.superseded_by))
        return 1 + age(later) if later else 0

    return sorted(memories, key=age, reverse=True)


def measure(folder: Path, memories: list[Memory]) -> Truth:
    """Save them all, each as if a person had just said it and memem had written it down."""
    environ = {"MEMEM_ENCODER": "none", "MEMEM_FSYNC": "0", "HOME": str(folder)}
    ws = open_workspace(actor="bench", home=folder / "home", vault=folder / "vault", environ=environ)
    found: set[Pair] = set()
    lost: list[str] = []
    ids = {memory.id8: memory.id for memory in memories}
    try:
        for memory in memories:
            outcome, against = _saved(ws, memory)
            lost += [memory.id] if outcome in ("exists", "updated") else []
            found |= {(ids[each], memory.id) for each in against}
    finally:
        ws.close()
    expected = {(memory.id, ids[id8_of(memory.superseded_by)]) for memory in memories if memory.superseded_by}
    projects = [memory.project for memory in memories]
    pairs = sum(projects.count(project) * (projects.count(project) - 1) // 2 for project in set(projects))
    return Truth(frozenset(expected), frozenset(found), tuple(lost), pairs)


def _saved(ws: Workspace, memory: Memory) -> tuple[str, list[str]]:
    """The outcome of a save, with short ids of the memories it contradicts or replaces."""
    new = Memory(memory.id, memory.title, memory.body, memory.project, memory.kind, author="model")
    written = reconcile.settle(ws, Candidate(new, SPEECH))
    links = (*written.memory.contradicts, written.memory.supersedes)
    return written.outcome, [id8_of(link) for link in links if link and written.memory.id == memory.id]
