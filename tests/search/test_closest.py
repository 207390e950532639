"""The nearest notes are exactly those that a slow loop over everything finds."""

import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memem.core.memory import Memory
from memem.search import passages
from memem.search import vectors as vectors_module
from memem.search.encoders.interface import Vectors
from memem.search.notes import NoteIndex, NoteRow
from memem.search.query import Scope
from memem.search.vectors import VectorStore, find_closest
from tests.builders import examples

DIMENSIONS = 3
ALL = Scope(archive=True)
QUERY = np.array([1, 0, 0], np.float32)


class Library:
    """Notes whose passages have vectors chosen by the test: each is named by a number."""

    def __init__(self, folder: Path) -> None:
        self.index = NoteIndex(folder / "index.db")
        self.store = VectorStore(folder / "vectors", "a model", DIMENSIONS, fsync=False)
        self.notes: dict[int, tuple[Memory, tuple[int, ...]]] = {}
        self.vectors: dict[int, Vectors] = {}

    def close(self) -> None:
        self.index.close()
        self.store.close()

    def note(self, *numbers: int, **fields: Any) -> int:
        """A note with these passages; returns its row."""
        body = "\n\n".join(map(_text, numbers))
        memory = Memory(id=str(len(self.notes)), title="", body=body, **fields)
        self.index.update([NoteRow(f"{memory.id}.md", (1, 2, 3), "", memory)])
        assert passages.split_passages(memory) == list(dict.fromkeys(map(_text, numbers)))
        row = self.row(memory.id)
        self.notes[row] = (memory, numbers)
        return row

    def forget(self, row: int) -> None:
        memory, _ = self.notes.pop(row)
        self.index.update([], gone=[f"{memory.id}.md"])

    def encode(self, given: Mapping[int, Any]) -> None:
        rows = np.array([_unit(each) for each in given.values()], np.float32).reshape(-1, DIMENSIONS)
        self.store.add([passages.passage_key(_text(number)) for number in given], rows)
        self.vectors |= dict(zip(given, rows, strict=True))

    def row(self, identity: str) -> int:
        query = "SELECT row FROM notes WHERE id = ?"
        return int(self.index._connection.execute(query, (identity,)).fetchone()[0])

    def closest(
        self, query: Vectors = QUERY, scope: Scope = ALL, limit: int = 10, also: Collection[int] = ()
    ) -> dict[int, float]:
        with self.store.reading() as view:
            return find_closest(self.index.passages, view, query, scope, limit, also)

    def cosine(self, row: int, query: Vectors) -> float | None:
        """That of the note's best passage, the slow way; None when none of them has a vector."""
        known = [self.vectors[number] for number in self.notes[row][1] if number in self.vectors]
        return max((float(sum(a * b for a, b in zip(each, query, strict=True))) for each in known), default=None)

    def sees(self, scope: Scope, row: int) -> bool:
        memory, _ = self.notes[row]
        in_force = memory.layer < 3 and memory.status == "active"
        return (scope.archive or in_force) and (scope.projects is None or memory.project in scope.projects)


def _text(number: int) -> str:
    return f"passage{number:03}"


def _unit(direction: Any) -> Vectors:
    vector = np.array(direction, np.float32)
    unit: Vectors = vector / np.linalg.norm(vector)
    return unit


@pytest.fixture(autouse=True)
def _a_paragraph_is_a_passage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passages, "PASSAGE_SIZE", 4)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path)
    yield opened
    opened.close()


# --- exact --------------------------------------------------------------------------------------------------------

_direction = st.tuples(*[st.integers(-3, 3)] * DIMENSIONS).filter(any)
_passage = st.integers(0, 30)
_note = st.tuples(
    st.lists(_passage, min_size=1, max_size=5),
    st.fixed_dictionaries(
        {
            "project": st.sampled_from(("shop", "general", "zoo")),
            "layer": st.sampled_from((2, 2, 3)),
            "status": st.sampled_from(("active", "active", "stale")),
        }
    ),
)
_scope = st.builds(
    Scope, st.sampled_from((None, (), ("shop",), ("general", "shop"), ("nowhere",))), archive=st.booleans()
)


@settings(max_examples=examples(60))
@given(
    notes=st.lists(_note, max_size=12),
    vectors=st.dictionaries(_passage, _direction, max_size=31),
    query=_direction.map(_unit),
    scope=_scope,
    limit=st.integers(1, 8),
    deepest=st.sampled_from((3, 8, 4_096)),
    also=st.sets(st.integers(0, 11), max_size=3),
)
def test_the_nearest_are_those_that_a_slow_loop_finds(
    monkeypatch: pytest.MonkeyPatch,
    notes: list[tuple[list[int], dict[str, Any]]],
    vectors: dict[int, Any],
    query: Vectors,
    scope: Scope,
    limit: int,
    deepest: int,
    also: set[int],
) -> None:
    for name, value in (("FIRST_LOOK", 2), ("LOOK_GROWS", 2), ("DEEPEST_LOOK", deepest)):
        monkeypatch.setattr(vectors_module, name, value)
    with tempfile.TemporaryDirectory() as folder:
        library = Library(Path(folder))
        rows = [library.note(*numbers, **fields) for numbers, fields in notes]
        library.encode(vectors)
        wanted = [rows[number] for number in also if number < len(rows)]
        found = library.closest(query, scope, limit, wanted)
        library.close()
    cosines = {row: cosine for row in rows if (cosine := library.cosine(row, query)) is not None}
    assert found == pytest.approx({row: cosines[row] for row in found}, abs=1e-5)
    best = sorted((cosines[row] for row in cosines if library.sees(scope, row)), reverse=True)[:limit]
    of_scope = sorted((cosines[row] for row in found if library.sees(scope, row)), reverse=True)
    assert of_scope[: len(best)] == pytest.approx(best, abs=1e-5)
    assert len(found.keys() - set(wanted)) <= limit
    assert all(library.sees(scope, row) for row in found.keys() - set(wanted))
    assert found.keys() >= cosines.keys() & set(wanted)


# --- one by one ---------------------------------------------------------------------------------------------------


def test_without_vectors_nothing_is_near(library: Library) -> None:
    library.note(1)
    assert library.closest(also=[1]) == {}


def test_a_long_note_is_as_near_as_its_nearest_passage(library: Library) -> None:
    library.encode({1: (0, 1, 0), 2: (1, 0, 0), 3: (-1, 0, 0), 4: (1, 1, 0)})
    long, short = library.note(1, 2, 3), library.note(4)
    near = library.closest()
    assert near == pytest.approx({long: 1.0, short: 0.5**0.5})
    assert list(near) == [long, short]


def test_the_limit_does_not_count_requested_rows(library: Library) -> None:
    library.encode({number: (10 - number, number, 0) for number in range(10)})
    rows = [library.note(number) for number in range(10)]
    assert list(library.closest(limit=3)) == rows[:3]
    assert set(library.closest(limit=3, also=[rows[9], rows[0]])) == {*rows[:3], rows[9]}


def test_equally_near_notes_come_in_the_order_of_their_rows(library: Library) -> None:
    library.encode({1: (1, 1, 0)})
    rows = [library.note(1) for _ in range(5)]
    assert list(library.closest(limit=3)) == rows[:3]


def test_a_requested_row_needs_a_vector(library: Library) -> None:
    library.encode({1: (1, 0, 0)})
    library.note(1)
    bare = library.note(2)
    assert bare not in library.closest(also=[bare, 999])


def test_a_vector_without_a_note_matches_nothing(library: Library) -> None:
    library.encode({1: (1, 0, 0), 2: (0, 1, 0)})
    gone, stays = library.note(1), library.note(2)
    library.forget(gone)
    assert list(library.closest(also=[gone])) == [stays]


@pytest.mark.parametrize(("notes", "asked"), [(3, 0), (4, 1)], ids=["all looked at", "too deep"])
def test_a_small_scope_is_scored_as_a_whole(
    library: Library, monkeypatch: pytest.MonkeyPatch, notes: int, asked: int
) -> None:
    monkeypatch.setattr(vectors_module, "DEEPEST_LOOK", 3)
    scopes: list[Scope] = []
    real = library.index.passages.in_scope

    def within(scope: Scope) -> list[tuple[bytes, int]]:
        scopes.append(scope)
        return real(scope)

    monkeypatch.setattr(library.index.passages, "in_scope", within)
    library.encode({number: (10, number, 0) for number in range(notes)})
    rows = [library.note(number, project="zoo" if number == notes - 1 else "shop") for number in range(notes)]
    near = library.closest(scope=Scope(("zoo",)), limit=2)
    assert list(near) == [rows[-1]]
    assert len(scopes) == asked
