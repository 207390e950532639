"""The leader: a socket, and a thread for each of a few concurrent requests."""

import selectors
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memem.core import files
from memem.core.errors import MememError
from memem.doors.engine import protocol
from memem.doors.engine.protocol import FAILED, MOST_REPLY, ProtocolError, Reply, Request

MAX_REQUESTS = 16  # further clients are refused, and do their work themselves
BACKLOG = 64
READ_SECONDS = 2.0
WRITE_SECONDS = 2.0
CHECK_SECONDS = 30.0  # how often a leader checks that its socket is still in place
ACCEPT_RETRY_SECONDS = 0.1
STOP_SECONDS = 1.0

Answer = Callable[[Request], Reply]
Log = Callable[[str], object]


class Leader:
    """Bound to its address once created. Only the holder of the engine's lock may create one."""

    def __init__(self, address: Path, answer: Answer, *, log: Log) -> None:
        self._address, self._answer, self._log = address, answer, log
        self._room = threading.BoundedSemaphore(MAX_REQUESTS)
        self._clients: dict[threading.Thread, socket.socket] = {}
        self._clients_lock = threading.Lock()
        self._stopped = threading.Event()
        self._has_logged = False
        self._listener = _listen(address)
        self._socket_file = files.identity(address)
        self._wake_read, self._wake_write = socket.socketpair()

    def serve(self, is_current: Callable[[], bool]) -> None:
        """Answer until stopped, or until others cannot find this server any more."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._wake_read, selectors.EVENT_READ)
            check_at = time.monotonic() + CHECK_SECONDS
            while not self._stopped.is_set():
                ready = [key.fileobj for key, _ in selector.select(max(0.0, check_at - time.monotonic()))]
                if self._listener in ready:
                    self._accept()
                if time.monotonic() >= check_at:
                    if not is_current() or files.identity(self._address) != self._socket_file:
                        return
                    check_at = time.monotonic() + CHECK_SECONDS

    def stop(self) -> None:
        """Make `serve` return; safe in any thread."""
        self._stopped.set()
        with suppress(OSError):
            self._wake_write.send(b"!")

    def close(self) -> None:
        """Close the sockets after `serve`, and remove the socket's file unless it belongs to another leader."""
        self._stopped.set()
        if files.identity(self._address) == self._socket_file:
            files.remove_quietly(self._address)
        for each in (self._listener, self._wake_read, self._wake_write):
            each.close()
        with self._clients_lock:
            for client in self._clients.values():
                with suppress(OSError):
                    client.shutdown(socket.SHUT_RD)  # requests that were read are still answered

    def finish(self) -> None:
        """Wait a moment for requests in progress."""
        until = time.monotonic() + STOP_SECONDS
        with self._clients_lock:
            threads = list(self._clients)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError as problem:
            if not self._has_logged:
                self._log(f"The engine cannot accept a request: {problem}")
            self._has_logged = True
            self._stopped.wait(ACCEPT_RETRY_SECONDS)  # probably too many open files
            return
        self._has_logged = False
        if not self._room.acquire(blocking=False):
            connection.close()
            return
        thread = threading.Thread(target=self._serve_client, args=(connection,), name="memem-request", daemon=True)
        with self._clients_lock:
            self._clients[thread] = connection
        try:
            thread.start()
        except RuntimeError:  # no more threads
            self._release(thread, connection)

    def _serve_client(self, connection: socket.socket) -> None:
        try:
            received = time.monotonic()
            if not protocol.is_ours(connection):
                return
            request = protocol.read_request(connection, received + READ_SECONDS)
            is_late = request.seconds is not None and time.monotonic() >= received + request.seconds
            if is_late or protocol.is_gone(connection):
                return
            reply = protocol.encode_reply(self._reply(request))
            protocol.send(connection, reply, time.monotonic() + WRITE_SECONDS)
        except ProtocolError:
            return
        finally:
            self._release(threading.current_thread(), connection)

    def _release(self, thread: threading.Thread, connection: socket.socket) -> None:
        with self._clients_lock:
            del self._clients[thread]
            connection.close()
        self._room.release()

    def _reply(self, request: Request) -> Reply:
        try:
            reply = self._answer(request)
            if len(reply.body) <= MOST_REPLY:
                return reply
            why = f"The answer is too long ({len(reply.body):,} bytes); ask for less."
        except MememError as problem:
            why = str(problem)
        except Exception as problem:  # noqa: BLE001 - a failed request must not end the engine
            why = f"{type(problem).__name__}: {problem}"
            self._log(f"The engine failed to handle {request.name}: {why}")
        return Reply(FAILED, " ".join(why.split())[:2_000].encode("utf-8", "replace"))


def _listen(address: Path) -> socket.socket:
    """Bind a listening socket, replacing the file of a leader that is gone: we have its lock."""
    protocol.make_folder_of(address)
    files.remove_quietly(address)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(address))
        address.chmod(files.PRIVATE_FILE)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener
