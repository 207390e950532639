"""Fixtures shared by the tests of several benches."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from bench import corpora
from memem.core.memory import Memory
from memem.workspace import Workspace
from tests.fakes import FakeEncoder


@pytest.fixture
def with_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search the vaults of a bench by a meaning that is made up."""
    plain = corpora.vault
    monkeypatch.setenv("MEMEM_ENCODER", "minilm")

    def vault(folder: Path, memories: Iterable[Memory]) -> Workspace:
        ws = plain(folder, memories)
        ws._encoder = FakeEncoder()
        return ws

    monkeypatch.setattr(corpora, "vault", vault)
