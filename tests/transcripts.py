"""Session files as Claude Code writes them, with facts in them that the fake claude finds.

    session = Transcript(folder / "s1.jsonl", cwd=SHOP)
    session.tells("one")          # a person says the fact `one`, at length
    session.claude("Noted.")      # Claude answers
    session.tool("Bash", command="make")

Each line has a uuid of its own, unless it is given one, and is a minute younger than the one before it.
"""

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memem.core.conversation import HUMAN, Chunk
from memem.search import find, refresh
from memem.transcript.session import cursor_at
from memem.workspace import Workspace, open_workspace
from tests import fake_claude
from tests.fakes import START, SteppingClock

AT_LENGTH = "I say this at some length, since a few words alone are not worth a question to a model. " * 3
ECHO = {"echo": True, "reword": True}
"""A step of the fake claude: every fact is answered with, in other words each time."""


def work_folder(name: str) -> Path:
    """A folder that exists, as those do that people work in; the same for all tests and their processes."""
    folder = Path(tempfile.gettempdir(), "memem-tests", name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


SHOP = work_folder("shop")


def fact(name: str) -> str:
    """A statement that the fake claude makes a memory of. The prefix keeps a number word from reading as a value."""
    return f"FACT-{name}: The service called svc-{name} is restarted by hand."


class Transcript:
    """A session file that grows."""

    def __init__(self, path: Path, *, cwd: str | Path = SHOP, start: datetime = START) -> None:
        self.path = path
        self.session = path.stem
        self.cwd = str(cwd)
        self.now = start
        self._last: str | None = None
        self._count = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def tells(self, name: str, **more: Any) -> str:
        """A person says a fact, at a length that is worth mining; returns the line's uuid."""
        return self.human(f"{fact(name)}\n{AT_LENGTH}", **more)

    def human(self, text: str, **more: Any) -> str:
        return self.add(type="user", message={"role": "user", "content": text}, **more)

    def claude(self, text: str, **more: Any) -> str:
        message = {"role": "assistant", "id": "msg_1", "content": [{"type": "text", "text": text}]}
        return self.add(type="assistant", message=message, **more)

    def tool(self, name: str, **given: Any) -> str:
        block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": given}
        return self.add(type="assistant", message={"role": "assistant", "id": "msg_1", "content": [block]})

    def tool_succeeded(self, output: str = "") -> str:
        block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": output}
        return self.add(type="user", message={"role": "user", "content": [block]}, toolUseResult={"stdout": output})

    def tool_failed(self, complaint: str) -> str:
        block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": complaint, "is_error": True}
        return self.add(type="user", message={"role": "user", "content": [block]}, toolUseResult=complaint)

    def shows(self, text: str) -> str:
        """A hook of ours has put this before Claude."""
        return self.add(type="attachment", attachment={"type": "hook_additional_context", "content": [text]})

    def add(self, **value: Any) -> str:
        line = self.line(**value)
        self.raw(json.dumps(line).encode() + b"\n")
        return str(line["uuid"])

    def line(self, **value: Any) -> dict[str, Any]:
        """The next line, which is not written yet."""
        self.now += timedelta(minutes=1)
        self._count += 1
        common = {
            "parentUuid": self._last,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": "2.1.325",
            "gitBranch": "main",
            "uuid": f"{self.session}-{self._count:04}",
            "timestamp": self.now.isoformat(timespec="milliseconds"),
        }
        line = common | value
        self._last = str(line["uuid"])
        return line

    def raw(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)


def write_chunk(ws: Workspace, chunk: Chunk) -> Chunk:
    """Write the turns of a chunk to a transcript, and return the chunk as if it had been read from there."""
    transcript = Transcript(ws.home.root.parent / "read" / f"{chunk.session}-{chunk.turns[0].uuid}.jsonl")
    for turn in chunk.turns:
        say = transcript.human if turn.role == HUMAN else transcript.claude
        say(turn.text, uuid=turn.uuid, timestamp=turn.time)
    with transcript.path.open("rb") as file:
        cursor = cursor_at(file, transcript.path.stat().st_size)
    read = replace(chunk, inode=cursor.inode, offset=cursor.offset, digest=cursor.digest)
    return replace(read, path=str(transcript.path))


def open_miner(
    folder: Path, clock: SteppingClock | None, environ: Mapping[str, str] | None = None, **more: str
) -> Workspace:
    """A memory home that asks the claude in `folder/claude`, tries again at once, and waits by its own clock."""
    settings = {"PATH": str(folder / "claude"), "MEMEM_RETRY_BASE_SECONDS": "0", "MEMEM_MODEL_TIMEOUT": "30"}
    environ = {**(environ or os.environ), **settings, **more}
    home, vault = folder / "home", folder / "vault"
    if clock is None:
        return open_workspace(actor="test", home=home, vault=vault, environ=environ)
    opened = open_workspace(actor="test", home=home, vault=vault, environ=environ, clock=clock, ticks=clock.ticks)
    opened.pause = lambda seconds: clock.forward(seconds=seconds)
    return opened


def count_saved(ws: Workspace) -> dict[str, int]:
    """How many memories there are of each fact."""
    refresh.refresh(ws)
    return Counter(entry.memory.keys[0] for entry in find.list_memories(ws, limit=1_000))


def sent(claude: Path) -> dict[str, int]:
    """How often a model was sent each fact."""
    return Counter(name for call in fake_claude.calls(claude) for name in re.findall(r"FACT-(\w+):", call["stdin"]))


def once(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, 1)
