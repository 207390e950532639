"""How the edges of the graph are measured on the labelled set: where the line is, and what they do to the ranking."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from bench import corpora, labelled
from bench.corpora import Corpus
from bench.latency import say
from bench.measure import changed, table
from bench.metrics import METRICS, mean
from bench.recall import LABELLED, READERS
from memem.core.memory import GENERAL, Memory, id8_of
from memem.search import find
from memem.search.encoders import model
from memem.search.graph import build
from memem.search.query import is_mostly_ascii
from memem.workspace import Workspace

LINES = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7)
STRENGTHS = (0.35, 0.45, 0.55, 0.65, 0.8, 2.0)
SHOWN = ("any@1", "any@5", "nDCG@10")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: what is wanted, the project to look in, and the one that is worked in."""

    text: str
    wanted: frozenset[str]
    project: str | None = None
    current: str | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """The effect of a threshold `least`: shares of linked pairs, links per note, notes without links."""

    least: float
    superseded: float
    together: float
    chance: float
    project: float
    degree: float
    alone: int

    @property
    def by_chance(self) -> float:
        """The share of the links within projects that there would be between notes that have nothing in common."""
        return self.chance / self.project if self.project else 0.0


def print_curve(place: Path) -> list[dict[str, Any]]:
    corpus = labelled.load()
    with closing(corpora.vault(place / corpus.name, corpus.memories)) as ws:
        model.encode_all(ws)
        points = list(curve(ws, corpus))
    headings = (
        "line",
        "superseded",
        "together",
        "other projects %",
        "own project %",
        "links each",
        "alone",
        "by chance",
    )
    rows = [
        (
            f"{each.least:.2f}{' <- in use' if each.least == build.MIN_COSINE else ''}",
            each.superseded,
            each.together,
            100 * each.chance,
            100 * each.project,
            each.degree,
            each.alone,
            each.by_chance,
        )
        for each in points
    ]
    print(table(headings, rows) + "\n", flush=True)
    names = Point.__slots__
    return [{name: round(getattr(each, name), 5) for name in names} for each in points]


def curve(ws: Workspace, corpus: Corpus) -> Iterator[Point]:
    """A point for every line, over the memories that the encoder reads."""
    memories = sorted((each for each in corpus.memories if is_mostly_ascii(each.body)), key=lambda memory: memory.id)
    cosines = _cosines(ws, memories)
    places = {memory.id: place for place, memory in enumerate(memories)}
    pairs = list(combinations(range(len(memories)), 2))
    projects = [memory.project for memory in memories]
    own = [pair for pair in pairs if projects[pair[0]] == projects[pair[1]]]
    others = [pair for pair in pairs if len({GENERAL, projects[pair[0]], projects[pair[1]]}) == 3]
    superseded, together = _superseded(memories), _together(corpus, places)
    for least in LINES:
        linked = [pair for pair in own if cosines[pair] >= least]
        over = [mean([float(cosines[pair] >= least) for pair in some]) for some in (superseded, together, others, own)]
        alone = len(memories) - len({place for pair in linked for place in pair})
        yield Point(least, over[0], over[1], over[2], over[3], 2 * len(linked) / len(memories), alone)


def _cosines(ws: Workspace, memories: Sequence[Memory]) -> Any:
    """Compute all pairwise similarities, rounded to two places."""
    from memem.search.graph import similar

    rows = {identity: row for row, identity in ws.index.edges.ids_by_row().items()}
    order = [rows[memory.id] for memory in memories]
    with ws.vectors().reading() as view:
        kept, vectors = similar.average_vectors(view, ws.index.passages.of_rows(order), order)
    assert kept == order
    return vectors @ vectors.T


def _superseded(memories: Sequence[Memory]) -> list[tuple[int, int]]:
    by_id8 = {memory.id8: place for place, memory in enumerate(memories)}
    found = [(place, by_id8.get(id8_of(memory.superseded_by))) for place, memory in enumerate(memories)]
    return [(place, later) for place, later in found if later is not None and memories[place].superseded_by]


def _together(corpus: Corpus, places: Mapping[str, int]) -> list[tuple[int, int]]:
    """Those that answer one question or prompt together, whatever their projects."""
    by_key = {corpus.source_of[identity]: place for identity, place in places.items()}
    wanted = [each.wanted for each in corpus.questions] + [each.wanted for each in labelled.prompts()]
    pairs = {pair for keys in wanted for pair in combinations(sorted(keys), 2)}
    return [(by_key[one], by_key[other]) for one, other in sorted(pairs) if one in by_key and other in by_key]


def print_ranking(place: Path, data: Path | None) -> list[dict[str, Any]]:
    sets = [labelled.load(), *((READERS[name](data) for name in ("devmem", "crowded")) if data else ())]
    rows: list[dict[str, Any]] = []
    for corpus in sets:
        with closing(corpora.vault(place / corpus.name, corpus.memories)) as ws:
            say(f"{corpus.name}: {len(corpus.memories):,} memories")
            model.encode_all(ws)
            build.rebuild(ws)
            rows += ranked(ws, corpus)
    told = [(row["set"], _strength(row["least"]), *(f"{row[name]:.4f}" for name in SHOWN)) for row in rows]
    print(table(("set", "edges that count", *SHOWN), told) + "\n", flush=True)
    return rows


def ranked(ws: Workspace, corpus: Corpus) -> Iterator[dict[str, Any]]:
    """How well the questions of a set are answered when edges of at least some strength count."""
    for least in STRENGTHS:
        with changed(find, "STRONG_EDGE", least):
            rankings = [(_search(ws, corpus, asked), asked.wanted) for asked in _questions(corpus)]
        scores = {name: mean([METRICS[name](found, wanted) for found, wanted in rankings]) for name in SHOWN}
        yield {"set": corpus.name, "least": least, **scores}


def _questions(corpus: Corpus) -> Iterator[Asked]:
    """Those of the set; with our own also the prompts that want something, asked everywhere from within a project."""
    yield from (Asked(each.text, each.wanted, each.project) for each in corpus.questions)
    if corpus.name == LABELLED:
        wanting = (each for each in labelled.prompts() if each.wanted and not each.before)
        yield from (Asked(each.text, each.wanted, current=each.project) for each in wanting)


def _search(ws: Workspace, corpus: Corpus, asked: Asked) -> list[str]:
    hits = find.search(ws, asked.text, project=asked.project, current=asked.current, limit=corpus.depth)
    return corpus.ranking(hit.id for hit in hits)


def _strength(least: float) -> str:
    told = "none" if least > 1 else f">= {least:.2f}"
    return f"{told} <- in use" if least == find.STRONG_EDGE else told
