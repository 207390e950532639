"""One HTTP request to a model's server: by a deadline, of bounded size, with no proxy and no redirect."""

import ipaddress
import json
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection, IncompleteRead
from typing import Any
from urllib.parse import urlsplit

from memem.core import files
from memem.core.errors import CallFailed, ModelMissing, NotLoggedIn, Overloaded, TookTooLong

MAX_ANSWER_BYTES = 5_000_000  # an answer with a hundred lessons has a hundredth
CONNECT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class HttpReply:
    status: int
    headers: HTTPMessage
    body: bytes


@dataclass(frozen=True, slots=True)
class Server:
    """The server at `url`, which has no password in it; `key` is sent there and nowhere else."""

    url: str
    key: str

    def get(self, path: str, seconds: float) -> HttpReply:
        return self._send("GET", path, None, seconds)

    def post(self, path: str, content: Mapping[str, Any], seconds: float) -> HttpReply:
        return self._send("POST", path, json.dumps(content).encode(), seconds)

    def _send(self, method: str, path: str, body: bytes | None, seconds: float) -> HttpReply:
        address = urlsplit(self.url)
        kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
        connection = kind(address.hostname or "", address.port, timeout=min(seconds, CONNECT_SECONDS))
        deadline = _Deadline(seconds)
        too_long = TookTooLong(f"{self.url} did not answer within {round(seconds, 1):g} seconds. Nothing is lost.")
        try:
            self._connect(connection, is_private_only=address.scheme == "http")
            connection.sock.settimeout(seconds)
            deadline.applies_to(connection.sock)
            connection.request(method, f"{address.path}{path}", body, self._headers())
            with connection.getresponse() as response:
                reply = self._receive(response)
        except TimeoutError:
            raise too_long from None
        except (OSError, HTTPException) as error:
            raise (too_long if deadline.is_over else self._ended_early(error)) from None
        finally:
            deadline.cancel()
            connection.close()
        if deadline.is_over:  # the end of a connection may pass for the end of an answer
            raise too_long
        return reply

    def _connect(self, connection: HTTPConnection, *, is_private_only: bool) -> None:
        try:
            connection.connect()
        except (OSError, ValueError) as error:
            reason = files.reason(error) if isinstance(error, OSError) else "it is not a valid host name"
            problem = f"The model's server {self.url} cannot be reached ({reason})."
            raise Overloaded(f"{problem} Start it, or correct MEMEM_MODEL_URL; nothing is lost.") from None
        if is_private_only and not is_private(connection.sock.getpeername()[0]):  # nothing has been sent yet
            problem = f"{self.url} is not encrypted, and its host is not on this machine or a private network."
            raise ModelMissing(f"{problem} Use an https:// address in MEMEM_MODEL_URL.")

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "memem"}
        if not self.key:
            return headers
        if not self.key.isascii() or not self.key.isprintable() or " " in self.key:
            raise NotLoggedIn(
                "MEMEM_MODEL_KEY contains characters that are not allowed in a key. Correct it; nothing is lost."
            )
        return headers | {"Authorization": f"Bearer {self.key}"}

    def _receive(self, response: HTTPResponse) -> HttpReply:
        body = bytearray()
        while piece := response.read1(1 << 16):
            body += piece
            if len(body) > MAX_ANSWER_BYTES:
                raise CallFailed(f"{self.url} sent more than {MAX_ANSWER_BYTES:,} bytes and was stopped.")
        if response.length:  # bytes that were announced and did not come
            raise IncompleteRead(bytes(body), response.length)
        return HttpReply(response.status, response.headers, bytes(body))

    def _ended_early(self, error: OSError | HTTPException) -> Overloaded:
        reason = (files.reason(error) if isinstance(error, OSError) else "") or "the connection ended"
        return Overloaded(f"{self.url} gave no complete answer ({reason}). Look at the server's log; nothing is lost.")


def is_private(address: str) -> bool:
    """Whether an address is on this machine or a private network, which plain http may be sent to."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(parsed, "ipv4_mapped", None)
    return not (mapped or parsed).is_global


class _Deadline:
    """Ends a connection after some seconds, also one on which a little arrives from time to time."""

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()
        self.cancel = self._timer.cancel

    def applies_to(self, connected: socket.socket) -> None:
        self._socket = connected  # http.client forgets it once the answer begins
        if self.is_over:
            raise TimeoutError

    def _end(self) -> None:
        self.is_over = True
        with suppress(OSError):  # closed already
            if self._socket:
                self._socket.shutdown(socket.SHUT_RDWR)
