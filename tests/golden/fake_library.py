"""A stand-in for the library sentence-transformers, so that memem finds by meaning without a model.

Texts are near each other when they share long words, or words that mean the same.
"""

import hashlib
import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

DIMENSIONS = 512
SAME_MEANING = {"credentials": "tokens", "verified": "signed", "pictures": "images", "bills": "invoices"}


class FakeModel:
    """A model of that library, as far as memem uses it."""

    def __init__(self, model: str, device: str, local_files_only: bool) -> None:
        self.max_seq_length = 256
        self.prompts = {"query": "", "document": ""}

    def encode(self, text: str, **_: Any) -> Any:
        vector = np.zeros(DIMENSIONS, np.float32)
        for word in re.findall(r"\w{4,}", text.lower()) or ["nothing"]:
            meaning = SAME_MEANING.get(word, word)
            vector[int.from_bytes(hashlib.sha256(meaning.encode()).digest()[:4]) % DIMENSIONS] += 1
        return vector / np.linalg.norm(vector)

    def encode_query(self, texts: list[str], **_: Any) -> Any:
        return np.stack([self.encode(text) for text in texts])

    encode_document = encode_query


def install_library(folder: Path) -> dict[str, str]:
    """Make the library importable in this process and its forks; returns the settings that choose it."""
    library: dict[str, dict[str, Any]] = {
        "torch": {"get_num_threads": lambda: 1, "set_num_threads": lambda _: None},
        "sentence_transformers": {"SentenceTransformer": FakeModel},
    }
    for name, attributes in library.items():
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        vars(module).update(attributes)
        sys.modules[name] = module
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    return {"MEMEM_ENCODER": "sentence-transformers", "MEMEM_EMBED_MODEL": str(folder)}
