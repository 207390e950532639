"""The values that travel between stages."""

import dataclasses
import json
from pathlib import Path

import pytest

from memem.core.memory import ARCHIVE, CONVENTIONS, ORDINARY, PINNED, Entry, Hit, Memory, classify_layer, jsonable

MEMORY = Memory(id="3f2c9a1e-77aa-4bb0-9d51-000000000001", title="Signing", body="RS256.", project="shop-api")


def test_the_short_id_is_the_first_eight_characters() -> None:
    assert MEMORY.id8 == "3f2c9a1e"


@pytest.mark.parametrize(
    ("value", "field"), [(MEMORY, "title"), (Entry(MEMORY, "a.md"), "path"), (Hit(MEMORY, "a.md", 1.0), "path")]
)
def test_a_value_cannot_be_changed(value: Memory | Entry, field: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, field, "other")


def test_an_entry_answers_for_its_memory() -> None:
    entry = Entry(MEMORY, "memories/signing.md")
    assert (entry.id, entry.title, entry.project, entry.body) == (MEMORY.id, "Signing", "shop-api", "RS256.")


@pytest.mark.parametrize(
    ("kind", "importance", "tags", "layer"),
    [
        ("fact", 3, (), ORDINARY),
        ("fact", 5, (), ORDINARY),
        ("decision", 5, ("memem",), ORDINARY),
        ("convention", 1, (), CONVENTIONS),
        ("preference", 3, (), ORDINARY),
        ("preference", 4, (), CONVENTIONS),
        ("fact", 1, ("identity",), PINNED),
        ("convention", 5, ("identity",), PINNED),
        ("convention", 5, ("archive",), ARCHIVE),
        ("fact", 3, ("identity", "archive"), PINNED),
    ],
)
def test_a_memory_without_a_layer_gets_one_from_kind_importance_and_tags(
    kind: str, importance: int, tags: tuple[str, ...], layer: int
) -> None:
    assert classify_layer(kind, importance, tags) == layer


def test_a_hit_as_json_lays_its_memory_open_and_keeps_the_order_of_fields() -> None:
    flat = jsonable(Hit(MEMORY, "a.md", 0.5, terms=("signing",), coverage=0.25, literal=True))
    assert list(flat)[:3] == ["id", "title", "body"]
    found = ["path", "score", "source", "cosine", "understood", "terms", "coverage", "literal", "named"]
    scored = [*found, "about_file", "passage", "helps", "kept_out", "degraded"]
    assert list(flat)[-len(scored) :] == scored
    assert "memory" not in flat
    assert flat["confidence"] == MEMORY.confidence
    assert flat["terms"] == ["signing"]
    assert json.loads(json.dumps(flat)) == flat


def test_json_goes_into_lists_mappings_and_paths() -> None:
    assert jsonable({"hits": (Entry(MEMORY, "a.md"),), "vault": Path("x/y")}) == {
        "hits": [jsonable(MEMORY) | {"path": "a.md"}],
        "vault": str(Path("x/y")),
    }
