"""The one that answers: each connection for itself, nobody waits for anybody, and strangers get nothing."""

import os
import socket
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memem.core.errors import HomeError, InputError
from memem.doors.engine import election, protocol
from memem.doors.engine.election import Leader
from memem.doors.engine.protocol import Reply, Request
from tests.engines import LONG, asking, connected, echo, everything, never, send_and_receive, short_folder

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs Unix sockets")
PING = protocol.encode_request(asking(body=b"ping"))
PONG = b"memem 1 done 4\nping"


@pytest.fixture
def address() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder / "engine.sock"


@contextmanager
def serving(made: Leader) -> Iterator[Leader]:
    thread = threading.Thread(target=made.serve, args=(lambda: True,))
    thread.start()
    try:
        yield made
    finally:
        made.stop()
        thread.join(LONG)
        made.close()
        made.finish()
        assert not thread.is_alive()


@contextmanager
def answering(
    address: Path,
    answer: Callable[[Request], Reply] = echo,
    log: Callable[[str], object] = pytest.fail,
) -> Iterator[Leader]:
    with serving(Leader(address, answer, log=log)) as made:
        yield made


def test_a_request_is_answered_with_the_facts_and_the_body_at_hand(address: Path) -> None:
    def answer(request: Request) -> Reply:
        return Reply("done", f"{request.kind} {request.name} {request.facts['cwd']} {request.body.decode()}".encode())

    with answering(address, answer):
        asked = protocol.encode_request(Request("hook", "UserPromptSubmit", {"cwd": "/srv/shop"}, b"{}"))
        assert send_and_receive(address, asked) == b"memem 1 done 34\nhook UserPromptSubmit /srv/shop {}"


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", bytes(500), b"memem 2 hook Stop 0 0\n"])
def test_garbage_ends_its_own_connection_and_no_other(address: Path, data: bytes) -> None:
    with answering(address):
        assert send_and_receive(address, data) == b""
        assert send_and_receive(address, PING) == PONG


def test_half_a_request_ends_its_own_connection_and_no_other(address: Path) -> None:
    with answering(address):
        with connected(address) as client:
            client.sendall(PING[:-1])
            client.shutdown(socket.SHUT_WR)
            assert everything(client) == b""
        assert send_and_receive(address, PING) == PONG


def test_a_slow_client_does_not_delay_others(address: Path) -> None:
    with answering(address), connected(address) as slow:
        slow.sendall(PING[:10])
        assert send_and_receive(address, PING) == PONG
        slow.sendall(PING[10:])
        assert everything(slow) == PONG


def test_a_client_that_is_too_slow_is_disconnected(address: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "READ_SECONDS", 0.05)
    with answering(address), connected(address) as slow:
        slow.sendall(PING[:-1])
        assert everything(slow) == b""


def test_a_request_whose_time_is_over_is_dropped_unanswered(address: Path) -> None:
    with answering(address, never):
        assert send_and_receive(address, protocol.encode_request(asking(seconds="0"))) == b""


def test_a_request_in_time_is_answered(address: Path) -> None:
    with answering(address):
        assert send_and_receive(address, protocol.encode_request(asking(seconds="20"))) == b"memem 1 done 0\n"


def test_a_request_of_a_disconnected_client_is_dropped(address: Path) -> None:
    worked: list[bytes] = []

    def answer(request: Request) -> Reply:
        worked.append(request.body)
        return Reply("done")

    made = Leader(address, answer, log=pytest.fail)
    with connected(address) as client:
        client.sendall(PING)
    with serving(made):
        send_and_receive(address, protocol.encode_request(asking(body=b"here")))
    assert worked == [b"here"]


def test_a_failure_is_reported_in_one_line(address: Path) -> None:
    def answer(_: Request) -> Reply:
        raise InputError("There is nothing\nto search for.")

    with answering(address, answer):
        assert send_and_receive(address, PING) == b"memem 1 failed 31\nThere is nothing to search for."


def test_an_unexpected_failure_is_logged_and_the_next_request_answered(address: Path) -> None:
    logged: list[str] = []

    def answer(request: Request) -> Reply:
        return Reply("done", b"%d" % (1 // len(request.body)))

    with answering(address, answer, logged.append):
        assert send_and_receive(address, protocol.encode_request(asking())).startswith(b"memem 1 failed ")
        assert send_and_receive(address, PING) == b"memem 1 done 1\n0"
    assert len(logged) == 1
    assert "ZeroDivisionError" in logged[0]


def test_an_answer_that_is_too_long_is_a_failure(address: Path) -> None:
    with answering(address, lambda _: Reply("done", bytes(protocol.MOST_REPLY + 1))):
        told = send_and_receive(address, PING)
    assert told.startswith(b"memem 1 failed ")
    assert b"1,048,577 bytes" in told


def test_the_longest_answer_arrives_whole(address: Path) -> None:
    with answering(address, lambda _: Reply("done", b"x" * protocol.MOST_REPLY)):
        assert len(send_and_receive(address, PING)) == len("memem 1 done 1048576\n") + protocol.MOST_REPLY


def test_clients_above_the_limit_are_refused(address: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "MAX_REQUESTS", 1)
    begun, go_on = threading.Event(), threading.Event()

    def answer(request: Request) -> Reply:
        begun.set()
        go_on.wait(LONG)
        return echo(request)

    with answering(address, answer), connected(address) as first:
        first.sendall(PING)
        assert begun.wait(LONG)
        assert send_and_receive(address, b"") == b""
        go_on.set()
        assert everything(first) == PONG


def test_a_stranger_gets_no_answer(address: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_peer_uid", lambda _: os.geteuid() + 1)
    with answering(address, never):
        assert send_and_receive(address, PING) == b""


def test_the_kernel_tells_who_is_at_the_other_end() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert protocol._peer_uid(ours) in (None, os.geteuid())
        assert protocol.is_ours(ours)
    assert not protocol.is_ours(ours)


@pytest.mark.parametrize(("uid", "is_ours"), [(os.geteuid(), True), (os.geteuid() + 1, False)])
def test_other_systems_tell_it_in_their_own_way(uid: int, is_ours: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class SocketStub:
        def getsockopt(self, level: int, option: int, length: int) -> bytes:
            return struct.pack("2I", 0, uid) + bytes(length - 8)

    monkeypatch.delattr(socket, "SO_PEERCRED", raising=False)
    monkeypatch.setattr(socket, "LOCAL_PEERCRED", 1, raising=False)
    assert protocol.is_ours(SocketStub()) is is_ours  # type: ignore[arg-type]


def test_where_no_system_tells_it_the_folder_is_what_protects(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SO_PEERCRED", "LOCAL_PEERCRED"):
        monkeypatch.delattr(socket, name, raising=False)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert protocol.is_ours(ours)


def test_the_socket_and_a_folder_made_for_it_are_private(address: Path) -> None:
    inside = address.parent / "made" / "engine.sock"
    with answering(inside):
        assert stat.S_IMODE(inside.stat().st_mode) == 0o600
        assert stat.S_IMODE(inside.parent.stat().st_mode) == 0o700


def test_a_folder_open_to_others_is_refused(address: Path) -> None:
    address.parent.chmod(0o755)
    with pytest.raises(HomeError, match="open to others"):
        Leader(address, echo, log=pytest.fail)
    assert not address.exists()


def test_a_folder_that_is_a_link_is_refused(address: Path) -> None:
    link = address.parent / "link"
    (address.parent / "real").mkdir(mode=0o700)
    link.symlink_to("real")
    with pytest.raises(HomeError):
        Leader(link / "engine.sock", echo, log=pytest.fail)


def test_a_folder_of_somebody_else_is_refused(address: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "own_uid", lambda: os.geteuid() + 1)
    with pytest.raises(HomeError):
        Leader(address, echo, log=pytest.fail)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeError, match="file"):
        protocol.make_folder_of(tmp_path / "file" / "run" / "engine.sock")


def test_files_of_a_dead_leader_are_replaced(address: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(address))
    with answering(address):
        assert send_and_receive(address, PING) == PONG


def test_a_socket_that_cannot_be_bound_is_not_left_open(address: Path) -> None:
    address.mkdir()
    with pytest.raises(OSError, match="in use"):
        Leader(address, echo, log=pytest.fail)


def test_nothing_is_left_of_a_leader_that_stopped(address: Path) -> None:
    before = threading.enumerate()
    with answering(address):
        send_and_receive(address, PING)
    assert not address.exists()
    assert threading.enumerate() == before


def test_the_socket_of_another_leader_is_left_in_its_place(address: Path) -> None:
    with answering(address):
        address.unlink()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            other.bind(str(address))
    assert address.exists()


def test_a_request_in_progress_is_answered_when_the_leader_stops(address: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def answer(request: Request) -> Reply:
        begun.set()
        go_on.wait(LONG)
        return echo(request)

    class Parting(Leader):
        def finish(self) -> None:
            assert not address.exists()
            go_on.set()
            super().finish()

    made = Parting(address, answer, log=pytest.fail)
    with connected(address) as client:
        with serving(made):
            client.sendall(PING)
            assert begun.wait(LONG)
        assert everything(client) == PONG


def test_a_silent_client_does_not_delay_the_stop(address: Path) -> None:
    made = Leader(address, echo, log=pytest.fail)
    with connected(address) as client:
        with serving(made):
            send_and_receive(address, PING)  # by then the first has a thread, too
        assert everything(client) == b""


class Failing:
    """A listener that fails a few times before it accepts."""

    def __init__(self, real: socket.socket, problems: list[OSError]) -> None:
        self._real = real
        self._problems = problems
        self.fileno = real.fileno
        self.close = real.close

    def accept(self) -> object:
        if self._problems:
            raise self._problems.pop()
        return self._real.accept()


def test_too_many_open_files_are_logged_once_and_waited_out(address: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "ACCEPT_RETRY_SECONDS", 0)
    logged: list[str] = []
    made = Leader(address, echo, log=logged.append)
    problems = [OSError(24, "Too many open files"), OSError(24, "Too many open files"), BlockingIOError()]
    made._listener = Failing(made._listener, problems)  # type: ignore[assignment]
    with serving(made):
        assert send_and_receive(address, PING) == PONG
    assert logged == ["The engine cannot accept a request: [Errno 24] Too many open files"]


def test_without_a_thread_to_spare_the_asker_is_sent_away(address: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    made = Leader(address, never, log=pytest.fail)
    with connected(address) as client:
        monkeypatch.setattr(threading.Thread, "start", refuse)
        made._accept()
        assert everything(client) == b""
    monkeypatch.undo()
    made.close()
