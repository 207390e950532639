"""`memem serve`: the doors that live in one process. An MCP server for its own session; and, while it leads, the engine
that answers the hooks and the servers of all."""

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
TOOL_SECONDS = 15.0
"""How long a server waits for the one that leads before it does the work itself."""
ALONE_SECONDS = 300.0
"""How long it then does so without asking: whoever leads may be stopped, and hang for hours."""


class Opened:
    """One reading of the settings, and who works by it: prompts never wait for what a tool is doing."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.stamps = ws.settings_stamps()
        self.identity = ws.identity()
        self.prompts = SharedWorkspace(ws.twin)
        self.tools = SharedWorkspace(ws.twin)
        self.refresher = Refresher(ws.twin, log=log)

    def retire(self) -> None:
        """Look at the vault no more; what was begun has its time to end."""
        self.refresher.stop()
        closing = threading.Timer(RETIRE_SECONDS, self.close)
        closing.daemon = True
        closing.start()

    def close(self) -> None:
        for each in (self.refresher, self.prompts, self.tools):
            each.stop()


class Serving:
    """What one server process does, for its own session and for others."""

    def __init__(self) -> None:
        self._opened = Opened(open_workspace(actor="mcp"))
        self._opening = threading.Lock()
        self._alone_until = 0.0
        ws = self._opened.ws
        where = socket_address(ws.home.engine_lock.parent, ws.environ.get("XDG_RUNTIME_DIR", ""), os.getuid())
        self.engine = Engine(ws.home.engine_lock, where, self.answer, log=log)

    @property
    def opened(self) -> Opened:
        """The settings as they are now: whoever changed them expects to be understood. Raises SettingsError."""
        with self._opening:
            before = self._opened
            if before.ws.settings_stamps() != before.stamps:
                self._opened = Opened(open_workspace(actor="mcp").sharing(before.ws))
                before.retire()
            return self._opened

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """What a tool says: through the server that leads, which has the encoder, or by our own work."""
        opened = self.opened
        place = {"cwd": str(opened.ws.session_folder), "session": opened.ws.session}
        if tools.changes_no_note(name) and not self.engine.is_leader:  # writing needs no encoder, is never done twice
            facts = {"settings": opened.identity, **place}
            reply = self._ask(Request("tool", name, facts, json.dumps(arguments).encode()))
            if reply and reply.outcome == DONE:
                return reply.body.decode()
            if reply and reply.outcome == FAILED:
                raise MememError(reply.body.decode())
        return _call(opened, name, arguments, place)

    def _ask(self, request: Request) -> Reply | None:
        """What the one that leads says; None when there is none, or it says nothing."""
        if time.monotonic() < self._alone_until:
            return None
        until = time.monotonic() + TOOL_SECONDS
        reply = self.engine.ask(request, TOOL_SECONDS)
        if reply is None and time.monotonic() >= until:
            self._alone_until = time.monotonic() + ALONE_SECONDS
        return reply

    def answer(self, request: Request) -> Reply:
        """What others ask of the one that leads."""
        opened = self.opened
        if request.kind == "tool":
            if request.facts.get("settings") != opened.identity:
                return Reply(OTHER)
            return Reply(DONE, _call(opened, request.name, _arguments(request.body), request.facts).encode())
        if not _is_of(request.facts, opened):
            return Reply(OTHER)
        from memem.doors.hook.answers import answer

        def work(ws: Workspace) -> bytes:
            ws.wanted_until = until
            try:
                return answer(ws, request.name, request.body, environ=request.facts)
            finally:
                # Who asked has given up, and told the others: from now on they are in time again.
                if ws.ticks() >= until:
                    files.remove_quietly(ws.home.engine_late)

        until = opened.ws.ticks() + (request.seconds or float("inf"))
        told = opened.prompts.do(work, request.seconds)
        opened.refresher.touch()
        return Reply(DONE, told)

    @property
    def tools(self) -> str:
        """Which tools the settings offer, as they were last read."""
        return self._opened.ws.settings.tools

    def result(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """The text that a tool call is answered with, and whether it is an error. Never raises."""
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
    """What an error says, in one line that nothing quoted in it can leave."""
    return (
        _one_line(error) if isinstance(error, MememError) else f"unexpected {type(error).__name__}: {_one_line(error)}"
    )


def _one_line(error: BaseException) -> str:
    from memem.inject.answers import line

    return line(reachable(str(error), reach()), ERROR_CHARACTERS)


def _call(opened: Opened, name: str, arguments: dict[str, Any], place: Mapping[str, str]) -> str:
    cwd, session = Path(place.get("cwd", "")), place.get("session", "")
    return opened.tools.do(lambda ws: tools.call(ws, name, arguments, cwd=cwd, session=session))


def _arguments(body: bytes) -> dict[str, Any]:
    try:
        given = from_json(body)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise InputError("The arguments of a tool are an object of JSON.")
    return given


def _is_of(facts: Mapping[str, str], opened: Opened) -> bool:
    """Whether a hook works on the same memory by the same settings: it tells the variables that they depend on."""
    if facts.get("root") != ROOT:
        return False
    try:
        asker = open_workspace(actor="hook", environ=facts, folder=Path(facts.get("cwd", "")))
    except MememError:
        return False  # it says itself what is wrong with its settings
    return asker.identity() == opened.identity


def log(what: str) -> None:
    """Claude Code keeps what its servers say aside."""
    from memem.safety.gate import clean_line

    print(f"memem: {clean_line(what)}", file=sys.stderr, flush=True)  # noqa: T201
