"""The one that answers: a socket, and a thread for each of the few that ask at once."""

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

AT_ONCE = 16
"""Who comes when so many are being answered is sent away, and does its work itself."""
BACKLOG = 64
READ_SECONDS = 2.0
WRITE_SECONDS = 2.0
LOOK_SECONDS = 30.0
"""So often a leader looks whether its socket is still where others look for it."""
REST_SECONDS = 0.1
FAREWELL_SECONDS = 1.0

Answer = Callable[[Request], Reply]
Log = Callable[[str], object]


class Leader:
    """Bound to its address from the beginning. Only whoever holds the engine's lock may make one."""

    def __init__(self, address: Path, answer: Answer, *, log: Log) -> None:
        self._address = address
        self._answer = answer
        self._log = log
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self._guests: dict[threading.Thread, socket.socket] = {}
        self._guarding = threading.Lock()
        self._stopped = threading.Event()
        self._is_troubled = False
        self._listener = _bound(address)
        self._socket_file = files.identity(address)
        self._bell, self._rope = socket.socketpair()

    def serve(self, is_current: Callable[[], bool]) -> None:
        """Answer until told to stop, or until others can no longer find us."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._listener, selectors.EVENT_READ)
            ready.register(self._bell, selectors.EVENT_READ)
            look_at = time.monotonic() + LOOK_SECONDS
            while not self._stopped.is_set():
                came = [key.fileobj for key, _ in ready.select(max(0.0, look_at - time.monotonic()))]
                if self._listener in came:
                    self._welcome()
                if time.monotonic() >= look_at:
                    if not is_current() or files.identity(self._address) != self._socket_file:
                        return
                    look_at = time.monotonic() + LOOK_SECONDS

    def stop(self) -> None:
        """Have `serve` return, from whichever thread."""
        self._stopped.set()
        with suppress(OSError):
            self._rope.send(b"!")

    def close(self) -> None:
        """Once `serve` has returned: the socket's file goes, unless it is somebody else's by now."""
        self._stopped.set()
        if files.identity(self._address) == self._socket_file:
            files.remove_quietly(self._address)
        for each in (self._listener, self._bell, self._rope):
            each.close()
        with self._guarding:
            for guest in self._guests.values():
                with suppress(OSError):
                    guest.shutdown(socket.SHUT_RD)  # who has not asked yet asks in vain; who has gets its answer

    def finish(self) -> None:
        """Wait for those being answered, but not for long."""
        until = time.monotonic() + FAREWELL_SECONDS
        with self._guarding:
            threads = list(self._guests)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    def _welcome(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError as problem:
            if not self._is_troubled:
                self._log(f"The engine cannot take a request: {problem}")
            self._is_troubled = True
            self._stopped.wait(REST_SECONDS)  # too many open files, most likely: the next try need not be at once
            return
        self._is_troubled = False
        if not self._room.acquire(blocking=False):
            connection.close()
            return
        guest = threading.Thread(target=self._attend, args=(connection,), name="memem-request", daemon=True)
        with self._guarding:
            self._guests[guest] = connection
        try:
            guest.start()
        except RuntimeError:  # the system has no more of them
            self._part(guest, connection)

    def _attend(self, connection: socket.socket) -> None:
        try:
            self._converse(connection)
        except ProtocolError:
            return  # who speaks so is not answered
        finally:
            self._part(threading.current_thread(), connection)

    def _part(self, guest: threading.Thread, connection: socket.socket) -> None:
        with self._guarding:
            del self._guests[guest]
            connection.close()
        self._room.release()

    def _converse(self, connection: socket.socket) -> None:
        came = time.monotonic()
        if not protocol.is_ours(connection):
            return
        request = protocol.read_request(connection, came + READ_SECONDS)
        is_late = request.seconds is not None and time.monotonic() >= came + request.seconds
        if is_late or protocol.is_gone(connection):
            return
        reply = self._reply(request)
        protocol.send(connection, protocol.encode_reply(reply), time.monotonic() + WRITE_SECONDS)

    def _reply(self, request: Request) -> Reply:
        try:
            reply = self._answer(request)
        except MememError as problem:
            return _failed(str(problem))
        except Exception as problem:  # noqa: BLE001 - whatever goes wrong with one request, the next is answered
            self._log(f"The engine failed at {request.name}: {type(problem).__name__}: {problem}")
            return _failed(f"{type(problem).__name__}: {problem}")
        if len(reply.body) > MOST_REPLY:
            return _failed(f"The answer is too long ({len(reply.body):,} bytes); ask for less.")
        return reply


def _failed(why: str) -> Reply:
    return Reply(FAILED, " ".join(why.split())[:2_000].encode("utf-8", "replace"))


def _bound(address: Path) -> socket.socket:
    """A socket that listens. What stands in its place was left by a leader that is gone: we hold its lock."""
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
