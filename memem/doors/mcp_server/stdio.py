"""Messages over standard input and output, a line each.

The SDK's own transport reads in a thread that has to be waited for, so a signal would be obeyed only once the client
says something more, and it gives up what is being answered when the input ends. Here threads read and write that
nobody waits for long, and the end of the input is told once everything asked before is answered.
"""

import asyncio
import contextlib
import json
import math
import os
import queue
import threading

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from memem.core.formats import from_json

LEAVE_SECONDS = 5.0
"""How long what has begun may take to be finished, once nobody can ask for more."""


def taken() -> tuple[int, int]:
    """Standard input and output, as descriptors of ours. Nobody else in this process reads the one or writes to the
    other from now on: what is printed goes to standard error."""
    return _taken(0, os.open(os.devnull, os.O_RDONLY)), _taken(1, _stderr())


class Wire:
    """Messages that come from one descriptor, and go to another."""

    def __init__(self, source: int, sink: int) -> None:
        # Never closed under a thread that still waits for them.
        self._source = os.fdopen(source, "rb", closefd=False)
        self._sink = os.fdopen(sink, "wb", closefd=False)
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unanswered: set[types.RequestId] = set()
        self._has_ended = False
        self._to_server, self.incoming = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
        self.outgoing, self._from_server = anyio.create_memory_object_stream[SessionMessage]()
        self._writer = threading.Thread(target=self._write, name="memem output", daemon=True)

    async def carry(self) -> None:
        """Carry messages both ways until the server has no more to say."""
        self._loop = asyncio.get_running_loop()
        self._writer.start()
        threading.Thread(target=self._read, name="memem input", daemon=True).start()
        async with self._from_server:
            async for message in self._from_server:
                self._send(message.message)

    def end(self) -> None:
        """Let the server know that nothing more comes."""
        self._to_server.close()

    def close(self) -> None:
        """Bring out what is still to be said, as far as anybody reads it."""
        self.end()
        self._lines.put(None)
        self._writer.join(LEAVE_SECONDS)

    def _read(self) -> None:
        """In a thread of its own."""
        with contextlib.suppress(OSError, RuntimeError):  # the server has left before its client
            for line in self._source:
                if line.strip():
                    self._loop.call_soon_threadsafe(self._receive, _parsed(line))
            self._loop.call_soon_threadsafe(self._finish)

    def _write(self) -> None:
        """In a thread of its own."""
        try:
            for line in iter(self._lines.get, None):
                self._sink.write(line)
                self._sink.flush()
        except OSError:  # the client has left
            with contextlib.suppress(RuntimeError):  # and so have we
                self._loop.call_soon_threadsafe(self.end)

    def _receive(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, _Refusal):
            self._send(message)
            return
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # we are about to leave
            self._to_server.send_nowait(SessionMessage(message))
        if isinstance(message, types.JSONRPCRequest):
            self._unanswered.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))

    def _finish(self) -> None:
        self._has_ended = True
        self._loop.call_later(LEAVE_SECONDS if self._unanswered else 0, self.end)

    def _send(self, message: types.JSONRPCMessage) -> None:
        self._lines.put(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._settle(message.id)

    def _settle(self, identity: types.RequestId | None) -> None:
        self._unanswered.discard(identity)
        if self._has_ended and not self._unanswered:
            self.end()


class _Refusal(types.JSONRPCError):
    """Our answer to what is no message."""


def _parsed(line: bytes) -> types.JSONRPCMessage:
    """The message in a line, or what there is to say to one that holds none."""
    meant = line
    for _ in range(2):
        try:
            return types.jsonrpc_message_adapter.validate_json(meant, by_name=False)
        except ValidationError:
            meant = _repaired(line)
    error = types.ErrorData(code=types.PARSE_ERROR, message="This line is not JSON.")
    identity = None
    if meant:
        error = types.ErrorData(code=types.INVALID_REQUEST, message="This is not a JSON-RPC message.")
        value = from_json(meant)
        identity = value.get("id") if isinstance(value, dict) else None
    return _Refusal(jsonrpc="2.0", id=identity if type(identity) in (int, str) else None, error=error)


def _repaired(line: bytes) -> bytes:
    """What a line of JSON was meant to be: clients cut texts in the middle of a character. Empty for another line."""
    try:
        value = from_json(line.decode("utf-8", "replace"))
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return b""


def _taken(descriptor: int, instead: int) -> int:
    """A descriptor of our own for what stands at this one, where something else stands from now on."""
    own = os.dup(descriptor)
    os.dup2(instead, descriptor)
    os.close(instead)
    return own


def _stderr() -> int:
    try:
        return os.dup(2)
    except OSError:  # closed
        return os.open(os.devnull, os.O_WRONLY)
