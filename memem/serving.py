"""The process behind `memem serve`: an MCP server for its session and, while it leads, the engine for all."""

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memem.core import files
from memem.core.errors import IndexDamaged, InputError, MememError
from memem.core.files import from_json
from memem.core.home import socket_address
from memem.core.surroundings import reachable
from memem.doors.engine.election import Engine
from memem.doors.engine.protocol import DONE, FAILED, OTHER, Reply, Request
from memem.doors.engine.refresher import Refresher
from memem.doors.engine.shared_workspace import SharedWorkspace
from memem.doors.mcp import tools
from memem.workspace import Workspace, open_workspace, reach

ROOT = str(Path(__file__).parents[1])
ERROR_CHARACTERS = 2_000
RETIRE_SECONDS = 60.0
TOOL_SECONDS = 15.0  # how long to wait for the leader before doing the work here
ALONE_SECONDS = 300.0  # how long the leader is not asked after that, since it may hang


class Opened:
    """One reading of the settings, with a workspace each for prompts and tools, so that neither waits."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.stamps = ws.settings_stamps()
        self.identity = ws.identity()
        self.prompts = SharedWorkspace(ws.twin)
        self.tools = SharedWorkspace(ws.twin)
        self.refresher = Refresher(ws.twin, log=log)

    def retire(self) -> None:
        """Close once work in progress had time to end."""
        self.refresher.stop()
        timer = threading.Timer(RETIRE_SECONDS, self.close)
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        for each in (self.refresher, self.prompts, self.tools):
            each.stop()


class Serving:
    """One server process."""

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
                before.retire()
            return self._opened

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Call a tool: in the leader, which has the encoder, or else in this process."""
        opened = self.opened
        place = {"cwd": str(opened.ws.session_folder), "session": opened.ws.session}
        if tools.changes_no_note(name) and not self.engine.is_leader:  # a write must not be done twice
            facts = {"settings": opened.identity, **place}
            reply = self._ask_leader(Request("tool", name, facts, json.dumps(arguments).encode()))
            if reply and reply.outcome == DONE:
                return reply.body.decode()
            if reply and reply.outcome == FAILED:
                raise MememError(reply.body.decode())
        return _call(opened, name, arguments, place)

    def _ask_leader(self, request: Request) -> Reply | None:
        if time.monotonic() < self._alone_until:
            return None
        until = time.monotonic() + TOOL_SECONDS
        reply = self.engine.ask(request, TOOL_SECONDS)
        if reply is None and time.monotonic() >= until:
            self._alone_until = time.monotonic() + ALONE_SECONDS
        return reply

    def answer(self, request: Request) -> Reply:
        """Answer a hook or another server as the leader."""
        opened = self.opened
        if request.kind == "tool":
            if request.facts.get("settings") != opened.identity:
                return Reply(OTHER)
            return Reply(DONE, _call(opened, request.name, _arguments(request.body), request.facts).encode())
        if not _has_same_settings(request.facts, opened):
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
    from memem.inject.answers import line

    return line(reachable(str(error), reach()), ERROR_CHARACTERS)


def _call(opened: Opened, name: str, arguments: dict[str, Any], place: Mapping[str, str]) -> str:
    cwd, session = Path(place.get("cwd", "")), place.get("session", "")
    return opened.tools.do(lambda ws: tools.call(ws, name, arguments, cwd=cwd, session=session))


def _arguments(body: bytes) -> dict[str, Any]:
    try:
        arguments = from_json(body)
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise InputError("The arguments of a tool must be a JSON object.")
    return arguments


def _has_same_settings(facts: Mapping[str, str], opened: Opened) -> bool:
    """Whether a hook uses the same home with the same settings, by the variables it sent."""
    if facts.get("root") != ROOT:
        return False
    try:
        client = open_workspace(actor="hook", environ=facts, folder=Path(facts.get("cwd", "")))
    except MememError:
        return False  # the hook reports the problem with its settings itself
    return client.identity() == opened.identity


def log(text: str) -> None:
    """Write to standard error, which Claude Code stores."""
    from memem.safety.gate import clean_line

    print(f"memem: {clean_line(text)}", file=sys.stderr, flush=True)  # noqa: T201
