"""Several servers, one leader: who leads, who asks, and what happens when the leader goes."""

import errno
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import memem
from memem.core.home import socket_address
from memem.doors.engine import election, protocol
from memem.doors.engine.election import Engine, Leader
from memem.doors.engine.protocol import Reply, Request
from tests.engines import LONG, asking, echo, never, short_folder

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs Unix sockets")


@pytest.fixture
def run() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder / "run"


# --- servers that are processes -----------------------------------------------------------------------------------

SERVER = """
import os, sys
from pathlib import Path
from memem.doors.engine import election as engine
from memem.doors.engine.protocol import Reply, Request
engine.PATIENCE_SECONDS = 20
run = Path(sys.argv[1])
us = engine.Engine(run / "engine.lock", run / "engine.sock", lambda _: Reply("done", b"%d" % os.getpid()), log=print)
us.start()
print("started", flush=True)
for line in sys.stdin:
    if line == "ask\\n":
        reply = us.ask(Request("tool", "ping", {}, b""), 20)
        print(reply.body.decode() if reply else os.getpid() if us.is_leader else "nobody", flush=True)
    if line == "stop\\n":
        us.stop()
        print("stopped", flush=True)
"""


class Server:
    """A process with an engine, which does what it is told."""

    def __init__(self, run: Path) -> None:
        environ = os.environ | {"PYTHONPATH": str(Path(memem.__file__).parent.parent)}
        command = [sys.executable, "-c", SERVER, str(run)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, bufsize=0)
        self.id = str(self.process.pid)

    def hear(self) -> str:
        assert self.process.stdout
        assert select.select([self.process.stdout], [], [], 60)[0], "the server says nothing"
        return self.process.stdout.readline().decode().strip()

    def tell(self, what: str) -> str:
        assert self.process.stdin
        self.process.stdin.write(f"{what}\n".encode())
        return self.hear()

    def leader(self) -> str:
        """The leader, as this server sees it."""
        return self.tell("ask")


@contextmanager
def servers(run: Path, count: int) -> Iterator[list[Server]]:
    """Some servers, started at once."""
    with ExitStack() as stack:
        started = []
        for _ in range(count):
            server = Server(run)
            stack.enter_context(server.process)
            stack.callback(server.process.kill)
            started.append(server)
        for server in started:
            assert server.hear() == "started"
        yield started


def parted(running: list[Server]) -> tuple[Server, list[Server]]:
    """The leader, on whom all agree, and the others."""
    (name,) = {server.leader() for server in running}
    (first,) = [server for server in running if server.id == name]
    return first, [server for server in running if server is not first]


def test_one_of_five_simultaneous_servers_leads_and_answers_for_all(run: Path) -> None:
    with servers(run, 5) as running:
        _, others = parted(running)
        assert len(others) == 4


def test_when_the_leader_is_killed_the_next_one_takes_over(run: Path) -> None:
    with servers(run, 3) as running:
        first, others = parted(running)
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(LONG)
        second, (third,) = parted(others)
        second.process.send_signal(signal.SIGKILL)
        assert third.leader() == third.id


def test_when_the_leader_stops_the_next_one_takes_over(run: Path) -> None:
    with servers(run, 2) as running:
        first, (second,) = parted(running)
        assert first.tell("stop") == "stopped"
        assert second.leader() == second.id
        assert first.leader() == second.id


def test_when_the_leader_ends_the_next_one_takes_over(run: Path) -> None:
    with servers(run, 2) as running:
        first, (second,) = parted(running)
        assert first.process.stdin
        first.process.stdin.close()
        assert first.process.wait(LONG) == 0
        assert second.leader() == second.id


def test_a_server_that_waits_for_its_turn_ends_at_once(run: Path) -> None:
    with servers(run, 2) as running:
        _, (second,) = parted(running)
        assert second.tell("stop") == "stopped"
        assert second.process.stdin
        second.process.stdin.close()
        assert second.process.wait(LONG) == 0


# --- engines in this process --------------------------------------------------------------------------------------


@pytest.fixture
def begin(run: Path) -> Iterator[Callable[..., Engine]]:
    """Engines of one home; each is stopped in the end, the last first, so that none waits for a turn that comes."""
    begun: list[Engine] = []

    def start(
        answer: Callable[[Request], Reply] = echo,
        log: Callable[[str], object] = pytest.fail,
        address: Path | None = None,
    ) -> Engine:
        made = Engine(run / "engine.lock", address or run / "engine.sock", answer, log=log)
        begun.append(made)
        made.start()
        return made

    yield start
    for made in reversed(begun):
        made.stop()
    for made in begun:
        if made._thread:
            made._thread.join(LONG)
            assert not made._thread.is_alive()


def leads(engine: Engine) -> bool:
    return engine._leading.wait(LONG)


def ended(engine: Engine) -> bool:
    """True if the wait was given up."""
    assert engine._thread
    engine._thread.join(LONG)
    return not engine._thread.is_alive() and not engine.is_leader


def test_a_follower_asks_the_leader(begin: Callable[..., Engine]) -> None:
    assert leads(begin(lambda request: Reply("done", request.body + b" from the leader")))
    follower = begin(never)
    assert follower.ask(asking(body=b"hello"), LONG) == Reply("done", b"hello from the leader")
    assert not follower.is_leader


def test_a_leader_does_its_own_work(begin: Callable[..., Engine]) -> None:
    leader = begin(never)
    assert leads(leader)
    assert leader.ask(asking(), LONG) is None


def test_a_follower_says_who_it_is_and_how_long_it_waits(begin: Callable[..., Engine]) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Reply:
        asked.append(request)
        return Reply("done")

    assert leads(begin(answer))
    begin().ask(asking(cwd="/srv/shop"), LONG)
    (request,) = asked
    assert request.facts["cwd"] == "/srv/shop"
    assert 0 < (request.seconds or 0) <= LONG


def test_a_stopped_leader_leaves_neither_socket_nor_thread(begin: Callable[..., Engine], run: Path) -> None:
    before = threading.enumerate()
    leader = begin()
    assert leads(leader)
    leader.stop()
    assert not (run / "engine.sock").exists()
    assert not leader.is_leader
    assert threading.enumerate() == before


def test_a_server_stopped_while_waiting_never_leads(begin: Callable[..., Engine], run: Path) -> None:
    leader = begin()
    assert leads(leader)
    waiting = begin()
    waiting.stop()
    leader.stop()
    assert ended(waiting)
    assert not (run / "engine.sock").exists()


def test_a_follower_that_becomes_the_leader_while_it_asks_does_the_work_itself(
    begin: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(election, "PATIENCE_SECONDS", LONG)
    leader = begin()
    assert leads(leader)
    follower = begin()
    leader.stop()
    assert follower.ask(asking(), LONG) is None
    assert follower.is_leader


def test_a_missing_leader_is_awaited_only_once(
    begin: Callable[..., Engine], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock held where no socket can be reached, as on a home that two machines share, slows one request only."""
    monkeypatch.setattr(election, "PATIENCE_SECONDS", 0.05)
    looks: list[Path] = []
    connect = election._connect_to

    def looking(address: Path, until: float) -> socket.socket | None:
        looks.append(address)
        return connect(address, until)

    monkeypatch.setattr(election, "_connect_to", looking)
    assert leads(begin(address=run / "elsewhere.sock"))
    follower = begin()
    assert follower.ask(asking(), LONG) is None
    assert len(looks) > 1
    looks.clear()
    assert follower.ask(asking(), LONG) is None
    assert len(looks) == 1


def test_an_engine_that_was_not_started_does_not_wait(run: Path) -> None:
    assert Engine(run / "engine.lock", run / "engine.sock", echo, log=pytest.fail).ask(asking(), LONG) is None


def test_an_answer_that_takes_too_long_is_not_waited_for(begin: Callable[..., Engine]) -> None:
    go_on = threading.Event()

    def answer(request: Request) -> Reply:
        go_on.wait(LONG)
        return echo(request)

    assert leads(begin(answer))
    follower = begin()
    assert follower.ask(asking(), 0.05) is None
    go_on.set()
    assert follower.ask(asking(), LONG) == Reply("done")


def test_overlong_requests_are_not_sent(begin: Callable[..., Engine]) -> None:
    assert leads(begin(never))
    assert begin().ask(asking(body=bytes(protocol.MOST_BODY + 1)), LONG) is None


@contextmanager
def speaking(run: Path, *answers: bytes) -> Iterator[None]:
    """Something at the engine's address that says these things, one to each who asks."""

    def serve() -> None:
        for answer in answers:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)

    run.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(run / "engine.sock"))
        listener.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join(LONG)
        assert not thread.is_alive()


def test_a_request_moves_to_the_next_leader_when_one_dies(run: Path) -> None:
    asker = Engine(run / "engine.lock", run / "engine.sock", echo, log=pytest.fail)
    with speaking(run, b"memem 1 done 100\nhal", b"memem 1 done 5\nwhole"):
        assert asker.ask(asking(), LONG) == Reply("done", b"whole")


def test_a_request_over_which_two_leaders_died_is_given_up(run: Path) -> None:
    asker = Engine(run / "engine.lock", run / "engine.sock", echo, log=pytest.fail)
    with speaking(run, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"):
        assert asker.ask(asking(), LONG) is None


def test_another_users_socket_is_ignored(
    begin: Callable[..., Engine], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert leads(begin(never))
    asker = Engine(run / "engine.lock", run / "engine.sock", echo, log=pytest.fail)
    monkeypatch.setattr(protocol, "own_uid", lambda: os.geteuid() + 1)
    assert asker.ask(asking(), LONG) is None


def test_another_users_server_is_ignored(
    begin: Callable[..., Engine], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert leads(begin(never))
    asker = Engine(run / "engine.lock", run / "engine.sock", echo, log=pytest.fail)
    monkeypatch.setattr(protocol, "_peer_uid", lambda _: os.geteuid() + 1)
    assert asker.ask(asking(), LONG) is None


def test_a_regular_file_at_the_address_is_ignored(run: Path) -> None:
    run.mkdir()
    (run / "engine.sock").touch()
    assert Engine(run / "engine.lock", run / "engine.sock", echo, log=pytest.fail).ask(asking(), LONG) is None


def test_a_dead_leaders_socket_is_ignored(run: Path) -> None:
    run.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(run / "engine.sock"))
    assert Engine(run / "engine.lock", run / "engine.sock", echo, log=pytest.fail).ask(asking(), LONG) is None


# --- where it cannot be -------------------------------------------------------------------------------------------


def test_a_home_where_nothing_can_be_written_has_no_engine_and_says_so_once(
    begin: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "touch", refuse)
    logged: list[str] = []
    alone = begin(log=logged.append)
    assert ended(alone)
    assert alone.ask(asking(), LONG) is None
    assert len(logged) == 1
    assert "Read-only file system" in logged[0]


def test_a_place_where_no_socket_can_be_has_no_engine_and_says_so_once(begin: Callable[..., Engine], run: Path) -> None:
    logged: list[str] = []
    (run / "taken").mkdir(parents=True)
    assert ended(begin(log=logged.append, address=run / "taken"))
    assert len(logged) == 1


def test_a_runtime_folder_open_to_others_has_no_engine_and_says_so_once(
    begin: Callable[..., Engine], run: Path
) -> None:
    logged: list[str] = []
    runtime = run.parent / "runtime"
    runtime.mkdir(mode=0o755)
    assert ended(begin(log=logged.append, address=runtime / "memem.sock"))
    assert len(logged) == 1
    assert str(runtime) in logged[0]


def test_a_home_with_a_path_too_long_is_served_from_the_runtime_folder(tmp_path: Path) -> None:
    run = tmp_path / ("long" * 25) / "run"
    with short_folder() as runtime:
        address = socket_address(run, str(runtime), os.geteuid())
        first, second = (Engine(run / "engine.lock", address, echo, log=pytest.fail) for _ in range(2))
        first.start()
        assert leads(first)
        assert second.ask(asking(body=b"hello"), LONG) == Reply("done", b"hello")
        first.stop()


def test_a_system_without_unix_sockets_has_no_engine(
    begin: Callable[..., Engine], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    alone = begin()
    assert not alone.is_leader
    assert alone.ask(asking(), LONG) is None
    assert not run.exists()


# --- what others do to its files ----------------------------------------------------------------------------------


@pytest.fixture
def bindings(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Counts how often a leader has begun; leaders look after their files all the time."""
    begun = threading.Semaphore(0)

    class Counted(Leader):
        def serve(self, is_current: Callable[[], bool]) -> None:
            begun.release()
            super().serve(is_current)

    monkeypatch.setattr(election, "Leader", Counted)
    monkeypatch.setattr(election, "CHECK_SECONDS", 0.01)
    return begun


@pytest.mark.parametrize("name", ["engine.sock", "engine.lock"])
def test_a_leader_whose_socket_was_deleted_listens_again(
    name: str, begin: Callable[..., Engine], run: Path, bindings: threading.Semaphore
) -> None:
    begin()
    assert bindings.acquire(timeout=LONG)
    (run / name).unlink()
    assert bindings.acquire(timeout=LONG)
    asker = Engine(run / "engine.lock", run / "engine.sock", echo, log=pytest.fail)
    assert asker.ask(asking(body=b"hello"), LONG) == Reply("done", b"hello")
    assert (run / "engine.lock").exists()


def test_a_leader_whose_home_was_deleted_does_not_make_it_again(
    begin: Callable[..., Engine], run: Path, bindings: threading.Semaphore
) -> None:
    logged: list[str] = []
    orphan = begin(log=logged.append)
    assert bindings.acquire(timeout=LONG)
    for name in ("engine.sock", "engine.lock"):
        (run / name).unlink()
    run.rmdir()
    assert ended(orphan)
    assert not run.exists()
    assert len(logged) == 1
