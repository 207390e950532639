"""The reference encoder, for any other model: the library sentence-transformers, an extra of memem."""

import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from memem.core.errors import ModelError
from memem.search.encoders import weights
from memem.search.encoders.interface import QUERY_TOKENS, Vectors

_WEIGHT_FILES = ("model.safetensors", "pytorch_model.bin")
_MULTILINGUAL = re.compile(r"multi-?lingual|labse|bge-m3|xlm", re.IGNORECASE)  # in the name of a model or folder
# Sentences, and the most tokens per character for a model that learned the language; others see letters or bytes.
_PROBES = (
    ("数据库连接池的大小决定了能同时处理多少请求", 1.1),
    ("データベース接続プールの大きさは設定にある", 0.9),
    ("데이터베이스 연결 풀의 크기는 설정에 있다", 0.9),
    ("Размер пула соединений базы данных хранится в настройках", 0.4),
    ("حجم مجموعة اتصالات قاعدة البيانات محفوظ في الإعدادات", 0.4),
)
# The prefixes of queries and passages that a model was trained with, where its files do not state them.
_PROMPTS = (
    (re.compile(r"(?:^|[/\\-])e5-(?:small|base|large)(?:-v2)?(?=$|[/\\])"), ("query: ", "passage: ")),
    (re.compile(r"(?:^|[/\\-])e5-large-instruct(?=$|[/\\])"), ("Instruct: Find notes that help.\nQuery: ", "")),
)


class SentenceEncoder:
    def __init__(self, model: str, *, download: bool = False) -> None:
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ImportError as problem:
            raise ModelError(
                f"The sentence-transformers encoder is not installed ({problem}). "
                "Install memem's sentence-transformers extra, or set MEMEM_ENCODER=minilm."
            ) from None
        if not download:
            with suppress(ImportError, AttributeError):
                from transformers.utils import logging

                logging.disable_progress_bar()  # it would be drawn on standard error
        try:
            self._model: Any = SentenceTransformer(model, device="cpu", local_files_only=not download)
        except Exception as problem:  # noqa: BLE001 - a library of many others, each with errors of its own
            raise ModelError(
                f"sentence-transformers cannot load {model!r} ({_line(problem)}). "
                "Run `memem index model fetch` to download it, or set MEMEM_EMBED_MODEL to another model or a folder."
            ) from None
        self._torch = torch
        self._alone = threading.Lock()  # how long a text may be is a property of the model, not of a call
        self._cores = torch.get_num_threads()
        self._longest = self._model.max_seq_length
        self.dimensions = len(self._model.encode("", **_QUIETLY))
        self.identity = _identity(model)
        prompts = next((prompts for pattern, prompts in _PROMPTS if pattern.search(model)), None)
        if prompts and not any(self._model.prompts.values()):
            self._model.prompts.update(zip(("query", "document"), prompts, strict=True))
            self.identity += " prompted"
        self.multilingual = self.identity != weights.IDENTITY and _is_multilingual(model, self._model)

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


def _is_multilingual(name: str, model: Any) -> bool:
    if _MULTILINGUAL.search(name):
        return True
    try:
        for text, most in _PROBES:
            tokens = model.tokenizer(text, add_special_tokens=False)["input_ids"]
            if model.tokenizer.unk_token_id not in tokens and len(tokens) <= most * len(text):
                return True
    except Exception:  # noqa: BLE001 - there are models without a tokenizer, and tokenizers of many kinds
        return True
    return False


def _identity(model: str) -> str:
    """The model's name and its weights' checksum; for all-MiniLM-L6-v2 the identity of our own encoder."""
    snapshot = None  # the folder of the hub's cache that a model was loaded from; it is named after a revision
    if not Path(model).is_dir():
        from huggingface_hub import try_to_load_from_cache

        repository = model if "/" in model else f"sentence-transformers/{model}"
        cached = try_to_load_from_cache(repository, "modules.json") or try_to_load_from_cache(repository, "config.json")
        snapshot = Path(cached).parent if isinstance(cached, str) else None
    folder = snapshot or Path(model)
    path = next((folder / name for name in _WEIGHT_FILES if (folder / name).is_file()), None)
    # Weights in several files are identified by their revision on the hub.
    checksum = weights.sha256_of(path) if path else snapshot.name if snapshot else "unknown"
    return weights.IDENTITY if checksum in weights.IDENTITY else f"{model} {checksum}"
