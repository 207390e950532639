"""The MCP server's loop: one thread answers the protocol and hands tool calls to a backend; see `protocol.py`."""

import os
import select
import sys
from collections import deque
from time import monotonic

from memem import __version__
from memem.doors.mcp import protocol
from memem.doors.mcp.protocol import Invalid, LineBuffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LEAVE_SECONDS = 5.0  # for calls in flight after the input has ended
FLUSH_SECONDS = 1.0
READ_BYTES = 1 << 16


class Call:
    """A tool call that has not been answered."""

    def __init__(self, identity: object, name: str, arguments: "dict[str, Any]", line: bytes) -> None:
        self.identity, self.name, self.arguments, self.line = identity, name, arguments, line
        self.received = monotonic()
        self.is_settled = False


class Backend:
    """Answers tool calls through `loop.deliver`."""

    loop: "Loop"

    def prepare(self) -> None:
        """The settings are needed soon."""

    def submit(self, call: Call) -> None:
        """Accept a call, which is also in `loop.unanswered`."""

    def tick(self) -> "float | None":
        """Do what is due; return the seconds until the next time."""

    def close(self) -> None:
        """The loop has ended."""


class Loop:
    """Serves one client over two descriptors until the input ends, the client stops reading, or `stop` is called."""

    def __init__(self, source: int, sink: int, backend: Backend, setting: "str | None") -> None:
        self.source, self.sink = source, sink
        self.output = b""
        self.unanswered: "list[Call]" = []
        self.is_initialized = False
        self.input = LineBuffer()
        self._inherited = b""
        self._backend = backend
        self._setting = setting  # of the tools; None: the settings decide, once they are loaded
        self._listed: "str | None" = None
        self._waiting_lists: "list[object]" = []
        self._events: "deque[Callable[[], None]]" = deque()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._leave_at: "float | None" = None
        self._is_stopped = False

    def run(self) -> None:
        """Serve. Leaves the descriptors open."""
        self._backend.loop = self
        try:
            self._process_input(self._inherited)
            while not self._is_over():
                self._step(self._backend.tick())
        finally:
            self._backend.close()

    def stop(self) -> None:
        """Leave at once, whatever is in flight; safe in a signal handler."""
        self._is_stopped = True
        self._wake()

    def call_soon(self, work: "Callable[[], None]") -> None:
        """Have the loop do something; safe in any thread."""
        self._events.append(work)
        self._wake()

    def resume(self, data: bytes, is_initialized: bool) -> None:
        """Continue for a client that another process has served so far; `data` is what that one left unanswered."""
        self._inherited = data
        self.is_initialized = is_initialized
        if is_initialized:
            self.send(protocol.LIST_CHANGED)

    def set_tools(self, setting: str) -> None:
        self._setting = setting
        for identity in self._waiting_lists:
            self._send_tools(identity, setting)
        self._waiting_lists = []
        if self._listed not in (None, setting):
            self._listed = setting
            self.send(protocol.LIST_CHANGED)

    def deliver(self, call: Call, text: str, is_error: bool) -> None:
        """Answer a call, unless it was cancelled or answered meanwhile."""
        if not call.is_settled:
            self._settle(call)
            result = {"content": [{"type": "text", "text": text}], "isError": is_error}
            self.send(protocol.result(call.identity, result))

    def send(self, message: object) -> None:
        self.output += protocol.encode(message)

    def _wake(self) -> None:
        try:  # noqa: SIM105 - contextlib would have to be imported
            os.write(self._wake_write, b".")
        except BlockingIOError:
            pass  # the pipe is full: the loop wakes anyway

    def _is_over(self) -> bool:
        if self._is_stopped:
            return True
        if self._leave_at is None:
            return False
        if monotonic() >= self._leave_at:
            for identity in [call.identity for call in self.unanswered] + self._waiting_lists:
                self.send(protocol.error(identity, protocol.INTERNAL_ERROR, "The server is shutting down."))
            for call in list(self.unanswered):
                self._settle(call)
            self._waiting_lists = []
        if self.unanswered or self._waiting_lists:
            return False
        return not self.output or monotonic() >= self._leave_at + FLUSH_SECONDS

    def _step(self, timeout: "float | None") -> None:
        reads = [self._wake_read]
        if self._leave_at is None:
            reads.append(self.source)
        else:
            is_waiting = self.unanswered or self._waiting_lists
            end = self._leave_at if is_waiting else self._leave_at + FLUSH_SECONDS
            left = max(0.0, end - monotonic())
            timeout = left if timeout is None else min(left, timeout)
        readable, writable, _ = select.select(reads, [self.sink] if self.output else [], [], timeout)
        if self._wake_read in readable:
            os.read(self._wake_read, READ_BYTES)
        while self._events:
            self._events.popleft()()
        if self.source in readable:
            try:
                data = os.read(self.source, READ_BYTES)
            except OSError:
                data = b""
            if not data:
                self._leave_at = monotonic() + LEAVE_SECONDS
            self._process_input(data)
        if writable:
            try:  # a writable pipe takes this much without blocking
                written = os.write(self.sink, self.output[: select.PIPE_BUF])
                self.output = self.output[written:]
            except OSError:  # the client does not read any more
                self._is_stopped = True

    def _process_input(self, data: bytes) -> None:
        for line in self.input.feed(data):
            if line is None:
                limit = "A message may be at most {} bytes long.".format(protocol.MAX_LINE_BYTES)
                self.send(protocol.error(None, protocol.INVALID_REQUEST, limit))
            elif line.strip():
                self._process_line(line)

    def _process_line(self, line: bytes) -> None:
        try:
            messages: "list[Any]" = protocol.parse(line)
        except Invalid as problem:
            self.send(problem.answer)
            return
        for message in messages:
            try:
                self._process(protocol.check(message))
            except Invalid as problem:
                self.send(problem.answer)
            except RecursionError:
                self._fail(message, protocol.INVALID_REQUEST, "The arguments are nested too deeply.")
            except Exception as problem:  # noqa: BLE001 - the outermost function of a door
                text = "unexpected {}: {}".format(type(problem).__name__, problem)
                self._fail(message, protocol.INTERNAL_ERROR, text)

    def _fail(self, message: "dict[str, Any]", code: int, text: str) -> None:
        """Answer a valid message that could not be processed; a notification gets no answer."""
        print("memem:", text, file=sys.stderr, flush=True)
        if message.get("id") is not None:
            self.send(protocol.error(message["id"], code, text))

    def _process(self, message: "dict[str, Any]") -> None:
        method, identity, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method is None:
            return  # a response: the server asks nothing
        if identity is None:
            if method == "notifications/cancelled":
                self._cancel(params.get("requestId"))
        elif method == "initialize":
            self.is_initialized = True
            self.send(protocol.result(identity, protocol.initialize_result(params, __version__)))
        elif method == "ping":
            self.send(protocol.result(identity, {}))
        elif method == "tools/list":
            if self._setting is None:
                self._waiting_lists.append(identity)
                self._backend.prepare()
            else:
                self._send_tools(identity, self._setting)
        elif method == "tools/call":
            name, arguments = params.get("name"), params.get("arguments")
            if not isinstance(name, str) or not isinstance(arguments, (dict, type(None))):
                raise Invalid(protocol.INVALID_PARAMS, "A tool call needs a name and an arguments object.", identity)
            call = Call(identity, name, arguments or {}, protocol.encode(message))
            self.unanswered.append(call)
            self._backend.submit(call)
        else:
            raise Invalid(protocol.METHOD_NOT_FOUND, "There is no method {!r}.".format(method[:60]), identity)

    def _send_tools(self, identity: object, setting: str) -> None:
        self._listed = setting
        self.send(protocol.result(identity, {"tools": protocol.list_tools(setting)}))

    def _cancel(self, identity: object) -> None:
        for call in list(self.unanswered):
            if call.identity == identity and type(call.identity) is type(identity):
                self._settle(call)

    def _settle(self, call: Call) -> None:
        call.is_settled = True
        self.unanswered.remove(call)
