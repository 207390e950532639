"""The plugin as Claude Code runs it, in a home made for it: its hooks, each in a session of its own, and its server."""

import json
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count, cycle
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench import vaults
from bench.latency import Bed
from bench.meaning import fill
from bench.measure import Program, Task, bare_start
from memem.core.memory import CONVENTIONS, GENERAL, ORDINARY, PINNED, Memory
from memem.core.surroundings import ROOT
from memem.model.plugin import HOOKS
from memem.search import refresh
from memem.search.passages import passage_key, split_passages
from memem.search.transcripts import consent
from memem.upkeep.checks.hooks import ENVELOPES, SHELL, read_hooks

PROJECT = vaults.PROJECTS[1]
ASKED_ABOUT, MEANT = 100, 1_000
"""Prompts are about those of the first notes that a session of the project may see; of so many, those have vectors of
their own."""
PINNED_NOTES, CONVENTION_NOTES = 4, 12
FILE = Path("src", "checkout", "basket.py")
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
LEAD_TRIES, LEAD_SECONDS = 100, 0.1
VERSION = "2025-06-18"
CLOSE_SECONDS = 10.0
_USER_OPTION = re.compile(r"\$\{user_config\.\w+\}")
_OUTCOME = """
import sys
sys.path.insert(0, sys.argv[1])
from memem.doors.hook.client import ask_engine
print(ask_engine("PermissionRequest", b"{}")[0])
"""

Told = Callable[[Path], Mapping[str, Any]]
"""The fields of one event's payload beyond the common ones, given the session's transcript."""


class Hook:
    """The hook of an event as a task: its command through a shell, the envelope on standard input."""

    def __init__(
        self, event: str, environ: Mapping[str, str], folder: Path, transcripts: Path, told: Told = lambda _: {}
    ) -> None:
        (command,) = [hook.command for hook in read_hooks(ROOT / HOOKS) if hook.event == event]
        self.event = event
        self.sessions: list[str] = []
        self._folder = folder
        self._transcripts = transcripts
        self._told = told
        self._program = Program(lambda: (SHELL, "-c", command), environ, folder, self._envelope)

    def __call__(self) -> float:
        return self._program()

    @property
    def peaks(self) -> list[int]:
        return self._program.peaks

    def _envelope(self) -> bytes:
        session = str(uuid.uuid4())
        self.sessions.append(session)
        transcript = self._transcripts / f"{session}.jsonl"
        about = {"session_id": session, "transcript_path": str(transcript), "cwd": str(self._folder)}
        told = {**about, "hook_event_name": self.event, **ENVELOPES[self.event], **self._told(transcript)}
        return json.dumps(told).encode()


class Server:
    """One that has told its tools."""

    def __init__(self, environ: Mapping[str, str], folder: Path, root: Path | None = None) -> None:
        root = root or ROOT
        told = json.loads((root / ".mcp.json").read_bytes())["mcpServers"]["memem"]
        command = [part.replace("${CLAUDE_PLUGIN_ROOT}", str(root)) for part in (told["command"], *told["args"])]
        unset = {name: _USER_OPTION.sub("", value) for name, value in told.get("env", {}).items()}
        self._numbers = count(1)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**environ, **unset}, cwd=folder
        )
        self._request(
            "initialize", protocolVersion=VERSION, capabilities={}, clientInfo={"name": "bench", "version": "1"}
        )
        self._send({"method": "notifications/initialized"})
        self.tools = [tool["name"] for tool in self._request("tools/list")["tools"]]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End it as Claude Code does, by closing its input."""
        try:
            self._process.communicate(timeout=CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def search(self, query: str) -> str:
        """Call `memory_search` and return its text."""
        return self.call("memory_search", {"query": query})

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool and return its text."""
        result = self._request("tools/call", name=tool, arguments=arguments)
        said = str(result["content"][0]["text"])
        if result.get("isError"):
            raise RuntimeError(f"{tool} failed: {said}")
        return said

    @property
    def pid(self) -> int:
        return self._process.pid

    def resident(self) -> int:
        """How many bytes of memory it holds, those of mapped files included."""
        shown = subprocess.run(["ps", "-o", "rss=", "-p", str(self._process.pid)], stdout=subprocess.PIPE, check=True)
        return int(shown.stdout) * 1024

    def _request(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        assert self._process.stdout
        for line in self._process.stdout:
            reply = json.loads(line)
            if reply.get("id") == number:
                return dict(reply["result"])
        self.close()
        raise RuntimeError(f"The server ended instead of answering {method}.")

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin
        with suppress(BrokenPipeError):  # whoever waits for an answer learns that there is none
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._process.stdin.flush()


class Scene:
    """A home with vectors in which mining is on, and the folder of a project that sessions are about."""

    def __init__(self, bed: Bed) -> None:
        self.notes = bed.notes
        self.ws = bed.workspace
        self.folder = bed.folder / PROJECT
        self.transcripts = bed.folder / "sessions"
        prompts = vaults.prompts(ASKED_ABOUT)
        self.prompts = [prompts[number - 1] for number in _seen(range(1, min(bed.notes, ASKED_ABOUT)))]
        usual = {name: value for name, value in bed.environ.items() if not name.startswith(("PYTHON", "CLAUDE"))}
        told = {"CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": str(self.folder), "CLAUDE_PLUGIN_ROOT": str(ROOT)}
        self.environ = usual | told

    def prepare(self) -> None:
        """Write the vault, read it and give it vectors; and have sessions mined."""
        (self.folder / FILE).parent.mkdir(parents=True)
        (self.folder / FILE).touch()
        self.transcripts.mkdir()
        vaults.write_notes(self.ws, self.notes)
        for memory in _standing(self.notes):
            vaults.write_note(self.ws, memory)
        refresh.refresh(self.ws)
        seen = _seen(range(min(self.notes, MEANT)))
        texts = [text for number in seen for text in split_passages(vaults.memory(number))]
        self.ws.vectors().add(list(map(passage_key, texts)), self.ws.encoder().passages(texts))
        fill(self.ws)
        agreed = replace(self.ws, clock=lambda: LONG_AGO)
        consent.opt_in(agreed)
        agreed.close()

    def hook(self, event: str, told: Told = lambda _: {}, *, without: str = "") -> Hook:
        environ = {name: value for name, value in self.environ.items() if name != without}
        return Hook(event, environ, self.folder, self.transcripts, told)

    def prompt(self) -> Hook:
        prompts = cycle(self.prompts)
        return self.hook("UserPromptSubmit", lambda _: {"prompt": next(prompts)})

    def tool_use(self, *, without: str = "") -> Hook:
        used = {"tool_name": "Read", "tool_input": {"file_path": str(self.folder / FILE)}}
        return self.hook("PreToolUse", lambda _: used, without=without)

    def status_line(self) -> Program:
        command = (str(ROOT / "hooks" / "memem"), "statusline")
        return Program(lambda: command, self.environ, self.folder, lambda: b"{}")

    def bare(self) -> Program:
        return bare_start(self.environ, self.folder)

    def start_server(self) -> Server:
        return Server(self.environ, self.folder)

    @contextmanager
    def leader(self) -> Iterator[Server]:
        """A server that answers hooks."""
        with self.start_server() as server:
            tries = (self._outcome() for _ in range(LEAD_TRIES))
            if "done" not in tries:
                raise RuntimeError(f"The server does not answer hooks: {self._outcome()}.")
            yield server

    def answered(self, hook: Hook) -> float | None:
        """The share of a hook's runs that showed something, or mined; None where that leaves no trace in the home."""
        if hook.event == "PermissionRequest":
            return None
        done = [self.ws.contexts.shown(each) or self.ws.state.sessions.get(each) for each in hook.sessions]
        return round(sum(map(bool, done)) / len(done), 2)

    def complaints(self) -> list[str]:
        log = self.ws.home.hooks_log
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    def _outcome(self) -> str:
        """Return the engine's answer to an empty hook request."""
        time.sleep(LEAD_SECONDS)
        command = [sys.executable, "-I", "-c", _OUTCOME, str(ROOT)]
        done = subprocess.run(command, env=self.environ, cwd=self.folder, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.strip()


def starting(start: Callable[[], Server]) -> Task:
    """From the start of a server to its tools, as a task."""

    def task() -> float:
        begun = time.perf_counter()
        with start():
            return time.perf_counter() - begun

    return task


def _seen(numbers: Iterable[int]) -> list[int]:
    """Filter the notes that a session of the project may be shown."""
    return [number for number in numbers if vaults.memory(number).project in (PROJECT, GENERAL)]


def _standing(notes: int) -> list[Memory]:
    """Return pinned notes and conventions of the project, and one note about a file."""
    layers = [PINNED] * PINNED_NOTES + [CONVENTIONS] * CONVENTION_NOTES + [ORDINARY]
    made = [replace(vaults.memory(notes + place), project=PROJECT, layer=layer) for place, layer in enumerate(layers)]
    return [*made[:-1], replace(made[-1], paths=(f"{FILE.parent}/**",))]


def write_transcript(path: Path) -> dict[str, str]:
    """A session of one turn, in which nothing is said that is worth keeping; a hook is told its last words."""
    words = vaults.memory(1).body
    about = {"cwd": "/srv/shop", "sessionId": path.stem, "timestamp": vaults.NEWEST.isoformat(), "isSidechain": False}
    said = {"user": words, "assistant": [{"type": "text", "text": words}]}
    lines = [
        {**about, "type": role, "uuid": str(uuid.uuid4()), "message": {"role": role, "content": content}}
        for role, content in said.items()
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return {"last_assistant_message": words}
