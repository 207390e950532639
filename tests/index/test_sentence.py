"""The library sentence-transformers as an encoder: here by a stand-in, since nobody needs it to work on the rest."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memem.core.errors import ModelError
from memem.index import weights
from memem.index.encoder import QUERY_TOKENS
from memem.index.sentence import SentenceEncoder

CALLER_THREADS = 6


class FakeTorch(ModuleType):
    """Knows how many threads it may use."""

    def __init__(self) -> None:
        super().__init__("torch")
        self.threads = CALLER_THREADS

    def get_num_threads(self) -> int:
        return self.threads

    def set_num_threads(self, count: int) -> None:
        self.threads = count


class Library:
    """The library: what a model would need to be loaded, and what it was asked, under which conditions."""

    def __init__(self) -> None:
        self.torch = FakeTorch()
        self.refuses: Exception | None = None
        self.max_seq_length: int | None = 256
        self.calls: list[dict[str, Any]] = []
        self.fails = False
        self.downloads = False
        library = self

        class SentenceTransformer:
            def __init__(self, model: str, device: str, local_files_only: bool) -> None:
                library.downloads = not local_files_only
                if library.refuses:
                    raise library.refuses
                assert device == "cpu"
                self.max_seq_length = library.max_seq_length

            def encode(self, text: str, **options: Any) -> Any:
                return np.zeros(3)

            def encode_query(self, texts: list[str], **options: Any) -> Any:
                return self._encode("query", texts, options)

            def encode_document(self, texts: list[str], **options: Any) -> Any:
                return self._encode("document", texts, options)

            def _encode(self, how: str, texts: list[str], options: dict[str, Any]) -> Any:
                threads = library.torch.threads
                library.calls.append(
                    {"how": how, "texts": texts, "threads": threads, "tokens": self.max_seq_length, **options}
                )
                if library.fails:
                    raise RuntimeError("out of memory")
                return np.array([[len(text), 0.0, 0.0] for text in texts], np.float64)

        self.SentenceTransformer = SentenceTransformer
        self.cache: dict[str, str] = {}

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sentence_transformers: Any = ModuleType("sentence_transformers")
        sentence_transformers.SentenceTransformer = self.SentenceTransformer
        hub = SimpleNamespace(try_to_load_from_cache=lambda repository, name: self.cache.get(f"{repository}/{name}"))
        monkeypatch.setitem(sys.modules, "torch", self.torch)
        monkeypatch.setitem(sys.modules, "sentence_transformers", sentence_transformers)
        monkeypatch.setitem(sys.modules, "huggingface_hub", hub)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    installed = Library()
    installed.install(monkeypatch)
    return installed


# --- loading ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("missing", ["torch", "sentence_transformers"])
def test_a_library_that_is_not_there_says_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ModelError, match="Install memem's extra of that name, or set MEMEM_ENCODER=minilm") as raised:
        SentenceEncoder("somebody/model")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("problem", [OSError("no such model"), ValueError("two\nlines " * 200), RuntimeError()])
def test_a_model_that_cannot_be_loaded_is_told_in_one_short_line(library: Library, problem: Exception) -> None:
    library.refuses = problem
    with pytest.raises(ModelError, match=r"cannot load 'somebody/model'.*MEMEM_EMBED_MODEL") as raised:
        SentenceEncoder("somebody/model")
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


# --- identity -----------------------------------------------------------------------------------------------------


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> str:
    """Any file that is called `ours` has the checksum of our own weights."""
    monkeypatch.setattr(weights, "sha256_of", lambda path: "53aa" if "ours" in str(path) else "beef")
    monkeypatch.setattr(weights, "IDENTITY", "sentence-transformers/all-MiniLM-L6-v2 53aa")
    return weights.IDENTITY


def make_model(folder: Path, name: str = "model.safetensors") -> Path:
    folder.mkdir()
    (folder / name).write_bytes(b"weights")
    return folder


@pytest.mark.usefixtures("library")
def test_our_own_weights_in_a_folder_share_the_vectors_of_our_own_encoder(ours: str, tmp_path: Path) -> None:
    assert SentenceEncoder(str(make_model(tmp_path / "ours"))).identity == ours


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_other_weights_in_a_folder_have_vectors_of_their_own(ours: str, tmp_path: Path, name: str) -> None:
    folder = make_model(tmp_path / "theirs", name)
    assert SentenceEncoder(str(folder)).identity == f"{folder} beef" != ours


@pytest.mark.parametrize("model", ["sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2"])
def test_our_own_model_by_its_name_shares_them_too(library: Library, ours: str, model: str, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "ours")
    library.cache["sentence-transformers/all-MiniLM-L6-v2/modules.json"] = str(folder / "modules.json")
    assert SentenceEncoder(model).identity == ours


def test_another_model_of_the_hub_is_known_by_its_name_and_its_checksum(
    library: Library, ours: str, tmp_path: Path
) -> None:
    folder = make_model(tmp_path / "theirs", "pytorch_model.bin")
    library.cache["somebody/model/config.json"] = str(folder / "config.json")
    assert SentenceEncoder("somebody/model").identity == "somebody/model beef" != ours


def test_weights_in_several_files_are_known_by_their_revision(library: Library) -> None:
    library.cache["somebody/model/modules.json"] = "/cache/snapshots/0123abcd/modules.json"
    assert SentenceEncoder("somebody/model").identity == "somebody/model 0123abcd"


@pytest.mark.usefixtures("library")
def test_a_model_whose_weights_are_not_found_is_known_by_its_name(tmp_path: Path) -> None:
    assert SentenceEncoder("somebody/model").identity == "somebody/model unknown"
    (tmp_path / "empty").mkdir()
    assert SentenceEncoder(str(tmp_path / "empty")).identity == f"{tmp_path / 'empty'} unknown"


@pytest.mark.parametrize("download", [False, True])
def test_nothing_comes_from_the_hub_unless_it_is_to_be_fetched(library: Library, download: bool) -> None:
    SentenceEncoder("somebody/model", download=download)
    assert library.downloads == download


# --- vectors ------------------------------------------------------------------------------------------------------


def test_a_query_is_computed_on_one_core_and_cut_and_all_is_as_before_afterwards(library: Library) -> None:
    encoder = SentenceEncoder("somebody/model")
    vector = encoder.query("walrus")
    (call,) = library.calls
    assert (call["how"], call["texts"], call["threads"], call["tokens"]) == ("query", ["walrus"], 1, QUERY_TOKENS)
    assert (str(vector.dtype), vector.tolist()) == ("float32", [6, 0, 0])
    assert library.torch.threads == CALLER_THREADS
    encoder.passages(["a"])
    assert (library.calls[1]["threads"], library.calls[1]["tokens"]) == (CALLER_THREADS, 256)


def test_all_is_as_before_after_a_query_that_failed(library: Library) -> None:
    encoder = SentenceEncoder("somebody/model")
    library.fails = True
    with pytest.raises(Exception, match="out of memory"):
        encoder.query("walrus")
    library.fails = False
    encoder.passages(["a"])
    assert (library.calls[-1]["threads"], library.calls[-1]["tokens"]) == (CALLER_THREADS, 256)


def test_a_model_that_reads_less_than_we_would_give_it_is_not_stretched(library: Library) -> None:
    library.max_seq_length = 64
    SentenceEncoder("somebody/model").query("walrus")
    assert library.calls[0]["tokens"] == 64


def test_passages_are_encoded_as_documents_in_order_to_float32(library: Library) -> None:
    encoder = SentenceEncoder("somebody/model")
    rows = encoder.passages(("a", "bbb", "cc"))
    assert (str(rows.dtype), rows.tolist()) == ("float32", [[1, 0, 0], [3, 0, 0], [2, 0, 0]])
    (call,) = library.calls
    assert (call["how"], call["texts"]) == ("document", ["a", "bbb", "cc"])
    assert (call["normalize_embeddings"], call["show_progress_bar"]) == (True, False)


@pytest.mark.usefixtures("library")
def test_the_dimensions_are_those_of_the_model() -> None:
    encoder = SentenceEncoder("somebody/model")
    assert encoder.dimensions == 3
    assert encoder.passages([]).shape == (0, 3)
