"""The process behind `memem serve`: an MCP server for its session and, while it leads, the engine for all."""

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from memem.core import files
from memem.core.errors import Busy, IndexDamaged, InputError, MememError
from memem.core.files import from_json
from memem.core.home import socket_address
from memem.core.surroundings import reachable
from memem.doors.engine.election import Engine
from memem.doors.engine.protocol import DONE, FAILED, OTHER, Reply, Request
from memem.doors.engine.refresher import Refresher
from memem.doors.mcp import tools
from memem.workspace import Workspace, open_workspace, reach

ROOT = str(Path(__file__).parents[1])
ERROR_CHARACTERS = 2_000
STOP_SECONDS = 2.0
RETIRE_SECONDS = 60.0
TOOL_SECONDS = 15.0  # how long to wait for the leader before doing the work here
ALONE_SECONDS = 300.0  # how long the leader is not asked after that, since it may hang

T = TypeVar("T")


class SharedWorkspace:
    """A workspace that threads use one at a time: opened on first use, and again if that failed."""

    def __init__(self, open: Callable[[], Workspace]) -> None:
        self._open = open
        self._ws: Workspace | None = None
        self._turn = threading.RLock()
        self._stopped = threading.Event()

    def do(self, work: Callable[[Workspace], T], seconds: float | None = None) -> T:
        """Do `work` in the calling thread. Raises Busy if its turn does not come within `seconds`."""
        if not self._turn.acquire(timeout=-1 if seconds is None else seconds):
            raise Busy(f"memem has been busy with other requests for {seconds:g} s. Try again in a moment.")
        try:
            if self._stopped.is_set():
                raise Busy("memem is shutting down; nothing was done.")
            if self._ws is None:
                self._ws = self._open()
            return work(self._ws)
        finally:
            if self._stopped.is_set():
                self._close()
            self._turn.release()

    def stop(self) -> None:
        """Refuse further work, and close the workspace after the work in progress, unless that hangs."""
        self._stopped.set()
        if self._turn.acquire(timeout=STOP_SECONDS):
            try:
                self._close()
            finally:
                self._turn.release()

    def _close(self) -> None:
        if self._ws:
            self._ws.close()
        self._ws = None


class Opened:
    """One reading of the settings, with a workspace each for prompts and tools, so that neither waits."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.stamps = ws.settings_stamps()
        self.identity = ws.identity()
        self.prompts = SharedWorkspace(ws.twin)
        self.tools = SharedWorkspace(ws.twin)
        self.refresher = Refresher(ws.twin, log=log)

    def close(self) -> None:
        for each in (self.refresher, self.prompts, self.tools):
            each.stop()


class Serving:
    def __init__(self) -> None:
        self._opened = Opened(open_workspace(actor="mcp"))
        self._opening = threading.Lock()
        self._alone_until = 0.0
        ws = self._opened.ws
        address = socket_address(ws.home.engine_lock.parent, ws.environ.get("XDG_RUNTIME_DIR", ""), os.getuid())
        self.engine = Engine(ws.home.engine_lock, address, self.answer, log=log)

    @property
    def opened(self) -> Opened:
        """The workspaces, reopened if the settings have changed. Raises SettingsError."""
        with self._opening:
            before = self._opened
            if before.ws.settings_stamps() != before.stamps:
                self._opened = Opened(open_workspace(actor="mcp").sharing(before.ws))
                before.refresher.stop()
                closing = threading.Timer(RETIRE_SECONDS, before.close)  # work in progress has time to end
                closing.daemon = True
                closing.start()
            return self._opened

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Call a tool: in the leader, which has the encoder, or else in this process."""
        opened = self.opened
        place = {"cwd": str(opened.ws.session_folder), "session": opened.ws.session}
        began = time.monotonic()
        # A write must not be done twice.
        if tools.changes_no_note(name) and not self.engine.is_leader and began >= self._alone_until:
            facts = {"settings": opened.identity, **place}
            reply = self.engine.ask(Request("tool", name, facts, json.dumps(arguments).encode()), TOOL_SECONDS)
            if reply is None and time.monotonic() >= began + TOOL_SECONDS:
                self._alone_until = time.monotonic() + ALONE_SECONDS
            if reply and reply.outcome == DONE:
                return reply.body.decode()
            if reply and reply.outcome == FAILED:
                raise MememError(reply.body.decode())
        return _call(opened, name, arguments, place)

    def answer(self, request: Request) -> Reply:
        """Answer a hook or another server as the leader."""
        opened = self.opened
        if request.kind == "tool":
            if request.facts.get("settings") != opened.identity:
                return Reply(OTHER)
            arguments = from_json(request.body)
            if not isinstance(arguments, dict):
                raise InputError("The arguments of a tool must be a JSON object.")
            return Reply(DONE, _call(opened, request.name, arguments, request.facts).encode())
        if request.facts.get("root") != ROOT:
            return Reply(OTHER)
        try:
            client = open_workspace(actor="hook", environ=request.facts, folder=Path(request.facts.get("cwd", "")))
        except MememError:
            return Reply(OTHER)  # the hook reports the problem with its settings itself
        if client.identity() != opened.identity:
            return Reply(OTHER)
        from memem.doors.hook.answers import answer

        def work(ws: Workspace) -> bytes:
            ws.wanted_until = until
            try:
                return answer(ws, request.name, request.body, environ=request.facts)
            finally:
                # A client that gave up has marked the engine as late; now that this is over, it is in time again.
                if ws.ticks() >= until:
                    files.remove_quietly(ws.home.engine_late)

        until = opened.ws.ticks() + (request.seconds or float("inf"))
        output = opened.prompts.do(work, request.seconds)
        opened.refresher.touch()
        return Reply(DONE, output)

    @property
    def tools(self) -> str:
        """The setting of the tools on offer, as last read."""
        return self._opened.ws.settings.tools

    def result(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """The text that answers a tool call, and whether it is an error. Never raises."""
        try:
            try:
                return self.call(name, arguments), False
            except IndexDamaged:  # it has been set aside, and is rebuilt now
                return self.call(name, arguments), False
        except MememError as error:
            return describe_error(error), True
        except Exception as error:  # noqa: BLE001 - the outermost function of a door
            traceback.print_exception(error)
            return f"unexpected {type(error).__name__} in {name}: {_one_line(error)}", True

    def close(self) -> None:
        self.engine.stop()
        self._opened.close()


def describe_error(error: BaseException) -> str:
    """An error in one line, which nothing quoted in it can leave."""
    line = _one_line(error)
    return line if isinstance(error, MememError) else f"unexpected {type(error).__name__}: {line}"


def _one_line(error: BaseException) -> str:
    from memem.safety.quote import one_line

    return one_line(reachable(str(error), reach()), ERROR_CHARACTERS)


def _call(opened: Opened, name: str, arguments: dict[str, Any], place: Mapping[str, str]) -> str:
    cwd, session = Path(place.get("cwd", "")), place.get("session", "")
    return opened.tools.do(lambda ws: tools.call(ws, name, arguments, cwd=cwd, session=session))


def log(text: str) -> None:
    """Write to standard error, which Claude Code stores."""
    from memem.safety.gate import clean_line

    print(f"memem: {clean_line(text)}", file=sys.stderr, flush=True)  # noqa: T201
