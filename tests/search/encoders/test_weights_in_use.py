"""Our encoder over the real weights: the vectors that sentence-transformers gives, written down."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memem.notes import save
from memem.search import find
from memem.search.encoders.minilm import MiniLM
from memem.workspace import Workspace
from tests.parity.texts import PLAIN

# The first six numbers of each text's vector by sentence-transformers 6.2.0 and torch 2.13.0.
BEGINNINGS = {
    "": [-0.1188, 0.0483, -0.0025, -0.011, 0.052, 0.0103],
    PLAIN[0]: [-0.0117, 0.0107, -0.0614, -0.035, -0.0159, -0.027],
    PLAIN[1]: [-0.0093, -0.0118, -0.0189, -0.0037, 0.0365, -0.0444],
    PLAIN[2]: [-0.0045, 0.1411, 0.0408, -0.0362, -0.0044, 0.1003],
    PLAIN[3]: [0.0122, 0.0703, 0.0154, -0.0417, -0.0269, 0.031],
    PLAIN[4]: [-0.0204, 0.1395, -0.0255, -0.0487, -0.0417, -0.0677],
    PLAIN[5]: [-0.0193, 0.1272, 0.0235, -0.0222, -0.0125, 0.0269],
    PLAIN[6]: [-0.0495, -0.0018, -0.0223, 0.0115, -0.0719, -0.051],
    PLAIN[7]: [-0.0599, -0.0118, -0.0172, -0.0456, -0.0218, -0.01],
}


@pytest.fixture(scope="module")
def encoder(weights_folder: Path) -> MiniLM:
    return MiniLM(weights_folder, "real")


def test_the_vectors_are_those_of_sentence_transformers(encoder: MiniLM) -> None:
    vectors = encoder.passages(list(BEGINNINGS))
    np.testing.assert_allclose(vectors[:, :6], list(BEGINNINGS.values()), atol=1e-4)


def test_a_query_has_the_vector_that_it_has_as_a_passage(encoder: MiniLM) -> None:
    for text in (PLAIN[0], PLAIN[2]):
        np.testing.assert_allclose(encoder.query(text), encoder.passages([text])[0], atol=1e-5)


def test_a_paraphrase_is_found(ws: Workspace, weights_folder: Path) -> None:
    ws.settings = replace(ws.settings, encoder="minilm", model_dir=weights_folder, query_seconds=600)
    save.save(ws, "Access tokens are signed with RS256, because the gateway must verify them.", title="Signing")
    save.save(ws, "Every amount is an integer number of cents; floats are rejected.", title="Money")
    found = find.search(ws, "which cryptographic algorithm protects a login?")
    assert found.degraded == ""
    assert (found[0].title, found[0].source) == ("Signing", "cosine")


def test_a_deadline_that_cannot_be_met_leaves_it_to_the_keywords(ws: Workspace, weights_folder: Path) -> None:
    ws.settings = replace(ws.settings, encoder="minilm", model_dir=weights_folder, query_seconds=0)
    save.save(ws, "Access tokens are signed with RS256.", title="Signing")
    found = find.search(ws, "tokens")
    assert [hit.source for hit in found] == ["keyword"]
    assert "not ready within 0 s" in found.degraded
