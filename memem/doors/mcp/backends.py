"""The backends of the loop: `Calls` loads memem and calls its tools, `Waiting` waits for its environment.

See `protocol.py` for the Python they run on.
"""

import _thread
import os
import sys
import time
from collections import deque
from time import monotonic

from memem.doors.mcp.loop import Backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import Popen
    from typing import Any, Protocol

    from memem.doors.mcp.loop import Call

    class Service(Protocol):
        """memem, loaded: `memem.serving.Serving`."""

        @property
        def tools(self) -> str: ...
        def result(self, name: str, arguments: "dict[str, Any]") -> "tuple[str, bool]": ...
        def close(self) -> None: ...


# memem is loaded this long after the start, or with the first call. Sooner it would compete with the first hooks.
LOAD_AFTER_SECONDS = 1.0
LOAD_SECONDS = 30.0
POLL_SECONDS = 1.0
FLUSH_SECONDS = 0.05
WAIT_SECONDS = 5.0  # how long a call waits for a set-up in progress
RETRY_SECONDS, LONGEST_RETRY_SECONDS = 30.0, 600.0
UNDER_WAY_SECONDS = 1800.0
BEING_SET_UP = "memem is being set up in the background (this takes about a minute the first time). Try again shortly."
FAILED = "memem could not be set up: {} memem retries automatically; the tools work once the cause is fixed."
UNKNOWN = "the disk may be full, or memem cannot write to {}."
STILL_LOADING = "memem is still loading after {:.0f} seconds; the disk may be slow. Try again shortly."


class Calls(Backend):
    """A thread that loads the service and calls its tools, one at a time. It never holds up the protocol."""

    def __init__(self, load: "Callable[[], Service]", describe: "Callable[[BaseException], str]") -> None:
        """`describe` turns an exception into the text of a tool error."""
        self._load, self._describe = load, describe
        self._service: "Service | None" = None
        self._problem = ""
        self._waiting: "deque[Call]" = deque()
        self._has_work = _thread.allocate_lock()
        self._has_work.acquire()
        self._is_wanted = self._has_begun = False
        self._started = monotonic()

    def prepare(self) -> None:
        """Load memem as soon as the client has its answer; the imports would delay it."""
        self._is_wanted = True

    def submit(self, call: "Call") -> None:
        self.prepare()
        self._waiting.append(call)
        try:  # noqa: SIM105 - contextlib would have to be imported
            self._has_work.release()
        except RuntimeError:
            pass  # it has been released already

    def tick(self) -> "float | None":
        if not self._has_begun:
            left = self._started + LOAD_AFTER_SECONDS - monotonic()
            if not self._is_wanted and left > 0:
                return left
            if not self.loop.output:
                import threading  # here, so that it registers this thread as the main one, after the first answer

                self._has_begun = True
                threading.Thread(target=self._work, name="memem calls", daemon=True).start()
        if self._service is not None or not self.loop.unanswered:
            return None
        left = self.loop.unanswered[0].received + LOAD_SECONDS - monotonic()
        if left > 0:
            return left
        self.loop.deliver(self.loop.unanswered[0], STILL_LOADING.format(LOAD_SECONDS), True)
        return 0.0

    def close(self) -> None:
        """Close the service. A call in progress is left to end with the process."""
        service, self._service = self._service, None
        if service is not None:
            service.close()

    def _work(self) -> None:
        self._ensure_loaded()
        while True:
            while self._waiting:
                call = self._waiting.popleft()
                if not call.is_settled:
                    self._answer(call)
            self._has_work.acquire()  # which `submit` releases

    def _answer(self, call: "Call") -> None:
        service = self._ensure_loaded()
        try:
            text, is_error = service.result(call.name, call.arguments) if service else (self._problem, True)
        except Exception as error:  # noqa: BLE001 - the outermost function of a door
            text, is_error = self._describe(error), True

        def deliver() -> None:
            self.loop.deliver(call, text, is_error)
            if service:
                self.loop.set_tools(service.tools)

        self.loop.call_soon(deliver)

    def _ensure_loaded(self) -> "Service | None":
        if self._service is not None:
            return self._service
        try:
            service = self._load()
        except Exception as error:  # noqa: BLE001 - the outermost function of a door
            self._problem = self._describe(error)
            print("memem:", self._problem, file=sys.stderr, flush=True)
            self.loop.call_soon(lambda: self.loop.set_tools("default"))
            return None
        self._service = service
        self.loop.call_soon(lambda: self.loop.set_tools(service.tools))
        return service


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
        try:
            changed = os.stat(os.path.join(self._venv, ".memem", "under-way")).st_mtime
        except OSError:
            return False
        return abs(time.time() - changed) < UNDER_WAY_SECONDS and is_running(self._read("under-way") or "")

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
        state = _state_file(b"%d\n" % self.loop.is_initialized + lines + self.loop.input.rest)
        if state is None and (self.loop.unanswered or self.loop.input.rest):
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
