"""Prompts with what memem finds for them: what decides whether it speaks, and whether it should have."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench import corpora, labelled
from bench.corpora import PROJECT
from memem.core.errors import ModelError
from memem.core.memory import GENERAL, Hit, Memory
from memem.inject import slice
from memem.inject.confidence import PromptFeatures
from memem.inject.prompt import build_query
from memem.inject.prompt_kinds import is_trivial
from memem.search.encoders import model
from memem.workspace import Workspace

SMALL_KINDS, SMALL_STEP = ("task", "ask", "off-topic", "near-miss"), 3
ABSTENTION, OFF_TOPIC = "abstention", "off-topic"


@dataclass(frozen=True, slots=True)
class Case:
    """A prompt, all that a slice could choose from, best first, and which of that would be right."""

    text: str
    kind: str
    prompt: PromptFeatures
    hits: tuple[Hit, ...]
    right: frozenset[str]  # of the hits, by id
    wanted: bool  # whether anything should come at all
    never: frozenset[str] = frozenset()


def devmem(data: Path, folder: Path) -> list[Case]:
    """The questions about devmem's messages, those that nothing answers, and prompts about something else.

    Every message is a memory of one project, in which everything is asked: the project filter helps nobody.
    """
    corpus = corpora.devmem(data)
    asked = [(question.text, question.kind, question.wanted) for question in corpus.questions]
    asked += [(text, kind, frozenset()) for kind, text in _unanswerable(data)]
    with closing(_encoded(folder, corpus.memories)) as ws:
        return [_case(ws, text, kind, PROJECT, wanted, corpus.source_of) for text, kind, wanted in asked]


def own(folder: Path) -> list[Case]:
    """The labelled prompts, each in its project."""
    corpus = labelled.load()
    keys = corpus.source_of
    cases = []
    with closing(_encoded(folder, corpus.memories)) as ws:
        for each in labelled.prompts():
            query = build_query(each.text, [turn.partition(": ")[2] for turn in each.before])
            never = frozenset(identity for identity, key in keys.items() if key in each.never)
            cases.append(_case(ws, each.text, each.kind, each.project, each.wanted, keys, query, never))
    return cases


def own_in_small_vaults(folder: Path, notes: int) -> list[Case]:
    """Some of the labelled prompts, each in a vault of its own with few memories: those wanted, and others of its
    project or of none."""
    corpus = labelled.load()
    memories = {corpus.source_of[memory.id]: memory for memory in corpus.memories}
    chosen = [each for each in labelled.prompts() if each.kind in SMALL_KINDS][::SMALL_STEP]
    cases = []
    for number, each in enumerate(chosen):
        wanted = [memories[key] for key in sorted(each.wanted)]
        others = [memory for memory in memories.values() if memory.project in (each.project, GENERAL)]
        others = [memory for memory in others if memory not in wanted and not memory.superseded_by]
        Random(each.text).shuffle(others)
        held = [*wanted, *others[: max(0, notes - len(wanted))]]
        with closing(_encoded(folder / str(number), held)) as ws:
            cases.append(_case(ws, each.text, each.kind, each.project, each.wanted, corpus.source_of))
    return cases


def _case(
    ws: Workspace,
    text: str,
    kind: str,
    project: str,
    wanted: frozenset[str],
    source_of: Mapping[str, str],
    query: str = "",
    never: frozenset[str] = frozenset(),
) -> Case:
    _, prompt, found = slice.find_candidates(ws, text, project, query=query)
    current = [] if is_trivial(text) else slice.replace_superseded(ws, found, project)
    hits = tuple(hit for hit in current if not hit.kept_out)
    right = frozenset(hit.id for hit in hits if source_of[hit.id] in wanted)
    return Case(text, kind, prompt, hits, right, bool(wanted), never)


def _unanswerable(data: Path) -> Iterator[tuple[str, str]]:
    """Return prompts that need nothing: devmem's unanswerable questions and unrelated prompts."""
    (dialogue, *_) = corpora.lines(corpora.file(data, corpora.DEVMEM))
    for question in dialogue["questions"]:
        if not question["haystackSessionIds"]:
            yield ABSTENTION, question["question"]
    for text in corpora.prompts(data):
        yield OFF_TOPIC, text


def _encoded(folder: Path, memories: Iterable[Memory]) -> Workspace:
    ws = corpora.vault(folder, memories)
    try:
        model.encode_all(ws)
    except ModelError as problem:
        print(f"By words alone, there is no model: {problem}")
    return ws
