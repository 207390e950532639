"""The whole of `bench ranking`, on questions few enough to know the answers."""

import json
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bench import labelled, ranking
from bench.measure import changed
from bench.options import DATA_VARIABLE
from memem.core.errors import InputError, ModelError
from memem.search import fulltext
from memem.search import ranking as search_ranking
from memem.search.ranking import FUSED, Blend

OWN = """
[[memory]]
key = "walrus"
project = "zoo"
kind = "fact"
title = "Walrus"
text = "The walrus is fed with herring by its keeper at dusk."

[[memory]]
key = "otter"
project = "shop"
kind = "fact"
title = "Otter"
text = "The otter swims in the harbour."

[[queries.keyword]]
text = "walrus herring"
wanted = ["walrus"]

[[prompts.ask]]
text = "where does the otter swim?"
project = "shop"
wanted = ["otter"]

[[prompts.off-topic]]
text = "rename the zeppelin"
project = "zoo"

[[prompts.follow-up]]
text = "and why is that?"
project = "zoo"
wanted = ["walrus"]
before = ["user: when is the walrus fed?", "assistant: At dusk."]
"""
VARIED = {**ranking.MODULE_VALUES, **ranking.FINDING_VALUES}


@pytest.fixture(autouse=True)
def _few_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    for name in ("load", "prompts"):
        monkeypatch.setattr(labelled, name, partial(getattr(labelled, name), path))


@pytest.fixture
def few_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The value in use and another of each constant that decides what is found: every one takes a vault."""
    few = {(module, name): (getattr(module, name), 1) for module, name in ranking.FINDING_VALUES}
    monkeypatch.setattr(ranking, "FINDING_VALUES", few)
    monkeypatch.setattr(ranking, "FIELD_VALUES", (fulltext.NOTES.weights[0], 1.5))


def in_use() -> dict[str, Any]:
    return {name: getattr(module, name) for module, name in VARIED} | {"NOTES": fulltext.NOTES, "FUSED": FUSED}


@pytest.mark.usefixtures("with_model", "few_values")
def test_without_data_our_own_questions_and_prompts_are_ranked_with_every_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = in_use()
    assert ranking.run(["--json", str(tmp_path / "told.json"), "--cache", str(tmp_path / "cache")]) == 0
    assert in_use() == before
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["bench"] == "ranking"
    assert {name for row in told["rows"] for name in row["sets"]} == {"labelled", "prompts"}
    used = {row["constant"]: row["sets"] for row in told["rows"] if row["in_use"]}
    assert used["meaning"] == {name: {"nDCG@10": 1.0, "any@5": 1.0} for name in ("labelled", "prompts")}
    names = {name for _, name in VARIED} | {field.name for field in fields(Blend)}
    assert {row["constant"] for row in told["rows"]} == names | {"weight of title and keys, relative to the body"}
    out = capsys.readouterr().out
    assert out.count("<- in use") == len(used)
    assert "prompts nDCG@10" in out
    assert [each.name for each in (tmp_path / "cache").iterdir()] == ["labelled"]


@pytest.mark.parametrize("constant", VARIED, ids=lambda constant: constant[1])
def test_the_value_in_use_is_one_of_those_that_are_tried(constant: tuple[ModuleType, str]) -> None:
    assert getattr(*constant) in VARIED[constant]


@pytest.mark.parametrize("field", fields(Blend), ids=lambda field: field.name)
def test_so_is_that_of_every_part_of_a_blend(field: Any) -> None:
    assert getattr(FUSED, field.name) in ranking.BLEND_VALUES[field.name]


def test_a_missing_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="MEMEM_ENCODER is none, so nothing can be encoded"):
        ranking.run(["--cache", str(tmp_path / "cache")])


@pytest.mark.parametrize("named_by", ["--data", DATA_VARIABLE])
def test_a_folder_without_the_files_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named_by: str) -> None:
    if named_by == DATA_VARIABLE:
        monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match=r"holds no file .*: give the folder with the evaluation files"):
        ranking.run(["--data", str(tmp_path)] if named_by == "--data" else [])


# --- constants are put back ---------------------------------------------------------------------------------------


def test_a_changed_constant_is_put_back_also_after_a_failure() -> None:
    used = search_ranking.CHANCE
    seen: list[float] = []

    def fail() -> None:
        with changed(search_ranking, "CHANCE", used + 1):
            seen.append(search_ranking.CHANCE)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (seen, search_ranking.CHANCE) == ([used + 1], used)


def test_an_interrupted_run_restores_every_constant() -> None:
    before = in_use()
    rows: Iterator[dict[str, Any]] = ranking.measured({})
    for row in rows:
        if row["constant"] == "SET_ASIDE" and not row["in_use"]:
            break
    assert in_use() != before
    rows.close()  # type: ignore[attr-defined]
    assert in_use() == before


def test_searches_are_repeated_with_each_value() -> None:
    seen: list[Any] = []
    list(ranking.vary_finding(lambda: seen.append(in_use()) or {}))  # type: ignore[func-returns-value]
    changes = [{name for name, value in each.items() if value != in_use()[name]} for each in seen]
    assert set().union(*changes) == {"RARE", "MIN_CANDIDATES", "NOTES"}
    assert all(len(each) <= 1 for each in changes)
