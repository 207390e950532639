"""The engine's protocol, and proof that both ends of the socket are the same user's.

    memem 1 hook UserPromptSubmit 120 512     then 120 bytes of facts, each NAME=value and a NUL, and 512 of body
    memem 1 done 2048                         then 2048 bytes: the answer

One request per connection, which the client keeps open until the reply. It is this simple because the prompt hook
implements it with few imports.
"""

import os
import re
import socket
import stat
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memem.core import files
from memem.core.errors import HomeError

PROTOCOL = 1
MOST_FACTS = 64 * 1024
MOST_BODY = 4 * 1024 * 1024
MOST_REPLY = 1024 * 1024
MOST_SECONDS = 86_400.0

DONE, OTHER, FAILED = "done", "other", "failed"  # other: the engine serves another home, version or settings

_LONGEST_LINE = 128
_REQUEST = re.compile(rb"memem 1 (hook|tool) ([A-Za-z_]{1,64}) ([0-9]{1,7}) ([0-9]{1,7})")
_REPLY = re.compile(rb"memem 1 (done|other|failed) ([0-9]{1,7})")
_FACT = re.compile(rb"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


class ProtocolError(Exception):
    """Not a valid request or reply, or not in time. It ends the connection and nothing else."""


@dataclass(frozen=True, slots=True)
class Request:
    """A `hook` event or a call of a `tool`. The facts describe the client."""

    kind: str
    name: str
    facts: Mapping[str, str]
    body: bytes

    @property
    def seconds(self) -> float | None:
        """How long the client will wait, if it says so."""
        return float(self.facts["seconds"]) if "seconds" in self.facts else None


@dataclass(frozen=True, slots=True)
class Reply:
    outcome: str
    body: bytes = b""


def encode_request(request: Request) -> bytes:
    """Encode a request. Raises ProtocolError if the other side would refuse it."""
    try:
        facts = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in request.facts.items())
    except UnicodeEncodeError:
        raise ProtocolError("a fact is not text") from None
    head = f"memem {PROTOCOL} {request.kind} {request.name} {len(facts)} {len(request.body)}"
    _check_request(head.encode("ascii", "replace"))
    if _decode_facts(facts) != dict(request.facts):
        raise ProtocolError("a fact cannot be encoded")
    return head.encode() + b"\n" + facts + request.body


def encode_reply(reply: Reply) -> bytes:
    """Raises ProtocolError if it is too long."""
    head = f"memem {PROTOCOL} {reply.outcome} {len(reply.body)}".encode("ascii", "replace")
    _check_reply(head)
    return head + b"\n" + reply.body


def read_request(connection: socket.socket, deadline: float) -> Request:
    """Raises ProtocolError if it is invalid or incomplete at the deadline."""
    incoming = _Incoming(connection, deadline)
    kind, name, facts_length, body_length = _check_request(incoming.line())
    facts = _decode_facts(incoming.exactly(facts_length))
    return Request(kind, name, facts, incoming.exactly(body_length))


def read_reply(connection: socket.socket, deadline: float) -> Reply:
    """Raises ProtocolError if it is invalid or incomplete at the deadline."""
    incoming = _Incoming(connection, deadline)
    outcome, length = _check_reply(incoming.line())
    return Reply(outcome, incoming.exactly(length))


def send(connection: socket.socket, data: bytes, deadline: float) -> None:
    """Raises ProtocolError if the other side does not read it in time."""
    try:
        connection.settimeout(_left(deadline))
        connection.sendall(data)
    except OSError as problem:
        raise ProtocolError(f"cannot be sent: {problem}") from None


def is_gone(connection: socket.socket) -> bool:
    try:
        connection.setblocking(False)
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


class _Incoming:
    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection, self._deadline, self._read = connection, deadline, bytearray()

    def line(self) -> bytes:
        while b"\n" not in self._read:
            if len(self._read) > _LONGEST_LINE:
                raise ProtocolError("the line is too long")
            self._receive(_LONGEST_LINE)
        line, _, rest = bytes(self._read).partition(b"\n")
        self._read = bytearray(rest)
        return line

    def exactly(self, length: int) -> bytes:
        while len(self._read) < length:
            self._receive(length - len(self._read))
        taken = bytes(self._read[:length])
        del self._read[:length]
        return taken

    def _receive(self, most: int) -> None:
        try:
            self._connection.settimeout(_left(self._deadline))
            received = self._connection.recv(min(most, 65_536))
        except OSError as problem:
            raise ProtocolError(f"cannot be read: {problem}") from None
        if not received:
            raise ProtocolError("the message is incomplete")
        self._read += received


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise ProtocolError("too late")
    return left


def _check_request(line: bytes) -> tuple[str, str, int, int]:
    found = _REQUEST.fullmatch(line)
    if not found:
        raise ProtocolError("not a request")
    facts, body = int(found[3]), int(found[4])
    if facts > MOST_FACTS or body > MOST_BODY:
        raise ProtocolError("the request is too long")
    return found[1].decode(), found[2].decode(), facts, body


def _check_reply(line: bytes) -> tuple[str, int]:
    found = _REPLY.fullmatch(line)
    if not found or int(found[2]) > MOST_REPLY:
        raise ProtocolError("not a reply, or too long")
    return found[1].decode(), int(found[2])


def _decode_facts(raw: bytes) -> dict[str, str]:
    *each, rest = raw.split(b"\0")
    found = [_FACT.fullmatch(fact) for fact in each]
    if rest or not all(found):
        raise ProtocolError("not facts")
    facts = {fact[1].decode(): os.fsdecode(fact[2]) for fact in found if fact}
    try:
        is_duration = abs(float(facts.get("seconds", "0"))) <= MOST_SECONDS  # neither infinite nor NaN
    except ValueError:
        is_duration = False
    if not is_duration:
        raise ProtocolError("not a number of seconds")
    return facts


def make_folder_of(address: Path) -> None:
    """Create the folder of a socket. Raises HomeError if others can write to it."""
    folder = address.parent
    try:
        folder.mkdir(mode=files.PRIVATE_FOLDER, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise HomeError(f"Cannot use {folder}: {files.reason(error)}.") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != own_uid() or status.st_mode & 0o077:
        raise HomeError(
            f"memem will not create a socket in {folder}, which is a link, belongs to another user or is open to "
            "others. Set XDG_RUNTIME_DIR to a private folder, or MEMEM_DIR to a shorter path."
        )


def is_our_socket(address: Path) -> bool:
    try:
        status = address.lstat()
    except OSError:
        return False
    return stat.S_ISSOCK(status.st_mode) and status.st_uid == own_uid()


def is_ours(connection: socket.socket) -> bool:
    """Whether the peer is a process of the same user; on systems that cannot tell, the folder's mode protects."""
    try:
        uid = _peer_uid(connection)
    except (OSError, struct.error):
        return False
    return uid in (None, own_uid())


def own_uid() -> int:
    return os.geteuid()


def _peer_uid(connection: socket.socket) -> int | None:
    if hasattr(socket, "SO_PEERCRED"):  # Linux: process, user, group
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[1])
    if hasattr(socket, "LOCAL_PEERCRED"):  # macOS and BSD: version and user come first
        credentials = connection.getsockopt(0, socket.LOCAL_PEERCRED, 76)  # SOL_LOCAL, the size of xucred
        return int(struct.unpack("2I", credentials[:8])[1])
    return None
