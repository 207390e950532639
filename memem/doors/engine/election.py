"""Elects one of the running servers as leader: it has the encoder and answers for all."""

import selectors
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from memem.core import files
from memem.core.errors import MememError
from memem.doors.engine import protocol
from memem.doors.engine.protocol import FAILED, MOST_REPLY, ProtocolError, Reply, Request

PATIENCE_SECONDS = 1.0  # how long a request waits for a new leader
POLL_SECONDS = 0.02
STOP_SECONDS = 2.0
MAX_REQUESTS = 16  # at a time; further clients are refused, and do their work themselves
READ_SECONDS = 2.0
WRITE_SECONDS = 2.0
CHECK_SECONDS = 30.0  # how often a leader checks that its socket is still in place
ACCEPT_RETRY_SECONDS = 0.1
FINISH_SECONDS = 1.0

Answer = Callable[[Request], Reply]
Log = Callable[[str], object]


class Leader:
    """A socket, and a thread for each of a few requests. Only the holder of the engine's lock may create one."""

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
        until = time.monotonic() + FINISH_SECONDS
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
        listener.listen(64)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


class Engine:
    """This server's role: it leads, or waits for its turn and asks the leader."""

    def __init__(self, lock: Path, address: Path, answer: Answer, *, log: Log) -> None:
        self._lock, self._address, self._answer, self._log = lock, address, answer, log
        self._leading = threading.Event()
        self._stopped = threading.Event()
        self._changing = threading.Lock()
        self._leader: Leader | None = None
        self._thread: threading.Thread | None = None
        self._is_patient = False

    @property
    def is_leader(self) -> bool:
        return self._leading.is_set()

    def start(self) -> None:
        """Lead as soon as no other server does. Returns at once."""
        if not hasattr(socket, "AF_UNIX"):
            return
        self._is_patient = True
        self._thread = threading.Thread(target=self._run, name="memem-engine", daemon=True)
        self._thread.start()

    def ask(self, request: Request, seconds: float) -> Reply | None:
        """Ask the leader, perhaps twice; None if it does not answer in time, or if this server leads."""
        until = time.monotonic() + seconds
        for _ in range(2):  # if the leader dies over the request, ask the next one
            connection = self._connect(until)
            if connection is None:
                return None
            left = f"{max(0.0, until - time.monotonic()):.3f}"
            timed = replace(request, facts={**request.facts, "seconds": left})
            with connection:
                try:
                    protocol.send(connection, protocol.encode_request(timed), until)
                    reply = protocol.read_reply(connection, until)
                except ProtocolError:
                    if time.monotonic() >= until:
                        return None
                    continue
            self._is_patient = True
            return reply
        return None

    def stop(self) -> None:
        """Release socket and lock. A thread that waits for the lock releases it as soon as it gets it."""
        self._stopped.set()
        with self._changing:
            leader = self._leader
        if leader and self._thread:
            leader.stop()
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        from memem.core import locks  # a slow import, which this thread can afford

        try:
            files.make_private_folder(self._lock.parent)
            while not self._stopped.is_set():
                with locks.awaiting(self._lock):
                    leader = self._lead()
                if leader:
                    leader.finish()
        except (OSError, MememError) as problem:
            self._log(f"The shared engine cannot start here, so each session's server does its own work: {problem}")
        finally:
            self._is_patient = False

    def _lead(self) -> Leader | None:
        """Answer until stopped, or until others cannot find this server; None if it was stopped before."""
        lock_file = files.identity(self._lock)
        with self._changing:
            if self._stopped.is_set():
                return None
            leader = Leader(self._address, self._answer, log=self._log)
            self._leader = leader
        files.remove_quietly(self._lock.with_name("engine-late"))  # left by an earlier leader
        self._leading.set()
        try:
            leader.serve(lambda: files.identity(self._lock) == lock_file)
        finally:
            self._leading.clear()
            with self._changing:
                self._leader = None
            leader.close()
        return leader

    def _connect(self, until: float) -> socket.socket | None:
        """Connect to the leader, waiting a moment for a new one; None without one, or if this server leads."""
        patient_until = min(until, time.monotonic() + PATIENCE_SECONDS) if self._is_patient else 0.0
        while not self.is_leader:
            connection = _connect_to(self._address, until)
            if connection:
                return connection
            if time.monotonic() >= patient_until:
                self._is_patient = False  # the next request need not wait again
                return None
            self._leading.wait(POLL_SECONDS)
        return None


def _connect_to(address: Path, until: float) -> socket.socket | None:
    left = until - time.monotonic()
    if left <= 0 or not protocol.is_our_socket(address):
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(left)
        connection.connect(str(address))
        if protocol.is_ours(connection):
            return connection
    except OSError:
        pass
    connection.close()
    return None
