"""all-MiniLM-L6-v2 in numpy, over the unmodified `model.safetensors`: sentence-transformers' vectors without torch."""

import mmap
import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memem.core import files
from memem.core.errors import ModelError
from memem.core.files import from_json
from memem.search.encoders.interface import PASSAGE_TOKENS, QUERY_TOKENS, Vectors
from memem.search.encoders.wordpiece import WordPiece

LAYERS, HEADS, WIDTH = 6, 12, 384
EPSILON = np.float32(1e-12)
GROUP_TOKENS = 2_048  # computed together: enough for BLAS to work at its best, few enough for the processor's cache
BLOCK = 256  # rows of the widest product computed at once, for the same reason


class Linear(NamedTuple):
    weight: Vectors
    bias: Vectors


Layer = dict[str, Linear]  # its parts by their names in the file
_LAYER_PARTS = (
    *("attention.self.query", "attention.self.key", "attention.self.value"),
    *("attention.output.dense", "attention.output.LayerNorm"),
    *("intermediate.dense", "output.dense", "output.LayerNorm"),
)


class MiniLM:
    dimensions = WIDTH
    multilingual = False

    def __init__(self, folder: Path, identity: str) -> None:
        self.identity = identity
        try:
            tensors = _tensors(folder / "model.safetensors")
            self._tokens = WordPiece((folder / "vocab.txt").read_text(encoding="utf-8"))
            self._words = tensors["embeddings.word_embeddings.weight"]
            self._positions = tensors["embeddings.position_embeddings.weight"]
            self._kind = tensors["embeddings.token_type_embeddings.weight"][0]
            self._norm = Linear(tensors["embeddings.LayerNorm.weight"], tensors["embeddings.LayerNorm.bias"])
            self._layers = [Layer() for _ in range(LAYERS)]
            for number, layer in enumerate(self._layers):
                for part in _LAYER_PARTS:
                    name = f"encoder.layer.{number}.{part}"
                    layer[part] = Linear(tensors[f"{name}.weight"].T, tensors[f"{name}.bias"])
        except OSError as error:
            raise ModelError(f"Cannot read the model file {error.filename}: {files.reason(error)}.") from None
        except (ValueError, LookupError, TypeError, AttributeError):
            raise ModelError(f"{folder} does not contain all-MiniLM-L6-v2. Run `memem index model fetch`.") from None

    def query(self, text: str) -> Vectors:
        vector: Vectors = self._forward(np.array([self._tokens.ids(text, QUERY_TOKENS)]))[0]
        return vector

    def passages(self, texts: Sequence[str]) -> Vectors:
        from concurrent.futures import ThreadPoolExecutor  # a query does without

        vectors = np.empty((len(texts), WIDTH), np.float32)
        tokens = [self._tokens.ids(text, PASSAGE_TOKENS) for text in texts]

        def compute(group: list[int]) -> None:
            vectors[group] = self._forward(np.array([tokens[number] for number in group]))

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(compute, _groups([len(ids) for ids in tokens])))
        return vectors

    def _forward(self, ids: NDArray[np.int64]) -> Vectors:
        """Compute the vectors of texts that have the same number of tokens: a row of ids each."""
        count, length = ids.shape
        x = _layer_norm(self._words[ids] + (self._positions[:length] + self._kind), self._norm).reshape(-1, WIDTH)
        for layer in self._layers:
            attended = _linear(_attention(x, layer, count, length), layer["attention.output.dense"])
            x = _layer_norm(np.add(attended, x, out=attended), layer["attention.output.LayerNorm"])
            x = _feed_forward(x, layer)
        mean: Vectors = np.mean(x.reshape(count, length, WIDTH), axis=1)
        mean /= np.linalg.norm(mean, axis=1, keepdims=True)
        return mean


def _attention(x: Vectors, layer: Layer, count: int, length: int) -> Vectors:
    query, key, value = (
        _linear(x, layer[f"attention.self.{part}"]).reshape(count, length, HEADS, -1).transpose(0, 2, 1, 3)
        for part in ("query", "key", "value")
    )
    query *= np.float32((WIDTH // HEADS) ** -0.5)
    share: Vectors = query @ key.transpose(0, 1, 3, 2)
    share -= share.max(axis=-1, keepdims=True)
    np.exp(share, out=share)
    share /= share.sum(axis=-1, keepdims=True)
    attended: Vectors = share @ value
    return attended.transpose(0, 2, 1, 3).reshape(-1, WIDTH)


def _feed_forward(x: Vectors, layer: Layer) -> Vectors:
    out = np.empty_like(x)
    for start in range(0, len(x), BLOCK):
        block = x[start : start + BLOCK]
        narrow = _linear(_gelu(_linear(block, layer["intermediate.dense"])), layer["output.dense"])
        out[start : start + BLOCK] = _layer_norm(np.add(narrow, block, out=narrow), layer["output.LayerNorm"])
    return out


def _linear(x: Vectors, part: Linear) -> Vectors:
    out: Vectors = x @ part.weight
    out += part.bias
    return out


def _layer_norm(x: Vectors, part: Linear) -> Vectors:
    x = x - x.mean(axis=-1, keepdims=True)
    variance = np.einsum("...i,...i->...", x, x)[..., None] / np.float32(WIDTH)
    x /= np.sqrt(variance + EPSILON)
    x *= part.weight
    x += part.bias
    return x


# Abramowitz and Stegun, 7.1.26: the error function within 1.5e-7, which is the precision of float32.
_P = np.float32(0.3275911)
_A = tuple(map(np.float32, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)))


def _gelu(x: Vectors) -> Vectors:
    """x/2 (1 + erf(x/√2)), computed as (x + |x| erf(|x|/√2)) / 2, in few passes and few copies."""
    size = np.abs(x)
    z = size * np.float32(0.5**0.5)
    t = z * _P
    t += 1
    np.reciprocal(t, out=t)
    series = t * _A[0]
    for coefficient in _A[1:]:
        series += coefficient
        series *= t
    z *= z
    np.negative(z, out=z)
    np.exp(z, out=z)
    series *= z
    np.subtract(1, series, out=series)
    series *= size
    series += x
    series *= np.float32(0.5)
    return series


def _groups(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group texts of one length, which need no padding; the longest first, so that no core ends up with them."""
    longest_first = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    for length, numbers in groupby(longest_first, key=lengths.__getitem__):
        same, most = list(numbers), max(1, GROUP_TOKENS // length)
        yield from (same[start : start + most] for start in range(0, len(same), most))


def _tensors(path: Path) -> dict[str, Vectors]:
    """Map a safetensors file: eight bytes of length, a JSON table of names, shapes and offsets, the numbers."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in from_json(data[8:start]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(data, np.float32, (end - begin) // 4, start + begin).reshape(entry["shape"])
    return tensors
