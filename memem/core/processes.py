"""Other processes: which one a pid stands for, and how to end it with all that it has started."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

GRACE_SECONDS = 0.5
"""What a process that is asked to end gets to do so, before it is made to."""

POLITE = 10
"""How far a process in the background steps back behind everything that somebody waits for."""
AUTOGROUP = Path("/proc/self/autogroup")

_ON_LINUX = sys.platform == "linux"
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no other way to end a process


def give_way() -> None:
    """Step back behind everything that somebody waits for. Linux shares its time among sessions first, and what runs in
    the background has one of its own: that steps back too."""
    if hasattr(os, "nice"):
        os.nice(POLITE)
    with suppress(OSError):  # another system
        AUTOGROUP.write_bytes(b"%d" % POLITE)


def started(pid: int) -> str | None:
    """A text that tells this very process from a later one with the same pid; None when there is none, or a dead one.

    It is compared, never read: a system writes start times as it likes.
    """
    return _start_in_proc(pid) if _ON_LINUX else _start_by_ps(pid)


def is_same(pid: int, start: str) -> bool:
    """Whether the process that was started then still runs."""
    return started(pid) == start


def boot() -> str:
    """Names the time since this machine was started: pids of another time mean nothing. Empty where nobody tells."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def end_group(pid: int) -> bool:
    """End a process that leads a group, and the group: by request, then by force. False when it was gone already.

    Once the leader has ended, the rest is not waited for: nobody is left to use what they do.
    """
    if pid <= 1 or not _tell_group(pid, signal.SIGTERM):
        return False
    until = time.monotonic() + GRACE_SECONDS
    while started(pid) and time.monotonic() < until:
        time.sleep(0.02)
    _tell_group(pid, _KILL)
    return True


def die_with_parent() -> Callable[[], None] | None:
    """For Popen's preexec_fn: the child is killed when the thread that started it ends. None where that cannot be had.

    Between fork and exec next to nothing is allowed, so everything is looked up here, before.
    """
    if not _ON_LINUX:
        return None
    try:
        prctl = ctypes.PyDLL(None).prctl  # PyDLL: the other kind lets go of the interpreter's lock, after a fork
    except (OSError, AttributeError):
        return None
    parent = os.getpid()

    def prepare() -> None:
        prctl(_SET_PARENT_DEATH_SIGNAL, int(_KILL))
        if os.getppid() != parent:  # it ended before the signal was agreed
            os._exit(1)

    return prepare


def _tell_group(pid: int, what: signal.Signals) -> bool:
    """False when there is nobody to tell, or nobody of ours."""
    tell = getattr(os, "killpg", os.kill)
    try:
        tell(pid, what)
    except OSError:
        return False
    return True


def _start_in_proc(pid: int) -> str | None:
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the command in brackets, and may itself hold brackets and spaces.
    state, *fields = line.rpartition(")")[2].split()
    return None if state in "ZX" else fields[18]


def _start_by_ps(pid: int) -> str | None:
    # Without the user's locale and zone: the text has to be the same whoever asks.
    command = ["ps", "-o", "state=", "-o", "lstart=", "-p", str(pid)]
    environ = {"LC_ALL": "C", "TZ": "UTC", "PATH": os.defpath}
    try:
        answer = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    state, *start = answer.stdout.split() or ["Z"]
    return None if state.startswith("Z") else " ".join(start)
