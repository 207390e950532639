"""Of all servers that run, one leads: it has the encoder and answers for all. When it goes, the next one takes over."""

import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

from memem.core import files
from memem.core.errors import MememError
from memem.doors.engine import protocol
from memem.doors.engine.leader import Answer, Leader, Log
from memem.doors.engine.protocol import ProtocolError, Reply, Request

PATIENCE_SECONDS = 1.0
"""So long a request waits for a leader when the last one has just gone."""
LOOK_SECONDS = 0.02
FAREWELL_SECONDS = 2.0


class Engine:
    """This server's part in it: it leads, or waits for its turn and asks the one that does."""

    def __init__(self, lock: Path, address: Path, answer: Answer, *, log: Log) -> None:
        self._lock = lock
        self._address = address
        self._answer = answer
        self._log = log
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
        """Begin to lead as soon as nobody else does. Returns at once."""
        if not hasattr(socket, "AF_UNIX"):
            return
        self._is_patient = True
        self._thread = threading.Thread(target=self._run, name="memem-engine", daemon=True)
        self._thread.start()

    def ask(self, request: Request, seconds: float) -> Reply | None:
        """What the leader says; None when nobody answers in time, or we lead ourselves: then do it yourself.

        To be used for what may be done twice: an answer that never arrived may have been worked for.
        """
        until = time.monotonic() + seconds
        for _ in range(2):  # a leader may die over a request; the next one is asked once more
            connection = self._reach(until)
            if connection is None:
                return None
            with connection:
                try:
                    reply = _exchange(connection, _timed(request, until), until)
                except ProtocolError:
                    if time.monotonic() >= until:
                        return None
                    continue
            self._is_patient = True
            return reply
        return None

    def stop(self) -> None:
        """Let go of socket and lock.

        A thread that still waits for its turn stays with the kernel until the lock is free or the process ends, and
        then lets go at once.
        """
        self._stopped.set()
        with self._changing:
            leader = self._leader
        if leader and self._thread:
            leader.stop()
            self._thread.join(FAREWELL_SECONDS)

    def _run(self) -> None:
        from memem.core import locks  # takes a while, and this thread has time

        try:
            files.make_private_folder(self._lock.parent)
            while not self._stopped.is_set():
                with locks.awaiting(self._lock):
                    leader = self._lead()
                if leader:
                    leader.finish()
        except (OSError, MememError) as problem:
            self._log(f"No engine here, every server works by itself: {problem}")
        finally:
            self._is_patient = False

    def _lead(self) -> Leader | None:
        """Answer for all, until told to stop or until nobody finds us any more; None when it was too late to begin."""
        held = files.identity(self._lock)
        with self._changing:
            if self._stopped.is_set():
                return None
            leader = Leader(self._address, self._answer, log=self._log)
            self._leader = leader
        files.remove_quietly(self._lock.with_name("engine-late"))  # that was another one
        self._leading.set()
        try:
            leader.serve(lambda: files.identity(self._lock) == held)
        finally:
            self._leading.clear()
            with self._changing:
                self._leader = None
            leader.close()
        return leader

    def _reach(self, until: float) -> socket.socket | None:
        """A connection with the leader, which may still be on its way; None when there is none, or it is us."""
        patient_until = min(until, time.monotonic() + PATIENCE_SECONDS) if self._is_patient else 0.0
        while not self.is_leader:
            connection = _connected(self._address, until)
            if connection:
                return connection
            if time.monotonic() >= patient_until:
                self._is_patient = False  # nobody is coming: the next request need not wait to learn that
                return None
            self._leading.wait(LOOK_SECONDS)
        return None


def _timed(request: Request, until: float) -> Request:
    return replace(request, facts={**request.facts, "seconds": f"{max(0.0, until - time.monotonic()):.3f}"})


def _exchange(connection: socket.socket, request: Request, until: float) -> Reply:
    protocol.send(connection, protocol.encode_request(request), until)
    return protocol.read_reply(connection, until)


def _connected(address: Path, until: float) -> socket.socket | None:
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
