"""The model's processes: one that outlived its miner is ended by whoever comes next, and nobody else's ever is."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memem.core import processes
from memem.state.calls import Children
from memem.state.database import State
from tests import fake_claude

SLEEPER = [sys.executable, "-IS", "-c", "import time; print(flush=True); time.sleep(60)"]
NOBODY = 2**22 + 1
"""A pid that no process has."""


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    with closing(State(tmp_path / "state" / "state.db", fsync=False)) as state:
        yield state.children


@pytest.fixture
def call() -> Iterator[subprocess.Popen[bytes]]:
    """A process that leads a group, as a call of the model does."""
    process = subprocess.Popen(SLEEPER, stdout=subprocess.PIPE, start_new_session=True)
    with process:
        assert process.stdout
        process.stdout.readline()
        yield process
        process.kill()


def started(process: subprocess.Popen[bytes]) -> str:
    return processes.read_start_time(process.pid) or ""


def lose_miner(children: Children, *, pid: int = NOBODY) -> None:
    """The miner that waits for the calls is gone."""
    children._connect().execute("UPDATE children SET miner = ?, miner_started = 'long ago'", (pid,))


def rows(children: Children) -> int:
    return int(children._connect().execute("SELECT count(*) FROM children").fetchone()[0])


def test_a_call_whose_miner_is_there_is_left_alone(children: Children, call: subprocess.Popen[bytes]) -> None:
    children.add(call.pid, started(call))
    assert children.end_orphans() == 0
    assert call.poll() is None
    assert rows(children) == 1


def test_a_call_whose_miner_is_gone_is_ended(children: Children, call: subprocess.Popen[bytes]) -> None:
    children.add(call.pid, started(call))
    lose_miner(children)
    assert children.end_orphans() == 1
    assert call.wait(30) != 0
    assert rows(children) == 0


def test_a_miner_whose_pid_another_process_has_now_is_gone(children: Children, call: subprocess.Popen[bytes]) -> None:
    children.add(call.pid, started(call))
    lose_miner(children, pid=os.getpid())
    assert children.end_orphans() == 1
    assert call.wait(30) != 0


def test_a_process_that_has_the_pid_of_an_old_call_is_left_alone(
    children: Children, call: subprocess.Popen[bytes]
) -> None:
    children.add(call.pid, "long before it was started")
    lose_miner(children)
    assert children.end_orphans() == 0
    assert call.poll() is None
    assert rows(children) == 0


def test_a_call_that_has_ended_by_itself_is_only_struck_out(children: Children) -> None:
    children.add(NOBODY, "1")
    lose_miner(children)
    assert children.end_orphans() == 0
    assert rows(children) == 0


def test_a_call_that_is_over_is_not_looked_for(children: Children, call: subprocess.Popen[bytes]) -> None:
    children.add(call.pid, started(call))
    children.remove(call.pid)
    assert rows(children) == 0


def test_a_pid_that_is_used_again_is_written_down_anew(children: Children, call: subprocess.Popen[bytes]) -> None:
    children.add(call.pid, "long ago")
    children.add(call.pid, started(call))
    lose_miner(children)
    assert children.end_orphans() == 1


def test_every_orphan_is_ended_not_only_the_first(children: Children, call: subprocess.Popen[bytes]) -> None:
    with subprocess.Popen(SLEEPER, stdout=subprocess.PIPE, start_new_session=True) as second:
        assert second.stdout
        second.stdout.readline()
        for each in (call, second):
            children.add(each.pid, started(each))
        lose_miner(children)
        assert children.end_orphans() == 2
        assert second.wait(30) != 0


PARENT = "import subprocess, sys, time; print(subprocess.Popen(sys.argv[1:]).pid, flush=True); time.sleep(60)"


def test_what_a_call_started_is_ended_too_when_the_call_itself_is_gone(children: Children) -> None:
    command = [sys.executable, "-IS", "-c", PARENT, *SLEEPER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as call:
        assert call.stdout
        left = int(next(line for line in call.stdout if line.strip()))
        children.add(call.pid, started(call))
        call.kill()
        call.wait()
        lose_miner(children)
        assert children.end_orphans() == 1
        assert fake_claude.ends(left)


def test_nothing_is_ended_by_a_pid_of_before_the_machine_was_started(
    children: Children, call: subprocess.Popen[bytes]
) -> None:
    children.add(call.pid, started(call))
    lose_miner(children)
    children._connect().execute("UPDATE children SET boot = 'another one'")
    assert children.end_orphans() == 0
    assert call.poll() is None
    assert rows(children) == 0
