"""The backend that loads memem behind the loop and calls its tools; see `protocol.py`."""

import _thread
import sys
from collections import deque
from time import monotonic

from memem.doors.mcp.loop import Backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
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
        """Return the service, loading it if that has not worked before."""
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
