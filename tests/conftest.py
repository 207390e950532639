"""A whole memory home in a temporary folder, for every test; the real one is out of reach."""

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from memem.doors.api import MemoryHome
from memem.flows import remember
from memem.workspace import Workspace, open_workspace
from tests.fakes import SteppingClock

hypothesis.settings.register_profile(
    "memem", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
hypothesis.settings.load_profile("memem")


@pytest.fixture(autouse=True)
def _away_from_the_real_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("MEMEM_", "CLAUDE")):
            monkeypatch.delenv(name)
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("MEMEM_FSYNC", "0")
    monkeypatch.setenv("MEMEM_ENCODER", "none")  # most tests are about words; those about meaning say so
    monkeypatch.setenv("MEMEM_BACKGROUND", "0")
    monkeypatch.chdir(folder)


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture
def ws(tmp_path: Path, clock: SteppingClock) -> Iterator[Workspace]:
    """An empty memory home, and a vault that does not exist yet."""
    opened = open_workspace(
        actor="test", home=tmp_path / "home", vault=tmp_path / "vault", clock=clock, ticks=clock.ticks
    )
    yield opened
    opened.close()


@pytest.fixture
def mem(ws: Workspace) -> MemoryHome:
    """The Python API over the same home, with one memory in it, so that the vault exists."""
    remember.save(ws, "The house is painted yellow.", title="House", project="general")
    return MemoryHome(ws)


@pytest.fixture
def memories(ws: Workspace) -> Path:
    """The folder the notes are in."""
    return ws.store.paths.memories
