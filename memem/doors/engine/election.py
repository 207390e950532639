"""Elects one of the running servers as leader: it has the encoder and answers for all."""

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

PATIENCE_SECONDS = 1.0  # how long a request waits for a new leader
POLL_SECONDS = 0.02
STOP_SECONDS = 2.0


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
            self._log(f"The engine cannot start here, so every server works alone: {problem}")
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
