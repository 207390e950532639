"""The whole graph, made anew: by meaning, or by words alone; of two thousand notes none is left out of its topic."""

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
from memem.search.encoders import encode
from memem.search.graph import build, read
from memem.search.graph.build import DEGREE, Woven
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


def told(ws: Workspace) -> set[tuple[str, str, str, str]]:
    """The edges, by the first words of the notes."""
    known = read.memories(ws)
    words = {identity: entry.body.split()[0] for identity, entry in known.items()}
    return {(words[each.source], words[each.target], each.kind, each.origin) for each in read.edges(ws)}


def pairs(ws: Workspace) -> set[frozenset[str]]:
    """The same, whatever they are and whichever way they lead."""
    return {frozenset(each[:2]) for each in told(ws)}


@pytest.fixture
def garage(meant: Workspace) -> Workspace:
    """Two notes that mean about the same, a third of another project, and one about something else."""
    keep(meant, "Vehicles with damaged brakes belong into the garage.", kind="decision")
    keep(meant, "Brakes damaged vehicles belong nowhere else but garage.", kind="lesson")
    keep(meant, "Garage brakes: damaged vehicles belong there.", kind="lesson", project="ledger")
    keep(meant, "Coffee is served at seven.")
    return meant


def test_what_means_about_the_same_is_linked_within_its_project_by_what_it_is(garage: Workspace) -> None:
    woven = build.rebuild(garage)
    assert told(garage) == {("Brakes", "Vehicles", "supports", "meaning")}
    assert (woven.memories, woven.edges, woven.by) == (4, 1, "meaning")
    assert (woven.kinds, woven.origins) == ({"supports": 1}, {"meaning": 1})


def test_what_belongs_to_no_project_is_linked_with_any(garage: Workspace) -> None:
    keep(garage, "General vehicles with damaged brakes belong somewhere.", project="general")
    build.rebuild(garage)
    assert {frozenset(("Garage", "General")), frozenset(("Brakes", "General"))} <= pairs(garage)


def test_what_notes_state_of_each_other_is_not_also_found(garage: Workspace) -> None:
    one = next(entry for entry in read.memories(garage).values() if entry.body.startswith("Vehicles"))
    other = next(entry for entry in read.memories(garage).values() if entry.body.startswith("Brakes"))
    write.edit(garage, other.id, body=f"{other.body} It depends on {one.link}.")
    build.rebuild(garage)
    assert told(garage) == {("Brakes", "Vehicles", "depends_on", "link")}


@pytest.mark.parametrize("status", ["deprecated", "stale"])
def test_what_is_no_longer_in_force_is_not_compared(garage: Workspace, status: str) -> None:
    lesson = next(entry for entry in read.memories(garage).values() if entry.body.startswith("Brakes"))
    write.edit(garage, lesson.id, status=status)
    build.rebuild(garage)
    assert told(garage) == set()


def test_the_same_notes_make_the_same_graph_however_often_it_is_thrown_away(garage: Workspace) -> None:
    build.rebuild(garage)
    before = read.edges(garage)
    rebuild.rebuild(garage)
    assert read.edges(garage) == []
    build.rebuild(garage)
    assert read.edges(garage) == before
    assert before


def test_no_note_is_rewritten_for_a_neighbour(garage: Workspace) -> None:
    files = {path: path.read_bytes() for path in garage.store.paths.memories.iterdir()}
    build.rebuild(garage)
    assert {path: path.read_bytes() for path in garage.store.paths.memories.iterdir()} == files


def test_a_new_note_names_a_few_that_are_near_and_none_of_those_is_rewritten_for_it(ws: Workspace) -> None:
    for number in range(8):
        save.save(ws, f"Vehicles with damaged brakes belong into garage number {number} by the river.")
    files = {path: path.read_bytes() for path in ws.store.paths.memories.iterdir()}
    new = save.save(ws, "Vehicles with damaged brakes are washed by the river in spring.").memory
    assert 1 <= len(new.related) <= 3
    assert all(link.startswith("[[") for link in new.related)
    assert {path: path.read_bytes() for path in files} == files


# --- by words -----------------------------------------------------------------------------------------------------


def test_by_words_alone_links_and_rare_keys_connect_and_it_says_so(ws: Workspace) -> None:
    keep(ws, "First is Redis.", keys=("REDIS_URL",))
    keep(ws, "Second is the cache.", keys=("redis_url",), paths=("src/cache/**",))
    keep(ws, "Third are evictions.", paths=("src/cache/**",))
    woven = build.rebuild(ws)
    assert pairs(ws) == {frozenset(("First", "Second")), frozenset(("Second", "Third"))}
    assert woven.origins == {"key": 1, "path": 1}
    assert woven.by == "words alone (links, and rare keys and paths that two share): MEMEM_ENCODER is none"
    assert read.stats(ws).by == woven.by


def test_without_a_model_words_connect_and_the_reason_is_told(
    garage: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(ws: Workspace) -> int:
        raise ModelError("The weights are not here.")

    monkeypatch.setattr(meaning, "update_pending", broken)
    assert build.rebuild(garage).by.endswith("two share): The weights are not here")


def test_what_the_encoder_does_not_read_is_connected_by_words(meant: Workspace, encoder: FakeEncoder) -> None:
    encoder.multilingual = False
    keep(meant, "数据库连接池配置缓存服务部署版本测试分支合并", keys=("POOL_SIZE",))
    keep(meant, "数据库连接池配置缓存服务部署版本测试分支合并订单", keys=("POOL_SIZE",))
    keep(meant, "Vehicles with damaged brakes belong into the garage.")
    woven = build.rebuild(meant)
    assert woven.origins == {"key": 1}
    assert woven.by == "meaning; 2 of 3 have no vector that says what they mean, and are linked by words"


# --- when ---------------------------------------------------------------------------------------------------------


def test_the_graph_is_behind_once_a_note_has_changed_and_a_look_brings_it_up_to_date(garage: Workspace) -> None:
    assert read.is_behind(garage)
    build.look_at_graph(garage)
    assert not read.is_behind(garage)
    keep(garage, "Damaged brakes of vehicles belong into another garage.")
    assert read.is_behind(garage)
    build.look_at_graph(garage)
    assert not read.is_behind(garage)
    assert len(read.edges(garage)) == 3


def test_a_look_at_a_large_vault_takes_the_graph_as_it_is(garage: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MOST_AT_ONCE", 2)
    build.look_at_graph(garage)  # there was none at all
    keep(garage, "Damaged brakes of vehicles belong into another garage.")
    build.look_at_graph(garage)
    assert read.is_behind(garage)
    assert read.stats(garage).behind


def test_the_background_follows_only_what_has_changed(garage: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    encode.encode_all(garage)
    made: list[Workspace] = []
    whole = build.rebuild

    def counted(ws: Workspace) -> Woven:
        made.append(ws)
        return whole(ws)

    monkeypatch.setattr(build, "rebuild", counted)
    build.follow_notes(garage)
    build.follow_notes(garage)
    assert len(made) == 1
    keep(garage, "Damaged brakes of vehicles belong into another garage.")
    build.follow_notes(garage)
    assert len(made) == 2


def test_the_background_leaves_a_very_large_vault_alone(garage: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MOST_UNASKED", 2)
    build.follow_notes(garage)
    assert not read.is_built(garage)


def test_the_background_waits_for_vectors_that_are_being_computed(
    garage: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.follow_notes(garage)
    before = read.edges(garage)
    monkeypatch.setattr(meaning, "MAX_INLINE_PASSAGES", 0)
    keep(garage, "Damaged brakes of vehicles belong into another garage.")
    build.follow_notes(garage)
    assert read.is_behind(garage)
    assert read.edges(garage) == before
    encode.encode_all(garage)
    build.follow_notes(garage)
    assert len(read.edges(garage)) == 3


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
    encode.encode_all(ws)
    return ws


@pytest.mark.slow
def test_two_thousand_notes_have_no_orphan_clusters_that_share_a_project_and_a_topic(
    library: Workspace, topics: list[Memory]
) -> None:
    woven = build.rebuild(library)
    places = {memory.id: place for place, memory in enumerate(topics)}
    within = Clusters(NOTES)
    for edge in read.edges(library):
        one, other = places[edge.source], places[edge.target]
        if topics[one].project == topics[other].project:
            within.join(one, other)
    of_topic: dict[tuple[str, int], set[int]] = defaultdict(set)
    for place, memory in enumerate(topics):
        of_topic[memory.project, place % TOPICS].add(within.of(place))
    assert len(of_topic) == TOPICS * len(PROJECTS)
    assert {key: found for key, found in of_topic.items() if len(found) > 1} == {}
    assert read.stats(library).orphans == 0
    assert woven.edges <= NOTES * DEGREE  # a web, and no tangle: everything with everything would be 12,000 of a topic
    degrees = read.degrees_of(read.edges(library))
    assert sum(degree <= DEGREE for degree in degrees.values()) >= 0.95 * NOTES
