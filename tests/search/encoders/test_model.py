"""How it stands with the model: where its weights are, what is wrong, and how far the vectors are."""

import importlib.util
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memem.notes import save
from memem.search import find
from memem.search.encoders import download, model, weights
from memem.search.encoders.model import ModelState
from memem.search.encoders.weights import WeightsFolder
from memem.workspace import Workspace
from tests.fakes import FakeEncoder


def sentence_transformers(ws: Workspace, monkeypatch: pytest.MonkeyPatch, *, installed: bool) -> None:
    """Choose the library, which is installed or not."""
    ws.settings = replace(ws.settings, encoder="sentence-transformers", embed_model="somebody/a-model")
    real = importlib.util.find_spec

    def find_spec(name: str) -> object:
        return (object() if installed else None) if name == "sentence_transformers" else real(name)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)


def test_no_encoder_is_a_state_without_a_problem(ws: Workspace) -> None:
    save.save(ws, "A fact.")
    assert model.model_state(ws) == ModelState("none")


def test_the_state_has_the_weights_folder_and_the_number_of_vectors(meant: Workspace, small_weights: Path) -> None:
    save.save(meant, "One fact.")
    save.save(meant, "Another fact.")
    known = ModelState(
        "minilm", weights.MODEL, str(small_weights), "hub cache", passages=2, dimensions=2_048, multilingual=True
    )
    assert model.model_state(meant) == known
    model.encode_all(meant)
    assert model.model_state(meant) == replace(known, encoded=2)
    save.save(meant, "A third fact.")
    assert model.model_state(meant) == replace(known, passages=3, encoded=2)


def test_a_folder_that_should_hold_the_weights_and_does_not_is_noticed(
    meant: Workspace, small_weights: Path, tmp_path: Path
) -> None:
    save.save(meant, "A fact.")
    meant.settings = replace(meant.settings, model_dir=tmp_path / "nowhere")
    state = model.model_state(meant)
    assert state.notice == f"MEMEM_MODEL_DIR: {tmp_path / 'nowhere' / 'vocab.txt'} is missing"
    assert (state.folder, state.problem) == (str(small_weights), "")


def test_missing_weights_are_the_problem(meant: Workspace) -> None:
    save.save(meant, "A fact.")
    state = model.model_state(meant)
    assert "memem index model fetch" in state.problem
    assert (state.model, state.folder, state.encoded) == (weights.MODEL, "", 0)


@pytest.mark.usefixtures("small_weights")
def test_vectors_that_were_damaged_are_missing(meant: Workspace) -> None:
    save.save(meant, "A fact.")
    find.search(meant, "fact")
    meant.close()
    (path,) = meant.home.vectors.glob("*/vectors.db")
    path.write_bytes(b"this is not a database " * 100)
    state = model.model_state(meant)
    assert (state.problem, state.passages, state.encoded) == ("", 1, 0)


def test_a_library_that_is_not_installed_is_the_problem(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    save.save(ws, "A fact.")
    sentence_transformers(ws, monkeypatch, installed=False)
    state = model.model_state(ws)
    assert "sentence-transformers is not installed" in state.problem
    assert (state.encoder, state.model) == ("sentence-transformers", "somebody/a-model")


def test_the_state_does_not_load_the_library(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    save.save(ws, "A fact.")
    sentence_transformers(ws, monkeypatch, installed=True)
    assert model.model_state(ws) == ModelState("sentence-transformers", "somebody/a-model", passages=1, encoded=0)
    assert "sentence_transformers" not in sys.modules


def encode_with(ws: Workspace, model_name: str, means: dict[str, str] | None = None) -> None:
    """Choose a model of the library, and compute all vectors, as another process would."""
    ws.close()
    ws.settings = replace(ws.settings, encoder="sentence-transformers", embed_model=model_name)
    ws._encoder, ws._query = FakeEncoder(f"{model_name} 1", means), None
    model.encode_all(ws)
    ws._encoder = None


def test_a_model_that_is_not_loaded_is_described_by_its_vectors(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    save.save(ws, "A fact.")
    sentence_transformers(ws, monkeypatch, installed=True)
    encode_with(ws, "somebody/a-model")
    state = model.model_state(ws)
    assert (state.encoded, state.passages, state.dimensions, state.multilingual) == (1, 1, 2_048, True)
    assert state.described == "somebody/a-model, 2048 dimensions, also reads non-Latin scripts"
    save.save(ws, "Another fact.")
    assert (model.model_state(ws).encoded, model.model_state(ws).passages) == (1, 2)


def test_memories_in_scripts_that_the_model_does_not_read_are_counted(
    meant: Workspace, encoder: FakeEncoder, small_weights: Path
) -> None:
    for text in ("The pool.", "L'été à Łódź.", "连接池的大小是二十。", "Пароль базы данных."):
        save.save(meant, text)
    assert model.model_state(meant).unread == 0
    encoder.multilingual = False
    assert model.model_state(meant).unread == 2
    assert model.model_state(meant).described.endswith("reads only Latin script")


# --- fetching -----------------------------------------------------------------------------------------------------


@pytest.fixture
def requests(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Record the arguments of a fetch."""
    ws.settings = replace(ws.settings, encoder="minilm")
    given: dict[str, Any] = {}

    def fetch(places: object, **options: Any) -> WeightsFolder:
        given.update(options, places=places)
        return WeightsFolder(Path("here"), "models")

    monkeypatch.setattr(download, "fetch", fetch)
    monkeypatch.setattr(download, "find_installers", lambda uv: [[uv]])
    return given


def show(name: str, here: int, total: int) -> None:
    """Show how far a download is."""


def make_command(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_weights_are_fetched_into_this_home_from_the_usual_hub(ws: Workspace, requests: dict[str, Any]) -> None:
    assert model.fetch(ws, show) == "The weights are in here."
    assert requests["places"] == ws.weights_places
    assert requests["places"].models == ws.home.models
    assert (requests["endpoint"], requests["progress"]) == ("https://huggingface.co", show)


def test_another_hub_is_used_where_the_user_names_one(ws: Workspace, requests: dict[str, Any]) -> None:
    ws.environ = {"HF_ENDPOINT": "https://hub.example"}
    model.fetch(ws, show)
    assert requests["endpoint"] == "https://hub.example"


def test_the_uv_of_our_environment_is_preferred_to_the_users(
    ws: Workspace, requests: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    ws.environ = {"PATH": str(tmp_path / "bin")}
    model.fetch(ws, show)
    assert requests["installers"] == [[None]]
    theirs = make_command(tmp_path / "bin" / f"uv{'.exe' if os.name == 'nt' else ''}")
    model.fetch(ws, show)
    assert requests["installers"] == [[str(theirs)]]
    ours = make_command(tmp_path / "venv" / ".memem" / "uv" / "bin" / "uv")
    model.fetch(ws, show)
    assert requests["installers"] == [[str(ours)]]
