"""The library sentence-transformers as an encoder, here replaced by a fake."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memem.core.errors import ModelError
from memem.search.encoders import weights
from memem.search.encoders.interface import QUERY_TOKENS
from memem.search.encoders.sentence import SentenceEncoder

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


class FakeTokenizer:
    """Cuts a text into pieces of so many characters; what is not in its alphabet is unknown to it."""

    unk_token_id = 0

    def __init__(self, size: float, alphabet: str = "\0-\U0010ffff") -> None:
        self.size, self.known = size, re.compile(f"[{alphabet}]*")

    def __call__(self, text: str, add_special_tokens: bool) -> dict[str, list[int]]:
        assert not add_special_tokens
        pieces = [1] * round(len(text) / self.size)
        return {"input_ids": pieces if self.known.fullmatch(text) else [0, *pieces]}


class Library:
    """A fake library that records calls and their conditions."""

    def __init__(self) -> None:
        self.torch = FakeTorch()
        self.refuses: Exception | None = None
        self.max_seq_length: int | None = 256
        self.calls: list[dict[str, Any]] = []
        self.fails = False
        self.downloads = False
        self.prompts = {"query": "", "document": ""}
        self.tokenizer: FakeTokenizer | None = None
        library = self

        class SentenceTransformer:
            def __init__(self, model: str, device: str, local_files_only: bool) -> None:
                library.downloads = not local_files_only
                if library.refuses:
                    raise library.refuses
                assert device == "cpu"
                self.max_seq_length = library.max_seq_length
                self.prompts = library.prompts
                if library.tokenizer:
                    self.tokenizer = library.tokenizer

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
def test_a_missing_library_gives_install_advice(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(
        ModelError, match="Install memem's sentence-transformers extra, or set MEMEM_ENCODER=minilm"
    ) as raised:
        SentenceEncoder("somebody/model")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("problem", [OSError("no such model"), ValueError("two\nlines " * 200), RuntimeError()])
def test_a_model_that_cannot_be_loaded_is_reported_in_one_short_line(library: Library, problem: Exception) -> None:
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


def test_another_model_is_identified_by_its_name_and_checksum(library: Library, ours: str, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "theirs", "pytorch_model.bin")
    library.cache["somebody/model/config.json"] = str(folder / "config.json")
    assert SentenceEncoder("somebody/model").identity == "somebody/model beef" != ours


def test_weights_in_several_files_are_identified_by_their_revision(library: Library) -> None:
    library.cache["somebody/model/modules.json"] = "/cache/snapshots/0123abcd/modules.json"
    assert SentenceEncoder("somebody/model").identity == "somebody/model 0123abcd"


@pytest.mark.usefixtures("library")
def test_a_model_without_weights_is_identified_by_its_name(tmp_path: Path) -> None:
    assert SentenceEncoder("somebody/model").identity == "somebody/model unknown"
    (tmp_path / "empty").mkdir()
    assert SentenceEncoder(str(tmp_path / "empty")).identity == f"{tmp_path / 'empty'} unknown"


@pytest.mark.parametrize(("download", "drawn"), [(False, False), (True, True)])
def test_the_library_draws_nothing_unless_a_model_is_being_fetched(
    library: Library, monkeypatch: pytest.MonkeyPatch, download: bool, drawn: bool
) -> None:
    silenced: list[bool] = []
    logging = SimpleNamespace(disable_progress_bar=lambda: silenced.append(True))
    monkeypatch.setitem(sys.modules, "transformers", ModuleType("transformers"))
    monkeypatch.setitem(sys.modules, "transformers.utils", SimpleNamespace(logging=logging))
    SentenceEncoder("somebody/model", download=download)
    assert (not silenced) is drawn


@pytest.mark.parametrize("download", [False, True])
def test_the_hub_is_used_only_to_fetch(library: Library, download: bool) -> None:
    SentenceEncoder("somebody/model", download=download)
    assert library.downloads == download


# --- other languages ----------------------------------------------------------------------------------------------


WORDS, CHARACTERS, LETTERS, BYTES = 3.5, 1, 1.05, 0.4
"""How many characters a token has, about, to a model that knows the words, the characters, the letters, or none."""


@pytest.mark.parametrize(
    ("tokenizer", "reads"),
    [
        (FakeTokenizer(WORDS), True),
        (FakeTokenizer(CHARACTERS), True),
        (FakeTokenizer(CHARACTERS, "\u4e00-\u9fff"), True),
        (FakeTokenizer(WORDS, " \u0400-\u04ff"), True),
        (FakeTokenizer(LETTERS, " \u0400-\u04ff"), False),
        (FakeTokenizer(WORDS, "\0-\u024f"), False),
        (FakeTokenizer(BYTES), False),
    ],
    ids=["multilingual", "characters", "chinese", "russian", "english, russian letters", "latin", "english, bytes"],
)
def test_a_model_reads_other_scripts_when_its_tokenizer_knows_words_of_one(
    library: Library, tokenizer: FakeTokenizer, reads: bool
) -> None:
    library.tokenizer = tokenizer
    assert SentenceEncoder("somebody/model").multilingual is reads


@pytest.mark.parametrize(
    "name",
    [
        "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        "paraphrase-multilingual-mpnet-base-v2",
        "intfloat/multilingual-e5-small",
        "BAAI/bge-m3",
        "sentence-transformers/LaBSE",
        "sentence-transformers/distiluse-base-multilingual-cased-v2",
        "Alibaba-NLP/gte-multilingual-base",
        "sentence-transformers/paraphrase-xlm-r-multilingual-v1",
        "/srv/models/ours-multilingual",
    ],
)
def test_a_model_is_multilingual_by_its_name(library: Library, name: str) -> None:
    library.tokenizer = FakeTokenizer(BYTES)
    assert SentenceEncoder(name).multilingual


@pytest.mark.usefixtures("library")
def test_a_model_without_a_usable_tokenizer_counts_as_multilingual() -> None:
    assert SentenceEncoder("somebody/model").multilingual


@pytest.mark.usefixtures("ours")
def test_our_own_model_reads_no_other_script(library: Library, tmp_path: Path) -> None:
    library.tokenizer = FakeTokenizer(WORDS)
    assert not SentenceEncoder(str(make_model(tmp_path / "ours"))).multilingual


@pytest.mark.parametrize(
    ("name", "prompts"),
    [
        ("intfloat/multilingual-e5-small", ("query: ", "passage: ")),
        ("intfloat/e5-base-v2", ("query: ", "passage: ")),
        ("/srv/hub/models--intfloat--multilingual-e5-large/snapshots/0123abcd", ("query: ", "passage: ")),
        ("intfloat/multilingual-e5-large-instruct", ("Instruct: Find notes that help.\nQuery: ", "")),
        ("somebody/e5-baseline", ("", "")),
        ("BAAI/bge-m3", ("", "")),
    ],
)
def test_a_model_gets_the_prompts_it_was_trained_with(library: Library, name: str, prompts: tuple[str, str]) -> None:
    encoder = SentenceEncoder(name)
    assert (library.prompts["query"], library.prompts["document"]) == prompts
    assert encoder.identity == f"{name} unknown" + (" prompted" if any(prompts) else "")


def test_prompts_that_come_with_a_model_are_left_as_they_are(library: Library) -> None:
    library.prompts = {"query": "search_query: ", "document": ""}
    assert SentenceEncoder("intfloat/multilingual-e5-small").identity == "intfloat/multilingual-e5-small unknown"
    assert library.prompts == {"query": "search_query: ", "document": ""}


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


def test_a_shorter_maximum_length_of_a_model_is_respected(library: Library) -> None:
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
