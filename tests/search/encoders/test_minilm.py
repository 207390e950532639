"""The encoder computes what the model says: compared with a slow reference, in batches as one by one."""

import json
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memem.core.errors import ModelError
from memem.search.encoders import minilm
from memem.search.encoders.interface import PASSAGE_TOKENS, QUERY_TOKENS, Vectors
from memem.search.encoders.minilm import GROUP_TOKENS, Linear, MiniLM

LAYERS, HEADS, WIDTH, WIDE = 2, 2, 8, 16
WORDS = [f"w{number}" for number in range(400)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

Exact = NDArray[np.float64]


# --- a small model ------------------------------------------------------------------------------------------------


def shapes() -> dict[str, tuple[int, ...]]:
    """The names and shapes of the published file, with our small numbers."""
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(SPECIAL) + len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (PASSAGE_TOKENS, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    parts = {
        **dict.fromkeys(("attention.self.query", "attention.self.key", "attention.self.value"), (WIDTH, WIDTH)),
        "attention.output.dense": (WIDTH, WIDTH),
        "intermediate.dense": (WIDE, WIDTH),
        "output.dense": (WIDTH, WIDE),
    }
    for layer in range(LAYERS):
        for part, shape in parts.items():
            found[f"encoder.layer.{layer}.{part}.weight"] = shape
            found[f"encoder.layer.{layer}.{part}.bias"] = shape[:1]
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            found[f"encoder.layer.{layer}.{norm}.weight"] = (WIDTH,)
            found[f"encoder.layer.{layer}.{norm}.bias"] = (WIDTH,)
    return found


def made_up() -> dict[str, Vectors]:
    random = np.random.default_rng(1)
    return {name: random.normal(0, 0.6, shape).astype(np.float32) for name, shape in shapes().items()}


def safetensors(tensors: dict[str, Vectors]) -> bytes:
    table: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, tensor in tensors.items():
        table[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [len(data), len(data) + tensor.nbytes]}
        data += tensor.tobytes()
    table["embeddings.position_ids"] = {"dtype": "I64", "shape": [1, 1], "data_offsets": [len(data), len(data) + 8]}
    header = json.dumps(table).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data + bytes(8)


@pytest.fixture
def tensors() -> dict[str, Vectors]:
    return made_up()


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LAYERS", LAYERS), ("HEADS", HEADS), ("WIDTH", WIDTH)):
        monkeypatch.setattr(minilm, name, value)


@pytest.fixture
def folder(tmp_path: Path, tensors: dict[str, Vectors]) -> Path:
    (tmp_path / "model.safetensors").write_bytes(safetensors(tensors))
    (tmp_path / "vocab.txt").write_text("\n".join([*SPECIAL, *WORDS]) + "\n")
    return tmp_path


@pytest.fixture
def model(folder: Path) -> MiniLM:
    return MiniLM(folder, "somebody/small 1")


def text(*numbers: int) -> str:
    return " ".join(WORDS[number] for number in numbers)


def some_text(length: int) -> str:
    return text(*np.random.default_rng(length).integers(0, len(WORDS), length).tolist())


# --- the reference ------------------------------------------------------------------------------------------------


def reference(tensors: dict[str, Vectors], words: str) -> Exact:
    """BERT with mean pooling in float64, a token and a head at a time."""

    def dense(name: str, x: Exact) -> Exact:
        weight, bias = (tensors[f"{name}.{part}"].astype(np.float64) for part in ("weight", "bias"))
        return np.array([weight @ row + bias for row in x])

    def normal(name: str, x: Exact) -> Exact:
        weight, bias = (tensors[f"{name}.{part}"].astype(np.float64) for part in ("weight", "bias"))
        return np.array([(row - row.mean()) / math.sqrt(row.var() + 1e-12) * weight + bias for row in x])

    known = [len(SPECIAL) + WORDS.index(word) for word in words.split()]
    ids = [SPECIAL.index("[CLS]"), *known, SPECIAL.index("[SEP]")]
    embeddings = [f"embeddings.{kind}_embeddings.weight" for kind in ("word", "position", "token_type")]
    word, position, kind = (tensors[name].astype(np.float64) for name in embeddings)
    x = np.array([word[number] + position[place] + kind[0] for place, number in enumerate(ids)])
    x = normal("embeddings.LayerNorm", x)
    size = WIDTH // HEADS
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        query, key, value = (dense(f"{prefix}.attention.self.{part}", x) for part in ("query", "key", "value"))
        context = np.zeros_like(x)
        for head in (slice(start, start + size) for start in range(0, WIDTH, size)):
            for token in range(len(ids)):
                weights = np.array([math.exp(query[token, head] @ each / math.sqrt(size)) for each in key[:, head]])
                context[token, head] = weights / weights.sum() @ value[:, head]
        x = normal(f"{prefix}.attention.output.LayerNorm", dense(f"{prefix}.attention.output.dense", context) + x)
        wide = np.vectorize(exact_gelu)(dense(f"{prefix}.intermediate.dense", x))
        x = normal(f"{prefix}.output.LayerNorm", dense(f"{prefix}.output.dense", wide) + x)
    mean = x.mean(axis=0)
    unit: Exact = mean / np.linalg.norm(mean)
    return unit


def exact_gelu(x: float) -> float:
    return x / 2 * (1 + math.erf(x / math.sqrt(2)))


# --- the vectors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 2, 7, 30])
def test_a_vector_is_that_of_the_slow_reference(model: MiniLM, tensors: dict[str, Vectors], length: int) -> None:
    words = some_text(length)
    expected = pytest.approx(reference(tensors, words), abs=1e-5)
    assert model.query(words) == expected
    assert model.passages([words])[0] == expected


def test_the_texts_of_a_batch_do_not_change_each_other(model: MiniLM) -> None:
    words = [some_text(length) for length in (5, 1, 30, 5, 0, 200, 30, 12, 5)] + [text(1, 2, 3, 4, 5)]
    batch = model.passages(words)
    assert batch.dtype == np.float32
    assert batch.shape == (10, WIDTH)
    for row, each in zip(batch, words, strict=True):
        assert row == pytest.approx(model.passages([each])[0], abs=1e-5)
    assert batch[0] == pytest.approx(batch[3], abs=1e-5), "the same text"
    assert batch[0] != pytest.approx(batch[9], abs=1e-3), "another of the same length"


def test_many_texts_are_computed_in_several_groups_and_given_back_in_order(
    model: MiniLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [text(number, number + 1) for number in range(40)]
    whole = model.passages(words)
    monkeypatch.setattr(minilm, "GROUP_TOKENS", 10)
    monkeypatch.setattr(minilm, "BLOCK", 3)
    assert model.passages(words) == pytest.approx(whole, abs=1e-6)


def test_every_vector_has_the_length_one(model: MiniLM) -> None:
    batch = model.passages([some_text(length) for length in range(20)])
    assert np.linalg.norm(batch, axis=1) == pytest.approx(1, abs=1e-6)
    assert np.linalg.norm(model.query(some_text(3))) == pytest.approx(1, abs=1e-6)


def test_no_texts_have_no_vectors(model: MiniLM) -> None:
    assert model.passages([]).shape == (0, WIDTH)


def test_the_order_of_the_words_matters(model: MiniLM) -> None:
    assert model.query(text(1, 2)) != pytest.approx(model.query(text(2, 1)), abs=1e-3)


@pytest.mark.parametrize(
    ("encode", "most"),
    [
        (lambda model, words: model.query(words), QUERY_TOKENS),
        (lambda m, words: m.passages([words])[0], PASSAGE_TOKENS),
    ],
    ids=["query", "passage"],
)
def test_a_longer_text_has_the_vector_of_its_beginning(
    model: MiniLM, encode: Callable[[MiniLM, str], Vectors], most: int
) -> None:
    numbers = [number * 7 % len(WORDS) for number in range(399)]
    beginning, shorter = numbers[: most - 2], numbers[: most - 3]
    whole = encode(model, text(*numbers))
    assert whole == pytest.approx(encode(model, text(*beginning)), abs=1e-6)
    assert whole != pytest.approx(encode(model, text(*shorter)), abs=1e-6)


def test_the_model_has_its_identity_and_dimensions(model: MiniLM) -> None:
    assert model.identity == "somebody/small 1"
    assert MiniLM.dimensions == 384


# --- the parts ----------------------------------------------------------------------------------------------------


def test_the_error_function_is_as_precise_as_the_numbers() -> None:
    x = np.linspace(-12, 12, 4_801, dtype=np.float32)
    exact = np.array([exact_gelu(float(each)) for each in x])
    assert np.abs(minilm._gelu(x) - exact).max() < 1e-6 * 2
    inner = x[np.abs(x) > 0.1]
    erf = 2 * minilm._gelu(inner) / inner - 1
    assert np.abs(erf - [math.erf(float(each) / math.sqrt(2)) for each in inner]).max() < 1e-6


def test_layer_normalisation_is_that_of_float64() -> None:
    random = np.random.default_rng(2)
    x = random.normal(3, 5, (6, WIDTH)).astype(np.float32)
    part = Linear(random.normal(size=WIDTH).astype(np.float32), random.normal(size=WIDTH).astype(np.float32))
    wide = x.astype(np.float64)
    exact = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-12)
    before = x.copy()
    assert minilm._layer_norm(x, part) == pytest.approx(exact * part.weight + part.bias, abs=1e-5)
    assert (x == before).all()


@given(st.lists(st.integers(2, 256), max_size=200), st.sampled_from((1, 64, GROUP_TOKENS)))
def test_every_text_is_in_one_group_of_its_length_within_the_budget_and_the_longest_come_first(
    lengths: list[int], budget: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(minilm, "GROUP_TOKENS", budget)
        groups = list(minilm._groups(lengths))
    assert sorted(number for group in groups for number in group) == list(range(len(lengths)))
    first = [lengths[group[0]] for group in groups]
    assert first == sorted(first, reverse=True)
    for group in groups:
        assert len({lengths[number] for number in group}) == 1
        assert len(group) == 1 or len(group) * lengths[group[0]] <= budget


# --- files that are not the model ---------------------------------------------------------------------------------


def header(table: object) -> bytes:
    written = json.dumps(table).encode()
    return len(written).to_bytes(8, "little") + written


def without(name: str) -> bytes:
    return safetensors({each: tensor for each, tensor in made_up().items() if each != name})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x07",
        b"not a model at all, but a text",
        header([]),
        header({"embeddings.word_embeddings.weight": 1}),
        header({"embeddings.word_embeddings.weight": {"dtype": "F32", "shape": [2, 8], "data_offsets": [0, 64]}}),
        safetensors(made_up())[:2_000],
        safetensors(made_up())[:-2_000],
        (2**63).to_bytes(8, "little") + b"{}",
        without("encoder.layer.1.output.dense.bias"),
        without("embeddings.LayerNorm.weight"),
        safetensors(made_up()).replace(b'"shape": [16, 8]', b'"shape": [17, 8]'),
        safetensors(made_up()).replace(b'"dtype": "F32"', b'"dtype": "F16"'),
    ],
    ids=lambda data: f"{len(data)} bytes",
)
def test_a_file_that_is_not_the_model_is_reported_in_one_line(folder: Path, data: bytes) -> None:
    (folder / "model.safetensors").write_bytes(data)
    with pytest.raises(ModelError) as raised:
        MiniLM(folder, "x")
    assert str(folder) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("data", [b"", b"walrus\ncoffee\n", b"\xff\xfe"])
def test_an_invalid_vocabulary_is_reported_in_one_line(folder: Path, data: bytes) -> None:
    (folder / "vocab.txt").write_bytes(data)
    with pytest.raises(ModelError) as raised:
        MiniLM(folder, "x")
    assert str(folder) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.txt"])
def test_a_missing_file_is_reported_in_one_line(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelError, match=name) as raised:
        MiniLM(folder, "x")
    assert "\n" not in str(raised.value)


def test_several_threads_may_ask_at_once(model: MiniLM, folder: Path) -> None:
    """A server has one model for all its threads."""
    texts = [some_text(length) for length in range(1, 60)]
    alone = [MiniLM(folder, model.identity).query(each) for each in texts]
    with ThreadPoolExecutor(4) as pool:
        passages = pool.submit(model.passages, texts)
        for vectors in pool.map(lambda _: [model.query(each) for each in texts], range(8)):
            np.testing.assert_array_equal(vectors, alone)
        np.testing.assert_allclose(passages.result(), alone, atol=1e-6)
