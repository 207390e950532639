"""Three versions of Claude Code, the plugin in a folder with an awkward name, and a home in which it is installed."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.conftest import WEIGHTS, skip_or_fail
from tests.e2e.claude_code import Machine, copy_of_the_plugin, install
from tests.e2e.model_stub import ModelStub, model_stub

CLAUDES = {
    "2.1.325": os.environ.get("MEMEM_TEST_CLAUDE"),
    "2.1.197": os.environ.get("MEMEM_TEST_CLAUDE_OLD"),
    "2.1.326": os.environ.get("MEMEM_TEST_CLAUDE_NEW"),
}
THOROUGH = ("2.1.325", "2.1.197")
"""Versions for the long tests. The newest one differs little from the main one and gets the short tests only."""
PATIENT = {"MCP_CONNECTION_NONBLOCKING": "false"}
"""No prompt is sent before the server is up: on a busy machine that takes longer than Claude Code waits by itself."""
AWKWARD = "it's “my” folder 記憶"
MODEL = {"MEMEM_MODEL_DIR": WEIGHTS} if WEIGHTS else {"MEMEM_ENCODER": "none"}


def claude(version: str) -> Path:
    """The executable of a version, if this machine has it."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("looks for processes that are left behind in /proc, which is not here")
    command = CLAUDES[version]
    if not command:
        skip_or_fail("claude", f"needs Claude Code {version}: .ci/claude installs it and sets MEMEM_TEST_CLAUDE*")
    return Path(command).absolute()


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with model_stub() as listening:
        yield listening


@pytest.fixture(scope="session")
def runtime() -> Iterator[str]:
    """Where sockets go whose path would be too long: nothing of it is to stay on the real machine."""
    with TemporaryDirectory(prefix="memem-") as folder:
        yield folder


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_the_plugin(tmp_path_factory.mktemp("plugin") / AWKWARD)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, plugin: Path) -> Callable[[str], Path]:
    """Homes with the plugin installed and its environment made, one for each version, made when first asked for."""
    homes: dict[str, Path] = {}

    def home_of(version: str) -> Path:
        if version not in homes:
            home = tmp_path_factory.mktemp("home") / AWKWARD
            with model_stub() as stub:
                machine = Machine(claude(version), home, stub, dict(MODEL))
                install(machine, plugin)
            machine.set_up(plugin)
            homes[version] = machine.home
        return homes[version]

    return home_of


@pytest.fixture
def machine_of(
    prepared: Callable[[str], Path], stub: ModelStub, runtime: str, tmp_path: Path
) -> Iterator[Callable[[str], Machine]]:
    """A machine on which the plugin is ready, with a memory of this test alone; at its end nothing runs there."""
    machines: list[Machine] = []

    def of(version: str) -> Machine:
        own = {
            "MEMEM_DIR": str(tmp_path / AWKWARD / "memem"),
            "MEMEM_OBSIDIAN_VAULT": str(tmp_path / AWKWARD / "vault"),
            "XDG_RUNTIME_DIR": runtime,
            "MEMEM_MINE_SDK": "1",  # sessions here are started with -p
        }
        machine = Machine(claude(version), prepared(version), stub, MODEL | PATIENT | own)
        machines.append(machine)
        return machine

    yield of
    for machine in machines:
        machine.settle()
        assert machine.trouble() == ""


@pytest.fixture
def machine(machine_of: Callable[[str], Machine]) -> Machine:
    return machine_of("2.1.325")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder that is worked in."""
    folder = tmp_path / AWKWARD / "shop"
    folder.mkdir(parents=True)
    return folder
