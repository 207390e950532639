"""The reference encoder and the way to any other model: the library sentence-transformers, an extra of memem."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memem.core.errors import ModelError
from memem.index import weights
from memem.index.encoder import QUERY_TOKENS, Vectors

_WEIGHT_FILES = ("model.safetensors", "pytorch_model.bin")


class SentenceEncoder:
    """A model of sentence-transformers, by its name on the hub or its folder."""

    def __init__(self, model: str, *, download: bool = False) -> None:
        """Load what is on this machine; only `download` goes to the hub."""
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ImportError as problem:
            raise ModelError(
                f"The encoder sentence-transformers is not installed ({problem}). Install memem's extra of that name, "
                "or set MEMEM_ENCODER=minilm."
            ) from None
        try:
            self._model: Any = SentenceTransformer(model, device="cpu", local_files_only=not download)
        except Exception as problem:  # noqa: BLE001 - a library of many others, each with errors of its own
            raise ModelError(
                f"sentence-transformers cannot load {model!r} ({_line(problem)}). "
                "`memem model fetch` gets it from the hub; MEMEM_EMBED_MODEL names another, or a folder."
            ) from None
        self._torch = torch
        self._alone = threading.Lock()  # how long a text may be is a property of the model, not of a call
        self._cores = torch.get_num_threads()
        self._longest = self._model.max_seq_length
        self.dimensions = len(self._model.encode("", **_QUIETLY))
        self.identity = _identity(model)
        self.multilingual = self.identity != weights.IDENTITY  # of others we know nothing, and their user chose them

    def query(self, text: str) -> Vectors:
        with self._alone:
            self._model.max_seq_length = min(QUERY_TOKENS, self._longest or QUERY_TOKENS)
            self._torch.set_num_threads(1)
            try:
                vector: Vectors = self._vectors(self._model.encode_query, [text])[0]
            finally:
                self._torch.set_num_threads(self._cores)
                self._model.max_seq_length = self._longest
        return vector

    def passages(self, texts: Sequence[str]) -> Vectors:
        with self._alone:
            return self._vectors(self._model.encode_document, list(texts))

    def _vectors(self, encode: Callable[..., Any], texts: list[str]) -> Vectors:
        try:
            rows = encode(texts, **_QUIETLY)
        except Exception as problem:
            raise ModelError(f"sentence-transformers failed ({_line(problem)}).") from problem
        return np.asarray(rows, np.float32).reshape(-1, self.dimensions)


_QUIETLY = {"show_progress_bar": False, "normalize_embeddings": True, "convert_to_numpy": True}


def _line(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200]


def _identity(model: str) -> str:
    """The model's name and its weights' checksum; for our own model the same as that of our own encoder."""
    snapshot = None if Path(model).is_dir() else _snapshot(model)
    folder = snapshot or Path(model)
    path = next((folder / name for name in _WEIGHT_FILES if (folder / name).is_file()), None)
    # Weights in several files are known by the revision of the hub that they came with.
    checksum = weights.sha256_of(path) if path else snapshot.name if snapshot else "unknown"
    return weights.IDENTITY if checksum in weights.IDENTITY else f"{model} {checksum}"


def _snapshot(model: str) -> Path | None:
    """The folder of the hub's cache, named after a revision, that a model was loaded from."""
    from huggingface_hub import try_to_load_from_cache

    repository = model if "/" in model else f"sentence-transformers/{model}"
    found = try_to_load_from_cache(repository, "modules.json") or try_to_load_from_cache(repository, "config.json")
    return Path(found).parent if isinstance(found, str) else None
