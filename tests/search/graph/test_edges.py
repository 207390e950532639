"""The table of edges."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from memem.core.memory import Edge, Memory
from memem.search.database import MIGRATIONS
from memem.search.graph.edges import BUILT_FOR
from memem.search.notes import NoteIndex, NoteRow

BEFORE = 3
"""Migrations there were before edges."""


def row(name: str, **fields: Any) -> NoteRow:
    memory = Memory(name, f"Title {name}", f"Statement {name}.", **fields)
    return NoteRow(f"memories/{name}.md", (1, 1, 1), f"digest {name}", memory)


def edge(source: str, target: str, kind: str = "same_topic", score: float = 0.5, origin: str = "meaning") -> Edge:
    return Edge(source, target, kind, score, origin)


@pytest.fixture
def index(tmp_path: Path) -> NoteIndex:
    opened = NoteIndex(tmp_path / "index.db")
    opened.update([row(name) for name in "abcd"])
    return opened


def test_old_index_without_edges_keeps_its_notes(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    old = sqlite3.connect(path)
    for migration in MIGRATIONS[:BEFORE]:
        migration(old)
    old.execute(
        "INSERT INTO notes (path, mtime, ctime, size, digest, id, status) VALUES ('a.md', 1, 1, 1, 'd', 'a', '')"
    )
    old.execute(f"PRAGMA user_version = {BEFORE}")
    old.commit()
    old.close()
    index = NoteIndex(path)
    assert list(index.stamps()) == ["a.md"]
    assert index.edges.all() == []
    index.edges.replace([], {BUILT_FOR: "x"})
    assert index.meta(BUILT_FOR) == "x"


def test_all_edges_come_the_strongest_first(index: NoteIndex) -> None:
    index.edges.replace([edge("a", "b", score=0.4), edge("b", "c", score=0.9)], {})
    assert [each.score for each in index.edges.all()] == [0.9, 0.4]


def test_replacing_removes_all_old_edges(index: NoteIndex) -> None:
    index.edges.replace([edge("a", "b")], {})
    index.edges.replace([edge("c", "d")], {})
    assert index.edges.all() == [edge("c", "d")]


def test_edges_of_missing_memories_are_not_stored(index: NoteIndex) -> None:
    index.edges.replace([edge("a", "b"), edge("a", "gone"), edge("gone", "b")], {})
    assert index.edges.all() == [edge("a", "b")]


def test_edges_of_a_memory_start_or_end_there(index: NoteIndex) -> None:
    edges = [edge("a", "b", score=0.9), edge("b", "c", score=0.8), edge("c", "d", score=0.7)]
    index.edges.replace(edges, {})
    assert index.edges.of(["b"]) == edges[:2]
    assert index.edges.of(["a", "b"]) == edges[:2]
    assert index.edges.of([]) == []


def test_strong_edges_are_listed_as_pairs(index: NoteIndex) -> None:
    edges = [edge("a", "b", score=0.9), edge("c", "a", "supports", 0.9), edge("a", "d", score=0.2)]
    index.edges.replace(edges, {})
    assert index.edges.list_strong_pairs(["a", "b", "c", "d"], 0.5) == {("a", "b"), ("a", "c")}
    assert index.edges.list_strong_pairs(["a", "b"], 0.5) == {("a", "b")}
    assert index.edges.list_strong_pairs(["b", "c"], 0.5) == frozenset()


@pytest.mark.parametrize("kind", ["supersedes", "contradicts"])
def test_superseding_and_contradicting_pairs_are_not_strong(index: NoteIndex, kind: str) -> None:
    index.edges.replace([edge("a", "b", kind, 1.0)], {})
    assert index.edges.list_strong_pairs(["a", "b"], 0.5) == frozenset()


def test_deleting_a_note_deletes_its_edges(index: NoteIndex) -> None:
    index.edges.replace([edge("a", "b"), edge("b", "c"), edge("c", "d")], {})
    index.update([], gone=["memories/b.md"])
    assert index.edges.all() == [edge("c", "d")]


def test_a_note_that_was_changed_or_moved_keeps_its_edges(index: NoteIndex) -> None:
    index.edges.replace([edge("a", "b")], {})
    index.update([row("a", importance=5)])
    moved = row("b")
    index.update(
        [NoteRow("elsewhere/b.md", moved.stamp, moved.digest, moved.memory)], lost={"memories/b.md": (1, 1, 1)}
    )
    assert index.edges.all() == [edge("a", "b")]


def test_stated_edges_are_replaced_and_others_stay(index: NoteIndex) -> None:
    stated, found = edge("a", "b", origin="link"), edge("a", "c")
    index.edges.replace([stated, found, edge("b", "c", origin="link")], {})
    index.edges.replace_stated("a", [edge("a", "d", origin="link")])
    assert set(index.edges.all()) == {found, edge("a", "d", origin="link"), edge("b", "c", origin="link")}


@pytest.mark.parametrize(("source", "target"), [("a", "b"), ("b", "a")])
def test_stated_edge_replaces_a_compared_one(index: NoteIndex, source: str, target: str) -> None:
    index.edges.replace([edge(source, target, "supports")], {})
    stated = edge("a", "b", "depends_on", 1.0, "link")
    index.edges.replace_stated("a", [stated])
    assert index.edges.all() == [stated]


def test_version_changes_with_every_note_change(index: NoteIndex) -> None:
    versions = [index.edges.version()]
    for changed, gone in (([row("e")], []), ([row("e", importance=5)], []), ([], ["memories/e.md"])):
        index.update(changed, gone=gone)
        versions.append(index.edges.version())
    assert len(set(versions)) == len(versions)
    index.restamp([row("a")])
    assert index.edges.version() == versions[-1]


def test_new_index_has_no_edges(index: NoteIndex) -> None:
    index.edges.replace([edge("a", "b")], {})
    index.reset_for("another vault")
    assert index.edges.all() == []
