"""A long memory is shown with the passage that the prompt is about, by meaning or by words."""

from dataclasses import replace
from typing import Any

import pytest

from memem.core.errors import ModelError
from memem.core.memory import Hit, Memory
from memem.inject import slice
from memem.inject.slice import choose_passages
from memem.notes import write
from memem.search.encoders import model
from memem.workspace import Workspace
from tests.fakes import FakeEncoder

MOST = 500
BEGINNING = " ".join(["The harbour has a long history, which is told here at some length for those who like it."] * 5)
MIDDLE = " ".join(["The lorry is repaired every autumn by the crew of the northern yard, which also pays for it."] * 4)
END = " ".join(["Nobody knows who painted the lighthouse, nor why it was painted in these colours at that time."] * 4)
LONG = f"{BEGINNING}\n\n{MIDDLE}\n\n{END}"
"""Three passages."""


def hit(body: str = LONG, title: str = "Harbour", **fields: Any) -> Hit:
    return Hit(Memory("3f2c9a1e", title, body, "zoo"), "a.md", 1.0, **fields)


def passage(ws: Workspace, query: str, one: Hit) -> str:
    (found,) = choose_passages(ws, query, [one], MOST)
    return found.passage


@pytest.fixture
def encoded(meant: Workspace) -> Workspace:
    """A home with one long memory, every passage of which has a vector."""
    write.keep(meant, hit().memory)
    model.encode_all(meant)
    return meant


def test_a_short_memory_is_left_as_it_is(ws: Workspace) -> None:
    short = hit("x" * MOST, terms=("x",))
    assert choose_passages(ws, "x", [short], MOST) == [short]


def test_by_words_it_is_the_passage_that_has_most_of_them(ws: Workspace) -> None:
    assert MIDDLE in passage(ws, "who pays for the northern yard?", hit(terms=("northern", "yard")))
    assert passage(ws, "lighthouse colours", hit(terms=("lighthouse",))).startswith("Nobody knows")


def test_where_no_passage_has_any_it_is_the_first(ws: Workspace) -> None:
    assert passage(ws, "zeppelin", hit(terms=())).startswith("The harbour has")


def test_words_are_compared_as_the_index_spells_them(ws: Workspace) -> None:
    accented = LONG.replace("crew", "CRÉW")
    assert "CRÉW" in passage(ws, "crew", hit(accented, terms=("crew",)))


def test_by_meaning_it_is_the_passage_that_is_nearest_whatever_its_words(encoded: Workspace) -> None:
    near = hit(cosine=0.5, terms=("lighthouse",))
    assert MIDDLE in passage(encoded, "automobile mended every autumn", near)


def test_in_a_script_the_encoder_does_not_read_it_is_the_words_that_count(encoded: Workspace) -> None:
    unread = hit(cosine=0.5, understood=False, terms=("lighthouse",))
    assert passage(encoded, "automobile mended every autumn", unread).startswith("Nobody knows")


def test_an_encoder_that_fails_leaves_the_words(encoded: Workspace, encoder: FakeEncoder) -> None:
    encoder.trouble = ModelError("The encoder is ill.")
    assert passage(encoded, "automobile", hit(cosine=0.5, terms=("lighthouse",))).startswith("Nobody knows")


def test_an_encoder_that_is_late_is_not_waited_for(encoded: Workspace, encoder: FakeEncoder) -> None:
    encoded.settings = replace(encoded.settings, query_seconds=0.0)
    encoder.gate.clear()
    assert passage(encoded, "automobile", hit(cosine=0.5, terms=("lighthouse",))).startswith("Nobody knows")


def test_passages_without_vectors_leave_the_words(encoded: Workspace) -> None:
    another = hit(LONG.replace(".", ", it is said."), cosine=0.5, terms=("lighthouse",))
    assert passage(encoded, "automobile mended every autumn", another).startswith("Nobody knows")


def test_the_title_that_a_passage_is_filed_under_is_not_said_again(ws: Workspace) -> None:
    assert passage(ws, "lighthouse", hit(terms=("lighthouse",), title="Nobody likes it")).startswith("Nobody knows")


def test_a_passage_that_begins_like_its_title_keeps_its_beginning(ws: Workspace) -> None:
    """Since it is quoted: what it says without its first word may be something else."""
    titled = hit(LONG.replace("The lorry is", "Lorry 7 is"), title="Lorry", terms=("northern",))
    assert passage(ws, "northern yard", titled).startswith("Lorry 7 is repaired")


def test_the_slice_shows_the_passage_and_not_the_beginning(encoded: Workspace) -> None:
    found = slice.build_slice(encoded, "is the lorry repaired every autumn?", cwd=encoded.settings.vault, project="zoo")
    assert f"   > […] {MIDDLE}" in found.text
    assert "The harbour has a long history" not in found.text


def test_without_a_model_the_slice_shows_it_too(ws: Workspace) -> None:
    write.keep(ws, hit().memory)
    found = slice.build_slice(ws, "is the lorry repaired every autumn?", cwd=ws.settings.vault, project="zoo")
    assert f"   > […] {MIDDLE}" in found.text
    assert found.hits[0].passage in LONG


def test_an_endless_prompt_is_encoded_once_also_for_a_long_memory(encoded: Workspace, encoder: FakeEncoder) -> None:
    prompt = "is the lorry repaired every autumn by the crew? " * 300
    found = slice.build_slice(encoded, prompt, cwd=encoded.settings.vault, project="zoo")
    assert MIDDLE in found.hits[0].passage
    assert len(encoder.queries) == 1
