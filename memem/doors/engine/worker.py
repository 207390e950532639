"""A thread that owns a workspace: SQLite's connections belong to the thread that opened them."""

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from queue import SimpleQueue
from typing import Any, TypeVar

from memem.core.errors import Busy
from memem.workspace import Workspace

FAREWELL_SECONDS = 2.0

T = TypeVar("T")
_Job = tuple[Callable[[Workspace], Any], Future[Any]]


class Worker:
    """Does one thing after another. The workspace is opened when it is first needed, and again if that failed."""

    def __init__(self, open: Callable[[], Workspace], name: str = "memem-worker") -> None:
        self._open = open
        self._ws: Workspace | None = None
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def do(self, work: Callable[[Workspace], T], seconds: float | None = None) -> T:
        """What `work` returns, or raises, in the worker's thread.

        Raises Busy when it is not done within `seconds`: work that has not begun by then never does.
        """
        future: Future[T] = Future()
        self._jobs.put((work, future))
        if self._stopped.is_set():
            future.cancel()
        try:
            return future.result(seconds)
        except CancelledError:
            raise Busy("This memem is ending; nothing was done.") from None
        except TimeoutError:
            if future.done() and not future.cancelled():
                raise  # the work's own
            began = not future.cancel()
            what = "It takes longer" if began else "Other work takes longer"
            raise Busy(f"{what} than {seconds:g} s. Try again in a moment.") from None

    def stop(self) -> None:
        """Finish what is being done, drop what waits, and close the workspace; a work that hangs is left behind."""
        self._stopped.set()
        self._jobs.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(FAREWELL_SECONDS)

    def _run(self) -> None:
        try:
            while job := self._jobs.get():
                self._perform(*job)
        finally:
            if self._ws:
                self._ws.close()

    def _perform(self, work: Callable[[Workspace], Any], future: "Future[Any]") -> None:
        if self._stopped.is_set():
            future.cancel()
        if not future.set_running_or_notify_cancel():
            return
        try:
            if self._ws is None:
                self._ws = self._open()
            future.set_result(work(self._ws))
        except BaseException as problem:  # noqa: BLE001 - it is raised again, where the work was asked for
            future.set_exception(problem)
