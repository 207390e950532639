"""Work in the background: a process of its own, away from this terminal, that says what it has to say to its log."""

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memem.core import background

SCRIPT = f"""#!{sys.executable}
import os, sys
print(*sys.argv[1:], sep="\\n")
print("in", os.getcwd(), "with", os.environ.get("MEMEM_DIR"), "led by itself:", os.getsid(0) == os.getpid(), flush=True)
print("and a complaint", file=sys.stderr)
print("nobody to ask" if not sys.stdin.read() else "somebody")
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "home" / "run" / "encode.log"


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Those that were started, so that a test can wait for their end."""
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(real(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    return started


@pytest.fixture
def interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script that stands in for Python."""
    path = tmp_path / "python"
    path.write_text(SCRIPT)
    path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(path))
    return path


@pytest.fixture
def _somebody_to_ask() -> Iterator[None]:
    """There is something to be read on standard input."""
    kept = os.dup(0)
    reading, writing = os.pipe()
    os.write(writing, b"yes\n")
    os.close(writing)
    os.dup2(reading, 0)
    yield
    os.dup2(kept, 0)
    for descriptor in (kept, reading):
        os.close(descriptor)


def waited_for(processes: list[subprocess.Popen[bytes]]) -> int:
    (process,) = processes
    return process.wait(timeout=30)


@pytest.mark.usefixtures("interpreter", "_somebody_to_ask")
def test_memem_is_started_with_its_arguments_in_a_session_of_its_own_and_speaks_to_its_log(
    log: Path, processes: list[subprocess.Popen[bytes]]
) -> None:
    background.start_memem(["encode", "--background"], {"MEMEM_DIR": "a home"}, log)
    assert waited_for(processes) == 0
    assert log.read_text().splitlines() == [
        *("-P", str(background.MAIN_FILE), "encode", "--background"),
        f"in {log.parent} with a home led by itself: True",
        "and a complaint",
        "nobody to ask",
    ]


@pytest.mark.usefixtures("interpreter")
def test_log_is_emptied_and_private(log: Path, processes: list[subprocess.Popen[bytes]]) -> None:
    log.parent.mkdir(parents=True)
    log.write_text("what the one before had to say\n")
    log.chmod(0o644)
    background.start_memem([], {}, log)
    waited_for(processes)
    assert "the one before" not in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700


@pytest.mark.usefixtures("interpreter")
def test_a_process_that_has_ended_is_not_left_behind(log: Path, processes: list[subprocess.Popen[bytes]]) -> None:
    before = set(threading.enumerate())
    background.start_memem([], {}, log)
    for waiting in set(threading.enumerate()) - before:
        waiting.join(30)
    assert processes[0].returncode is not None
    with pytest.raises(ChildProcessError):
        os.waitpid(processes[0].pid, os.WNOHANG)


def test_memem_itself_is_started(log: Path, processes: list[subprocess.Popen[bytes]]) -> None:
    background.start_memem(["--version"], {}, log)
    assert waited_for(processes) == 0
    assert log.read_text().startswith("memem ")


def test_an_interpreter_that_cannot_be_started_is_an_error_of_the_system(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    with pytest.raises(OSError, match="gone"):
        background.start_memem([], {}, log)
