"""The backend while the environment is being set up, in which it then continues this process; see `protocol.py`."""

import os
import sys
import time
from time import monotonic

from memem.doors.mcp.loop import Backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

POLL_SECONDS = 1.0
FLUSH_SECONDS = 0.05
WAIT_SECONDS = 5.0  # how long a call waits for a set-up in progress
RETRY_SECONDS, LONGEST_RETRY_SECONDS = 30.0, 600.0
UNDER_WAY_SECONDS = 1800.0
BEING_SET_UP = "memem is being set up in the background (about a minute on a first start). Try again shortly."
FAILED = "memem could not be set up: {} memem retries automatically; the tools work once the cause is fixed."
UNKNOWN = "the disk may be full, or {} cannot be written."


class Waiting(Backend):
    """Watches the environment that `bootstrap.sh` makes."""

    def __init__(self, root: str, venv: str) -> None:
        self._root, self._venv = root, venv
        self._poll_at = self._retry_at = 0.0
        self._retry_seconds = RETRY_SECONDS
        self._starter: "Popen[bytes] | None" = None
        self._refusal = ""

    def tick(self) -> float:
        now = monotonic()
        if now >= self._poll_at:
            self._poll_at = now + POLL_SECONDS
            self._poll()
        failure = self.failure()
        for call in list(self.loop.unanswered):
            if failure:
                self.loop.deliver(call, failure, True)
            elif now >= call.received + WAIT_SECONDS:
                self.loop.deliver(call, BEING_SET_UP, True)
        return max(0.0, self._poll_at - monotonic())

    def failure(self) -> str:
        """Why there is no environment, and what to do; empty while the first set-up is in progress."""
        if self._refusal:
            return FAILED.format(self._refusal)
        reason = self._read("failed")
        return "" if reason is None else FAILED.format(reason.strip() or UNKNOWN.format(self._venv))

    def is_complete(self) -> bool:
        """Whether the environment can be used; the same test as in `hooks/memem`."""
        is_made = os.access(os.path.join(self._venv, "bin", "python"), os.X_OK)
        changing = self._read("changing")
        return is_made and self._read("requirements.lock") is not None and (changing is None or is_running(changing))

    def _poll(self) -> None:
        if self.is_complete():
            self._hand_over()
        elif self._starter is not None:
            if self._starter.poll() is not None:
                output, _ = self._starter.communicate()  # why a set-up cannot begin, or nothing
                lines = output.decode("utf-8", "replace").strip().splitlines()
                self._refusal = lines[-1] if lines else ""
                self._starter = None
        elif monotonic() >= self._retry_at and not self._is_under_way():
            self._start_set_up()

    def _is_under_way(self) -> bool:
        path = os.path.join(self._venv, ".memem", "under-way")
        try:
            is_recent = abs(time.time() - os.stat(path).st_mtime) < UNDER_WAY_SECONDS
        except OSError:
            return False
        return is_recent and is_running(self._read("under-way") or "")

    def _start_set_up(self) -> None:
        """Have bootstrap.sh begin a set-up, which outlives this process."""
        import subprocess

        self._retry_at = monotonic() + self._retry_seconds
        self._retry_seconds = min(2 * self._retry_seconds, LONGEST_RETRY_SECONDS)
        command = ["bash", os.path.join(self._root, "bootstrap.sh"), "begin", "--set-up"]
        try:
            self._starter = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as problem:
            self._refusal = "bash cannot be started ({}).".format(problem.strerror)

    def _hand_over(self) -> None:
        """Continue in the environment, in the same process; the client notices nothing."""
        if self.loop.output:
            self._poll_at = monotonic() + FLUSH_SECONDS
            return
        lines = b"".join(call.line for call in self.loop.unanswered)
        state = _state_file(b"%d\n" % self.loop.is_initialized + lines + self.loop.received)
        if state is None and (self.loop.unanswered or self.loop.received):
            return  # calls are answered in a moment, and their client can repeat them
        python = os.path.join(self._venv, "bin", "python")
        command = [python, "-I", "-S", os.path.join(self._root, "memem", "serve.py")]
        if state is not None:
            command += ["--state", str(state)]
        elif self.loop.is_initialized:
            command += ["--initialized"]
        kept = os.dup(0), os.dup(1)
        os.dup2(self.loop.source, 0)
        os.dup2(self.loop.sink, 1)
        try:
            os.execv(python, command)
        except OSError as problem:
            os.dup2(kept[0], 0)
            os.dup2(kept[1], 1)
            self._refusal = "{} cannot be started ({}).".format(python, problem.strerror)
        finally:
            for descriptor in kept if state is None else (*kept, state):
                os.close(descriptor)

    def _read(self, name: str) -> "str | None":
        try:
            with open(os.path.join(self._venv, ".memem", name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return None


def is_running(pid: str) -> bool:
    """Whether a process with this number runs."""
    try:
        os.kill(int(pid), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except OSError:
        return True  # another user's
    return True


def read_state(descriptor: int) -> "tuple[bool, bytes]":
    """Read the state of the previous process: whether the client has initialized, and input to process."""
    with os.fdopen(descriptor, "rb") as file:
        flag, _, data = file.read().partition(b"\n")
    return flag == b"1", data


def _state_file(data: bytes) -> "int | None":
    """Return an inheritable descriptor of an unnamed file; None if it cannot be written."""
    import tempfile

    try:
        with tempfile.TemporaryFile(prefix="memem-") as file:
            file.write(data)
            file.seek(0)
            descriptor = os.dup(file.fileno())
    except OSError as problem:
        print("memem:", problem, file=sys.stderr, flush=True)
        return None
    os.set_inheritable(descriptor, True)
    return descriptor
