"""Rebuilding the whole graph, by meaning or by words."""

import uuid
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from memem.core.errors import ModelError
from memem.core.memory import KINDS, Memory
from memem.notes import save, write
from memem.search import meaning, rebuild, refresh
from memem.search.encoders import model
from memem.search.graph import build, read
from memem.search.graph.build import MAX_DEGREE, GraphSummary
from memem.search.graph.rules import Clusters
from memem.vault import note as notes
from memem.workspace import Workspace
from tests.fakes import FakeEncoder

PROJECTS = ("general", "shop", "ledger", "edge")
TOPICS = 40
NOTES = 2_000


def keep(ws: Workspace, body: str, **more: Any) -> str:
    given = {"project": "shop", **more}
    return write.keep(ws, Memory(str(uuid.uuid5(uuid.NAMESPACE_URL, body)), "", body, **given)).memory.id


def describe(ws: Workspace) -> set[tuple[str, str, str, str]]:
    """The edges, by the first words of the notes."""
    known = read.list_memories(ws)
    words = {identity: entry.body.split()[0] for identity, entry in known.items()}
    return {(words[each.source], words[each.target], each.kind, each.origin) for each in read.list_edges(ws)}


def pairs(ws: Workspace) -> set[frozenset[str]]:
    """The same, whatever they are and whichever way they lead."""
    return {frozenset(each[:2]) for each in describe(ws)}


@pytest.fixture
def garage(meant: Workspace) -> Workspace:
    """Two notes that mean about the same, a third of another project, and one about something else."""
    keep(meant, "Vehicles with damaged brakes belong into the garage.", kind="decision")
    keep(meant, "Brakes damaged vehicles belong nowhere else but garage.", kind="lesson")
    keep(meant, "Garage brakes: damaged vehicles belong there.", kind="lesson", project="ledger")
    keep(meant, "Coffee is served at seven.")
    return meant


def test_similar_notes_are_linked_within_their_project(garage: Workspace) -> None:
    woven = build.rebuild(garage)
    assert describe(garage) == {("Brakes", "Vehicles", "supports", "meaning")}
    assert (woven.memories, woven.edges, woven.by) == (4, 1, "meaning")
    assert (woven.kinds, woven.origins) == ({"supports": 1}, {"meaning": 1})


def test_general_memory_is_linked_with_any_project(garage: Workspace) -> None:
    keep(garage, "General vehicles with damaged brakes belong somewhere.", project="general")
    build.rebuild(garage)
    assert {frozenset(("Garage", "General")), frozenset(("Brakes", "General"))} <= pairs(garage)


def test_stated_pairs_get_no_compared_edge(garage: Workspace) -> None:
    one = next(entry for entry in read.list_memories(garage).values() if entry.body.startswith("Vehicles"))
    other = next(entry for entry in read.list_memories(garage).values() if entry.body.startswith("Brakes"))
    write.edit(garage, other.id, body=f"{other.body} It depends on {one.link}.")
    build.rebuild(garage)
    assert describe(garage) == {("Brakes", "Vehicles", "depends_on", "link")}


@pytest.mark.parametrize("status", ["deprecated", "stale"])
def test_outdated_memories_are_not_compared(garage: Workspace, status: str) -> None:
    lesson = next(entry for entry in read.list_memories(garage).values() if entry.body.startswith("Brakes"))
    write.edit(garage, lesson.id, status=status)
    build.rebuild(garage)
    assert describe(garage) == set()


def test_rebuild_is_deterministic(garage: Workspace) -> None:
    build.rebuild(garage)
    before = read.list_edges(garage)
    rebuild.rebuild(garage)
    assert read.list_edges(garage) == []
    build.rebuild(garage)
    assert read.list_edges(garage) == before
    assert before


def test_rebuild_rewrites_no_note(garage: Workspace) -> None:
    files = {path: path.read_bytes() for path in garage.store.paths.memories.iterdir()}
    build.rebuild(garage)
    assert {path: path.read_bytes() for path in garage.store.paths.memories.iterdir()} == files


def test_new_note_relates_to_a_few_without_rewriting_them(ws: Workspace) -> None:
    for number in range(8):
        save.save(ws, f"Vehicles with damaged brakes belong into garage number {number} by the river.")
    files = {path: path.read_bytes() for path in ws.store.paths.memories.iterdir()}
    new = save.save(ws, "Vehicles with damaged brakes are washed by the river in spring.").memory
    assert 1 <= len(new.related) <= 3
    assert all(link.startswith("[[") for link in new.related)
    assert {path: path.read_bytes() for path in files} == files


# --- by words -----------------------------------------------------------------------------------------------------


def test_without_encoder_links_and_rare_keys_connect(ws: Workspace) -> None:
    keep(ws, "First is Redis.", keys=("REDIS_URL",))
    keep(ws, "Second is the cache.", keys=("redis_url",), paths=("src/cache/**",))
    keep(ws, "Third are evictions.", paths=("src/cache/**",))
    woven = build.rebuild(ws)
    assert pairs(ws) == {frozenset(("First", "Second")), frozenset(("Second", "Third"))}
    assert woven.origins == {"key": 1, "path": 1}
    assert woven.by == "words and links only, not meaning: MEMEM_ENCODER is none"
    assert read.compute_stats(ws).by == woven.by


def test_missing_model_is_reported(garage: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(ws: Workspace) -> int:
        raise ModelError("The weights are not here.")

    monkeypatch.setattr(meaning, "update_pending", broken)
    assert build.rebuild(garage).by.endswith("not meaning: The weights are not here")


def test_unreadable_languages_are_linked_by_words(meant: Workspace, encoder: FakeEncoder) -> None:
    encoder.multilingual = False
    keep(meant, "数据库连接池配置缓存服务部署版本测试分支合并", keys=("POOL_SIZE",))
    keep(meant, "数据库连接池配置缓存服务部署版本测试分支合并订单", keys=("POOL_SIZE",))
    keep(meant, "Vehicles with damaged brakes belong into the garage.")
    woven = build.rebuild(meant)
    assert woven.origins == {"key": 1}
    assert woven.by == "meaning; 2 of 3 without a vector, linked by words"


# --- when ---------------------------------------------------------------------------------------------------------


def test_reading_refreshes_an_outdated_graph(garage: Workspace) -> None:
    assert read.is_behind(garage)
    build.refresh_graph(garage)
    assert not read.is_behind(garage)
    keep(garage, "Damaged brakes of vehicles belong into another garage.")
    assert read.is_behind(garage)
    build.refresh_graph(garage)
    assert not read.is_behind(garage)
    assert len(read.list_edges(garage)) == 3


def test_reading_a_large_vault_does_not_rebuild(garage: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MAX_INTERACTIVE_NOTES", 2)
    build.refresh_graph(garage)  # there was none at all
    keep(garage, "Damaged brakes of vehicles belong into another garage.")
    build.refresh_graph(garage)
    assert read.is_behind(garage)
    assert read.compute_stats(garage).behind


def test_background_rebuilds_only_after_changes(garage: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    model.encode_all(garage)
    made: list[Workspace] = []
    whole = build.rebuild

    def counted(ws: Workspace) -> GraphSummary:
        made.append(ws)
        return whole(ws)

    monkeypatch.setattr(build, "rebuild", counted)
    build.refresh_in_background(garage)
    build.refresh_in_background(garage)
    assert len(made) == 1
    keep(garage, "Damaged brakes of vehicles belong into another garage.")
    build.refresh_in_background(garage)
    assert len(made) == 2


def test_background_skips_a_very_large_vault(garage: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MAX_BACKGROUND_NOTES", 2)
    build.refresh_in_background(garage)
    assert not garage.index.meta("graph_for")


def test_background_waits_for_missing_vectors(garage: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    build.refresh_in_background(garage)
    before = read.list_edges(garage)
    monkeypatch.setattr(meaning, "MAX_INLINE_PASSAGES", 0)
    keep(garage, "Damaged brakes of vehicles belong into another garage.")
    build.refresh_in_background(garage)
    assert read.is_behind(garage)
    assert read.list_edges(garage) == before
    model.encode_all(garage)
    build.refresh_in_background(garage)
    assert len(read.list_edges(garage)) == 3


# --- a large vault ------------------------------------------------------------------------------------------------


class Topical(FakeEncoder):
    """A text means its topic, which it names, and a little besides."""

    def __init__(self) -> None:
        super().__init__("somebody/topical-model 1")
        self.dimensions = 96
        self._topics = np.linalg.qr(np.random.default_rng(1).standard_normal((self.dimensions, TOPICS)))[0].T

    def vector(self, text: str) -> Any:
        topic = int(text.partition("topic-")[2].split(maxsplit=1)[0])
        own = np.random.default_rng(hash_of(text)).standard_normal(self.dimensions)
        vector = self._topics[topic] + 0.06 * own
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def hash_of(text: str) -> int:
    return uuid.uuid5(uuid.NAMESPACE_URL, text).int % 2**32


def topical(number: int) -> Memory:
    topic, project = number % TOPICS, PROJECTS[number // TOPICS % len(PROJECTS)]
    identity = str(uuid.uuid5(uuid.NAMESPACE_URL, str(number)))
    return Memory(identity, f"topic-{topic} {number}", f"Said of it: {number}.", project, KINDS[number % len(KINDS)])


@pytest.fixture(scope="module")
def topics() -> list[Memory]:
    return [topical(number) for number in range(NOTES)]


@pytest.fixture
def library(ws: Workspace, topics: list[Memory]) -> Workspace:
    """Two thousand notes of forty topics in four projects."""
    ws.settings, ws._encoder = replace(ws.settings, encoder="minilm"), Topical()
    ws.store.make_vault()
    for memory in topics:
        path = ws.store.paths.memories / notes.file_name(memory)
        path.write_text(notes.new_text(memory))
    refresh.refresh(ws)
    model.encode_all(ws)
    return ws


@pytest.mark.slow
def test_large_vault_keeps_topics_connected(library: Workspace, topics: list[Memory]) -> None:
    woven = build.rebuild(library)
    places = {memory.id: place for place, memory in enumerate(topics)}
    within = Clusters(NOTES)
    for edge in read.list_edges(library):
        one, other = places[edge.source], places[edge.target]
        if topics[one].project == topics[other].project:
            within.join(one, other)
    of_topic: dict[tuple[str, int], set[int]] = defaultdict(set)
    for place, memory in enumerate(topics):
        of_topic[memory.project, place % TOPICS].add(within.of(place))
    assert len(of_topic) == TOPICS * len(PROJECTS)
    assert {key: found for key, found in of_topic.items() if len(found) > 1} == {}
    assert read.compute_stats(library).orphans == 0
    assert (
        woven.edges <= NOTES * MAX_DEGREE
    )  # a web, and no tangle: everything with everything would be 12,000 of a topic
    degrees = read.count_degrees(read.list_edges(library))
    assert sum(degree <= MAX_DEGREE for degree in degrees.values()) >= 0.95 * NOTES
