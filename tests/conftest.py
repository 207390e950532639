"""A whole memory home in a temporary folder, for every test; the real one is out of reach."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import hypothesis
import pytest

from memem.core.surroundings import Surroundings
from memem.doors.api.home import MemoryHome
from memem.inject import notices
from memem.notes import save
from memem.search import vectors
from memem.search.encoders import weights
from memem.search.encoders.weights import ModelFile
from memem.workspace import Workspace
from tests import fake_claude
from tests.builders import QUIET, open_home
from tests.fakes import FakeEncoder, SteppingClock
from tests.transcripts import ECHO, Transcript, open_miner

hypothesis.settings.register_profile(
    "memem", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
hypothesis.settings.register_profile("quick", hypothesis.settings.get_profile("memem"), max_examples=20)

WEIGHTS = os.environ.get("MEMEM_TEST_WEIGHTS")
REQUIRED = os.environ.get("MEMEM_TEST_REQUIRE", "").split()
MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - thousands of small folders take a third of the time there
MIN_FREE_BYTES = 2 * 1024**3
_PATH = os.environ["PATH"].split(os.pathsep)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out slow tests, and try a fifth of the examples")


def pytest_configure(config: pytest.Config) -> None:
    """Load the profile before test modules are imported: they scale their own numbers by it."""
    hypothesis.settings.load_profile("quick" if config.getoption("--quick") else "memem")
    if can_hold_tests(MEMORY_DISK):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_DISK))


def can_hold_tests(folder: Path) -> bool:
    """Whether tests can keep their files here, and start the programs among them."""
    return (
        os.access(folder, os.W_OK)
        and not os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0)
        and shutil.disk_usage(folder).free > MIN_FREE_BYTES
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        left_out = find_slow(items)
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=list(left_out))


def find_slow(items: list[pytest.Item]) -> set[pytest.Item]:
    """All cases of slow tests, except as many of each as its marker keeps, evenly spread."""
    cases: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow"):
            cases.setdefault((item.path, getattr(item, "originalname", item.name)), []).append(item)
    slow: set[pytest.Item] = set()
    for each in cases.values():
        marker = each[0].get_closest_marker("slow")
        keep = min(marker.kwargs.get("keep", 0) if marker else 0, len(each))
        slow |= set(each) - {each[len(each) * number // keep] for number in range(keep)}
    return slow


def skip_or_fail(what: str, reason: str) -> NoReturn:
    """Skip a test whose requirement is missing; fail where CI requires it."""
    if what in REQUIRED:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def weights_folder() -> Path:
    """The real weights, if there are any."""
    if not WEIGHTS:
        skip_or_fail(
            "weights", "needs the weights: MEMEM_TEST_WEIGHTS, which ./bootstrap.sh test sets once they are fetched"
        )
    return Path(WEIGHTS)


@pytest.fixture(autouse=True)
def _away_from_the_real_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("MEMEM_", "CLAUDE", "HF_", "HUGGINGFACE_", "XDG_")):
            monkeypatch.delenv(name)
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr(notices, "FIRST_SESSIONS", -1)  # most tests are about users who have seen the first sessions
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", os.pathsep.join(place for place in _PATH if not Path(place, "claude").exists()))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(Surroundings, "prefix", tmp_path / "environment")  # what an uninstall would remove


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture
def ws(tmp_path: Path, clock: SteppingClock) -> Iterator[Workspace]:
    """An empty memory home, and a vault that does not exist yet."""
    opened = open_home(tmp_path, clock, os.environ)
    yield opened
    opened.close()


@pytest.fixture
def mem(ws: Workspace) -> MemoryHome:
    """The Python API over the same home, with one memory in it, so that the vault exists."""
    save.save(ws, "The house is painted yellow.", title="House", project="general")
    return MemoryHome(ws)


@pytest.fixture
def memories(ws: Workspace) -> Path:
    """The folder the notes are in."""
    return ws.store.paths.memories


@pytest.fixture
def encoder() -> Iterator[FakeEncoder]:
    """An encoder to which some words mean the same."""
    fake = FakeEncoder(means={"automobile": "vehicle", "lorry": "vehicle", "repaired": "mended"})
    yield fake
    fake.gate.set()  # whoever still waits may go


@pytest.fixture
def meant(ws: Workspace, encoder: FakeEncoder) -> Workspace:
    """The same home, searched by meaning too."""
    ws.settings = replace(ws.settings, encoder="minilm")
    ws._encoder = encoder
    return ws


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The folder of a project that is worked in."""
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def _eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few unused vectors be enough to be dropped."""
    monkeypatch.setattr(vectors, "MIN_WASTED_ROWS", 2)


@pytest.fixture
def small_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the hub's cache, with weights in it that are as published, and small."""
    content = {"vocab.txt": b"[PAD]\n", "model.safetensors": b"tensors"}
    published = [ModelFile(name, len(data), hashlib.sha256(data).hexdigest()) for name, data in content.items()]
    monkeypatch.setattr(weights, "FILES", tuple(published))
    hub = tmp_path / "user" / ".cache" / "huggingface" / "hub"
    folder = hub / f"models--{weights.MODEL.replace('/', '--')}" / "snapshots" / weights.REVISION
    folder.mkdir(parents=True)
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """A folder with a claude in it that makes a memory of every fact it is sent, in other words each time."""
    fake_claude.install(tmp_path / "claude", [ECHO])
    return tmp_path / "claude"


@pytest.fixture
def miner(tmp_path: Path, clock: SteppingClock, claude: Path) -> Iterator[Workspace]:
    """An empty memory home that asks that claude."""
    opened = open_miner(tmp_path, clock)
    yield opened
    opened.close()


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """Where Claude Code keeps the sessions of a project."""
    return tmp_path / "user" / ".claude" / "projects" / "-srv-shop"


@pytest.fixture
def session(sessions: Path) -> Transcript:
    """A session that has just begun."""
    return Transcript(sessions / "s1.jsonl")
