"""The server while there is no environment, in one process."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from memem.doors.mcp import backends
from memem.doors.mcp.backends import Waiting, is_running, read_state
from memem.doors.mcp.loop import Loop
from tests.mcp_client import PATIENCE, Client


class Place:
    """A folder with a stub of bootstrap.sh, and a server that waits for the environment in it."""

    def __init__(self, root: Path) -> None:
        self.root, self.venv = root, root / "venv"
        (self.venv / ".memem").mkdir(parents=True)
        self.script('echo "$@" >>"$0.calls"')
        self.pipes = (*os.pipe(), *os.pipe())
        self.client = Client(self.pipes[1], self.pipes[2])
        self.backend = Waiting(str(root), str(self.venv))
        self.loop = Loop(self.pipes[0], self.pipes[3], self.backend, "default")
        self.thread = Thread(target=self.loop.run, daemon=True)

    def script(self, body: str) -> None:
        (self.root / "bootstrap.sh").write_text(f"{body}\n")

    def ours(self, name: str) -> Path:
        return self.venv / ".memem" / name

    def complete(self) -> None:
        (self.venv / "bin").mkdir()
        (self.venv / "bin" / "python").touch(0o755)
        self.ours("requirements.lock").touch()

    def close(self) -> None:
        self.loop.stop()
        if self.thread.ident:
            self.thread.join(PATIENCE)
        if self.backend._starter:
            self.backend._starter.communicate()
        for descriptor in self.pipes:
            os.close(descriptor)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setattr(backends, "POLL_SECONDS", 0.01)
    made = Place(tmp_path)
    yield made
    made.close()


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that a process was to be replaced with; that then fails."""
    commands: list[list[str]] = []

    def execv(_: str, command: list[str]) -> None:
        commands.append(command)
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(os, "execv", execv)
    return commands


def test_a_call_waits_a_moment_before_it_asks_to_try_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "WAIT_SECONDS", 0.05)
    place.thread.start()
    assert place.client.call("memory_list") == (backends.BEING_SET_UP, True)


def test_a_failure_is_answered_at_once_with_its_reason(place: Place) -> None:
    place.ours("failed").write_text("the disk is full. Free about 500 MB.\n")
    place.thread.start()
    text, is_error = place.client.call("memory_list")
    assert is_error
    assert text.startswith(
        "memem could not be set up: the disk is full. Free about 500 MB. memem retries automatically"
    )


def test_a_failure_that_left_no_reason_names_the_usual_one(place: Place) -> None:
    place.ours("failed").touch()
    assert f"the disk may be full, or memem cannot write to {place.venv}." in place.backend.failure()


def test_a_failed_start_of_the_set_up_gives_its_reason(place: Place) -> None:
    place.script("echo 'the folder is not ours.'")
    place.thread.start()
    text, _ = place.client.call("memory_list")
    assert text.startswith("memem could not be set up: the folder is not ours. memem retries")


def test_a_machine_without_bash_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(place.root))
    place.thread.start()
    text, _ = place.client.call("memory_list")
    assert "bash cannot be started (No such file or directory)." in text


def calls(place: Place) -> int:
    made = place.root / "bootstrap.sh.calls"
    return len(made.read_text().splitlines()) if made.exists() else 0


def tick_until(place: Place, done: Callable[[], bool]) -> None:
    for _ in range(int(PATIENCE / 0.01)):
        place.backend._poll_at = 0.0
        place.backend.tick()
        if done():
            return
        time.sleep(0.01)
    raise AssertionError("it does not come about")


def test_a_set_up_is_started_again_after_a_while_each_time_later(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1.0]
    monkeypatch.setattr(backends, "monotonic", lambda: now[0])
    place.backend.loop = place.loop
    for number, seconds in enumerate((0.0, 30.0, 60.0, 120.0, 240.0, 480.0, 600.0, 600.0)):
        if seconds:
            now[0] += seconds - 0.1
            place.backend._poll_at = 0.0
            place.backend.tick()
            assert place.backend._starter is None  # not yet
            now[0] += 0.1
        tick_until(place, lambda number=number: calls(place) == number + 1)  # type: ignore[misc]
        tick_until(place, lambda: place.backend._starter is None)


def test_a_set_up_under_way_is_left_alone(place: Place) -> None:
    place.ours("under-way").write_text(f"{os.getpid()}\n")
    place.backend.loop = place.loop
    place.backend.tick()
    assert place.backend._starter is None
    os.utime(place.ours("under-way"), (1, 1))  # the number of a process that is long over may be used again
    place.backend._poll_at = 0.0
    tick_until(place, lambda: calls(place) == 1)


@pytest.mark.parametrize("pid", ["", "x", "9" * 30, "999999999"])
def test_a_process_that_does_not_run(pid: str) -> None:
    assert is_running(str(os.getpid()))
    assert not is_running(pid)


def test_an_environment_is_complete_with_a_lock_file_and_no_interrupted_change(place: Place) -> None:
    assert not place.backend.is_complete()
    place.complete()
    assert place.backend.is_complete()
    place.ours("changing").write_text("999999999")
    assert not place.backend.is_complete()
    place.ours("changing").write_text(str(os.getpid()))
    assert place.backend.is_complete()


def test_unanswered_calls_are_handed_over_with_the_input(
    place: Place, monkeypatch: pytest.MonkeyPatch, replaced: list[list[str]]
) -> None:
    states: list[tuple[bool, bytes]] = []
    kept = backends._state_file

    def state_file(data: bytes) -> int | None:
        descriptor = kept(data)
        assert descriptor is not None
        assert os.get_inheritable(descriptor)
        states.append(read_state(descriptor))
        return os.open(os.devnull, os.O_RDONLY)

    monkeypatch.setattr(backends, "_state_file", state_file)
    monkeypatch.setattr(backends, "WAIT_SECONDS", PATIENCE)
    place.thread.start()
    place.client.begin()
    place.client.send("tools/call", name="memory_list", arguments={"limit": 3})
    os.write(place.client.to_server, b'{"half')
    while not (place.loop.unanswered and place.loop.input.rest):
        time.sleep(0.01)
    place.complete()
    (content,) = place.client.answer()["result"]["content"]
    assert f"{place.venv}/bin/python cannot be started" in content["text"]  # here it cannot be replaced
    is_initialized, data = states[0]
    line, _, rest = data.partition(b"\n")
    assert (is_initialized, rest) == (True, b'{"half')
    assert b'"memory_list","arguments":{"limit":3}' in line
    assert replaced[0][1:4] == ["-I", "-S", str(place.root / "memem" / "serve.py")]
    assert replaced[0][4] == "--state"


def test_a_process_that_cannot_be_replaced_leaves_no_descriptor_open(
    place: Place, monkeypatch: pytest.MonkeyPatch, replaced: list[list[str]]
) -> None:
    states: list[int | None] = []
    create = backends._state_file

    def state_file(data: bytes) -> int | None:
        states.append(create(data))
        return states[-1]

    monkeypatch.setattr(backends, "_state_file", state_file)
    place.complete()
    place.backend.loop = place.loop
    place.backend.tick()
    (state,) = states
    assert state is not None
    assert replaced[0][-1] == str(state)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(state)


def test_without_a_place_for_a_file_nothing_is_handed_over_that_would_be_lost(
    place: Place, monkeypatch: pytest.MonkeyPatch, replaced: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(**_: object) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    place.complete()
    place.backend.loop = place.loop
    place.loop._process_input(b'{"half')
    place.backend.tick()
    assert replaced == []
    place.loop._process_input(b'": 1}\n')
    place.loop.output = b""
    place.loop.is_initialized = True
    place.backend._poll_at = 0.0
    place.backend.tick()
    assert [command[4:] for command in replaced] == [["--initialized"]]
    assert "No space left on device" in capsys.readouterr().err


def test_a_client_that_is_still_to_be_answered_is_answered_first(place: Place, replaced: list[list[str]]) -> None:
    place.complete()
    place.backend.loop = place.loop
    place.loop.send({})
    place.backend.tick()
    assert replaced == []
