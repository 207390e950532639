"""Shared by the engine tests: a short folder for sockets, and a client that sends any bytes."""

import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memem.doors.engine.protocol import Reply, Request

LONG = 20.0
"""Longer than anything takes; a test waits so long only when it fails."""


@contextmanager
def short_folder() -> Iterator[Path]:
    """A private folder whose path leaves room for a socket's name."""
    with tempfile.TemporaryDirectory(prefix="memem-") as name:
        yield Path(name)


def asking(name: str = "ping", body: bytes = b"", **facts: str) -> Request:
    return Request("tool", name, facts, body)


def echo(request: Request) -> Reply:
    return Reply("done", request.body)


def never(request: Request) -> Reply:
    raise AssertionError(f"{request.name} should not have been answered")


@contextmanager
def connected(address: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(LONG)
        client.connect(str(address))
        yield client


def everything(client: socket.socket) -> bytes:
    """Receive until the other side closes."""
    received = b""
    try:
        while part := client.recv(65_536):
            received += part
    except ConnectionResetError:
        pass  # it closed with something of ours unread
    return received


def send_and_receive(address: Path, data: bytes) -> bytes:
    """Send bytes and return the answer."""
    with connected(address) as client:
        with suppress(BrokenPipeError):  # it may close before it has read a word
            client.sendall(data)
        return everything(client)
