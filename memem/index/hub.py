"""One file of a hub over HTTPS: continued where it was cut, and never longer than it should be."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from memem.core import files
from memem.index import weights
from memem.index.weights import ModelFile

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


def told(error: Exception | str) -> str:
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
            raise Unavailable(f"{self.url} answers {error.code} {told(error)}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise Unavailable(f"{self.url} cannot be reached ({told(error)})") from None
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
            raise _CutOff(told(error)) from None
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
