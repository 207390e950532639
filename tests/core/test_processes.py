"""Other processes: told apart from those that have their pid later, and ended with all that they started."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memem.core import processes
from tests.fake_claude import ends

SLEEPS = "import time; print(flush=True); time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
PARENT = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {STUBBORN!r}], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
child.wait()
"""
DYING_PARENT = f"""
import os, signal, subprocess, sys
from memem.core import processes
child = subprocess.Popen(
    [sys.executable, "-c", {SLEEPS!r}], stdout=subprocess.PIPE, preexec_fn=processes.die_with_parent()
)
child.stdout.readline()
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""

Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a program in a group of its own, and go on when it has said something."""
    running: list[subprocess.Popen[str]] = []

    def begin(code: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True))
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def test_a_process_is_the_same_for_as_long_as_it_runs(start: Start) -> None:
    process = start(SLEEPS)
    read_line(process)
    begun = processes.read_start_time(process.pid)
    assert begun
    assert processes.is_same(process.pid, begun)
    assert not processes.is_same(process.pid, begun + "1")


def test_one_that_has_ended_is_gone_even_before_its_parent_has_looked(start: Start) -> None:
    process = start("pass")
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert processes.read_start_time(process.pid) is None
    process.wait()
    assert processes.read_start_time(process.pid) is None
    assert not processes.is_same(process.pid, "0")


@pytest.mark.skipif(sys.platform != "linux", reason="a program's own name is in /proc only")
def test_a_name_with_brackets_and_spaces_does_not_hide_the_start(tmp_path: Path) -> None:
    program = tmp_path / "a) Z (b 1"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "60"]) as process:
        begun = processes.read_start_time(process.pid)
        process.kill()
    assert begun
    assert begun.isdecimal()


@pytest.mark.skipif(os.name != "posix", reason="there is no ps")
def test_without_proc_ps_gives_the_start_time(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_ON_LINUX", False)
    process = start(SLEEPS)
    read_line(process)
    begun = processes.read_start_time(process.pid)
    assert begun
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert processes.is_same(process.pid, begun)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert processes.read_start_time(process.pid) is None
    process.wait()
    assert processes.read_start_time(process.pid) is None


def test_where_nothing_tells_the_start_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_ON_LINUX", False)
    monkeypatch.setattr(os, "defpath", "/nowhere")
    assert processes.read_start_time(os.getpid()) is None
    assert processes.die_with_parent() is None


def test_a_group_ends_with_its_leader_without_waiting_for_those_that_ignore_it(start: Start) -> None:
    leader = start(PARENT)
    child = int(read_line(leader))
    begun = time.monotonic()
    processes.end_group(leader.pid)
    assert time.monotonic() - begun < processes.GRACE_SECONDS
    assert leader.wait(10) == -signal.SIGTERM
    assert ends(child)


def test_a_leader_that_ignores_the_request_is_made_to_end(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE_SECONDS", 0.05)
    leader = start(STUBBORN)
    read_line(leader)
    processes.end_group(leader.pid)
    assert leader.wait(10) == -signal.SIGKILL


def test_a_child_that_outlives_its_leader_is_ended_too(start: Start) -> None:
    leader = start(PARENT)
    child = int(read_line(leader))
    leader.kill()
    leader.wait()
    processes.end_group(leader.pid)
    assert ends(child)


def test_ending_a_missing_group_does_nothing(start: Start) -> None:
    process = start("pass")
    process.wait()
    for pid in (process.pid, 0, -1, 1):
        processes.end_group(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a parent-death signal")
def test_a_child_dies_with_a_parent_that_is_killed(start: Start) -> None:
    parent = start(DYING_PARENT)
    child = int(read_line(parent))
    assert parent.wait(10) == -signal.SIGKILL
    assert ends(child)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a parent-death signal")
def test_a_child_whose_parent_is_gone_already_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = processes.die_with_parent()
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert subprocess.run([sys.executable, "-c", "pass"], preexec_fn=prepare, check=False).returncode == 1
