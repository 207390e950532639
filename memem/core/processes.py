"""Identify other processes, and end them with their children."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

GRACE_SECONDS = 0.5  # between SIGTERM and SIGKILL
NICENESS = 10  # of background processes
AUTOGROUP = Path("/proc/self/autogroup")

_ON_LINUX = sys.platform == "linux"
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only SIGTERM


def give_way() -> None:
    """Lower the priority of this process. Linux divides time among sessions first, so its session's is lowered too."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    with suppress(OSError):  # another system
        AUTOGROUP.write_bytes(b"%d" % NICENESS)


def read_start_time(pid: int) -> str | None:
    """Return a process's start time, in a format of the system; None when it does not run."""
    if not _ON_LINUX:
        return _ask_ps(pid)
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the command in brackets, which may contain brackets and spaces.
    state, *fields = line.rpartition(")")[2].split()
    return None if state in "ZX" else fields[18]


def _ask_ps(pid: int) -> str | None:
    # The text has to be the same in every locale and time zone.
    command = ["ps", "-o", "state=", "-o", "lstart=", "-p", str(pid)]
    environ = {"LC_ALL": "C", "TZ": "UTC", "PATH": os.defpath}
    try:
        answer = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    state, *start = answer.stdout.split() or ["Z"]
    return None if state.startswith("Z") else " ".join(start)


def is_same(pid: int, start: str) -> bool:
    """Check that the pid has not been reused: its process started at `start`, and still runs."""
    return read_start_time(pid) == start


def read_boot_id() -> str:
    """Return an id of this run of the machine, within which pids are valid; empty if there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def end_group(pid: int) -> bool:
    """End a process group by SIGTERM, then SIGKILL; return False if its leader was gone already."""
    if pid <= 1 or not _signal_group(pid, signal.SIGTERM):
        return False
    until = time.monotonic() + GRACE_SECONDS
    while read_start_time(pid) and time.monotonic() < until:
        time.sleep(0.02)
    _signal_group(pid, _KILL)
    return True


def die_with_parent() -> Callable[[], None] | None:
    """Return a preexec_fn for Popen that kills the child when the thread that started it ends; None if unsupported."""
    if not _ON_LINUX:
        return None
    try:
        prctl = ctypes.PyDLL(None).prctl  # CDLL would release the interpreter's lock, after a fork
    except (OSError, AttributeError):
        return None
    parent = os.getpid()  # looked up before: between fork and exec hardly anything is allowed

    def prepare() -> None:
        prctl(_SET_PARENT_DEATH_SIGNAL, int(_KILL))
        if os.getppid() != parent:  # it ended before the signal was set
            os._exit(1)

    return prepare


def _signal_group(pid: int, what: signal.Signals) -> bool:
    try:
        getattr(os, "killpg", os.kill)(pid, what)
    except OSError:
        return False
    return True
