"""The plugin as it is installed, used as Claude Code uses it: its hooks through a shell, its server over two pipes.

    machine = Machine(folder, plugin)        # a home, a vault and a project, all of them with awkward names
    machine.hook("UserPromptSubmit").context
    with machine.server() as server:
        server.call("memory_search", query="tokens")

Whatever the machine is like, a hook ends well and in time, complains to nobody and prints what Claude Code understands:
`hook` sees to that each time.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memem.doors.api.home import MemoryHome
from memem.notes import save
from memem.search.transcripts import consent
from memem.workspace import Workspace, open_workspace
from tests.mcp_client import Client
from tests.quiet import quiet
from tests.transcripts import Transcript

PLUGIN = Path(__file__).resolve().parents[1]
AWKWARD = "it's “mý” 記憶 🧠"
SECONDS = 60
SILENT = ("Stop", "PreCompact", "SessionEnd")
FACT = "Tokens are signed with RS256, because the gateway cannot share a secret."
PROMPT = "How are the tokens of the gateway signed, with RS256?"
SAID = "Remember that prices are net."
LEARNED = "Prices are net."
HOOKS: dict[str, Any] = json.loads((PLUGIN / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
EVENTS = tuple(HOOKS)


def command_of(event: str) -> str:
    """The environment Claude Code gives to a shell."""
    return str(HOOKS[event][0]["hooks"][0]["command"])


@dataclass(frozen=True)
class Plugin:
    """Where Claude Code has put it, and where it may keep its environment."""

    root: Path
    data: Path


def install(folder: Path) -> Plugin:
    """A copy of what is published, with an environment as bootstrap.sh leaves it, of the packages that are here."""
    plugin = Plugin(folder / AWKWARD / "memem", folder / AWKWARD / "data")
    for name in ("memem", "hooks", "commands", "skills", ".claude-plugin", "examples"):
        shutil.copytree(PLUGIN / name, plugin.root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("bootstrap.sh", "requirements.lock", ".mcp.json"):
        shutil.copy(PLUGIN / name, plugin.root)
    environment = plugin.data / "venv"
    venv.create(environment, symlinks=True)
    packages = Path("lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
    (environment / packages).rmdir()
    (environment / packages).symlink_to(Path(sys.prefix) / packages)
    (environment / ".memem").mkdir()
    shutil.copy(PLUGIN / "requirements.lock", environment / ".memem")
    (environment / ".memem" / "built").write_text(f"{environment}\n\n{plugin.root}\n", encoding="utf-8")
    return plugin


@dataclass(frozen=True)
class Answer:
    """The output of a hook."""

    told: dict[str, Any]

    @property
    def context(self) -> str:
        """Return the context for Claude."""
        return str(self.told.get("hookSpecificOutput", {}).get("additionalContext", ""))

    @property
    def message(self) -> str:
        """Return the message for the person."""
        return str(self.told.get("systemMessage", ""))

    @property
    def is_allowed(self) -> bool:
        return "decision" in self.told.get("hookSpecificOutput", {})


@dataclass
class Server:
    """A server, and what it has said by its end."""

    client: Client
    process: subprocess.Popen[bytes]
    complaint: str = ""

    def says(self, tool: str, **arguments: Any) -> str:
        text, is_error = self.client.call(tool, **arguments)
        assert not is_error, text
        return text

    def fails(self, tool: str, **arguments: Any) -> str:
        text, is_error = self.client.call(tool, **arguments)
        assert is_error, text
        return text


@dataclass
class Machine:
    """One user's machine. `env` is what Claude Code was started with, `prefix` what commands are started through."""

    folder: Path
    plugin: Plugin
    env: dict[str, str] = field(default_factory=dict)
    prefix: list[str] = field(default_factory=list)
    serving: set[int] = field(default_factory=set)
    session: Transcript = field(init=False)

    def __post_init__(self) -> None:
        for each in (self.user, self.project):
            each.mkdir(parents=True)
        usual = {
            "HOME": str(self.user),
            "PATH": os.defpath,
            "MEMEM_DIR": str(self.home),
            "MEMEM_OBSIDIAN_VAULT": str(self.vault),
            "MEMEM_FSYNC": "0",
            "MEMEM_ENCODER": "none",
            "MEMEM_EXTRACTOR": "rules",
            "MEMEM_BACKGROUND": "0",
            "MEMEM_PRETOOL_GATING": "1",
            "XDG_RUNTIME_DIR": str(self.runtime),
        }
        self.env = usual | self.env
        path = self.user / ".claude" / "projects" / "-srv-shop" / "s1.jsonl"
        self.session = Transcript(path, cwd=self.project, start=datetime.now(UTC))

    @property
    def user(self) -> Path:
        return self.folder / AWKWARD / "~user"

    @property
    def home(self) -> Path:
        return Path(self.env.get("MEMEM_DIR") or self.folder / AWKWARD / "ḿ")

    @property
    def vault(self) -> Path:
        return Path(self.env.get("MEMEM_OBSIDIAN_VAULT") or self.folder / AWKWARD / "my “vault”")

    @property
    def project(self) -> Path:
        return self.folder / AWKWARD / "shop"

    @property
    def runtime(self) -> Path:
        return self.folder / "run"

    @property
    def log(self) -> str:
        """Return the log of failed hooks."""
        path = self.home / "hooks.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def notes(self) -> dict[str, str]:
        return {path.name: path.read_text(encoding="utf-8") for path in self.vault.glob("memem/memories/*.md")}

    @property
    def environ(self) -> dict[str, str]:
        """Return the variables Claude Code sets for the plugin's processes."""
        return {
            **self.env,
            "CLAUDECODE": "1",
            "CLAUDE_CODE_SESSION_ID": "s1",
            "CLAUDE_PROJECT_DIR": str(self.project),
            "CLAUDE_PLUGIN_ROOT": str(self.plugin.root),
            "CLAUDE_PLUGIN_DATA": str(self.plugin.data),
        }

    @contextmanager
    def opened(self) -> Iterator[Workspace]:
        ws = open_workspace(actor="test", environ=self.env, folder=self.project)
        try:
            yield ws
        finally:
            ws.close()

    def begin(self) -> None:
        """A memory, and a session from which there is something to learn once its next turn has ended."""
        with self.opened() as ws:
            save.save(ws, FACT, title="Token signing", project="shop", paths=("tokens.py",))
            MemoryHome(ws).search("tokens")
            consent.opt_in(ws)
        self.says(SAID)

    def says(self, text: str) -> None:
        """A turn of the session."""
        self.session.human(text)
        self.session.claude("Noted.")

    def envelope(self, event: str, **more: Any) -> bytes:
        usual: Mapping[str, Mapping[str, Any]] = {
            "SessionStart": {"source": "startup"},
            "UserPromptSubmit": {"prompt": PROMPT},
            "PreToolUse": {"tool_name": "Read", "tool_input": {"file_path": str(self.project / "tokens.py")}},
            "PermissionRequest": {"tool_name": "mcp__plugin_memem_memem__memory_search", "tool_input": {"query": "x"}},
            "PreCompact": {"trigger": "auto"},
            "Stop": {"stop_hook_active": False, "last_assistant_message": "Noted."},
            "SessionEnd": {"reason": "other"},
        }
        told = {"session_id": f"s-{event}", "transcript_path": str(self.session.path), "cwd": str(self.project)}
        return json.dumps({**told, "hook_event_name": event, **usual[event], **more}).encode()

    def hook(self, event: str, **more: Any) -> Answer:
        """Run a hook within its deadline and return its output."""
        done = self.run(event, ["/bin/sh", "-c", command_of(event)], **more)
        assert (done.returncode, done.stderr.decode()) == (0, ""), event
        assert not (done.stdout and event in SILENT), done.stdout
        told = json.loads(done.stdout) if done.stdout else {}
        assert set(told) <= {"hookSpecificOutput", "systemMessage"}, told
        assert told.get("hookSpecificOutput", {}).get("hookEventName", event) == event
        return Answer(told)

    def run(
        self, event: str, command: list[str], cwd: Path | None = None, **more: Any
    ) -> subprocess.CompletedProcess[bytes]:
        """A command that is told of an event, and ended when the time of its hook is up."""
        return subprocess.run(
            [*self.prefix, *command],
            env=self.environ,
            cwd=cwd or self.project,
            input=self.envelope(event, **more),
            capture_output=True,
            timeout=HOOKS[event][0]["hooks"][0]["timeout"],
            check=False,
        )

    def hooks(self) -> dict[str, Answer]:
        """A whole session's, one after another."""
        answers = {event: self.hook(event) for event in EVENTS}
        self.settle()
        return answers

    @contextmanager
    def server(self, *arguments: str, cwd: Path | None = None, **env: str) -> Iterator[Server]:
        """A server, from which its session parts in the end."""
        launch = arguments or (str(self.plugin.root / "hooks" / "memem"), "serve")
        streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [*self.prefix, *launch]
        process = subprocess.Popen(command, env=self.environ | env, cwd=cwd or self.project, **streams)
        assert process.stdin
        assert process.stdout
        server = Server(Client(process.stdin.fileno(), process.stdout.fileno()), process)
        self.serving.add(process.pid)
        try:
            server.client.begin()
            server.client.ask("tools/list")
            yield server
        finally:
            process.send_signal(signal.SIGCONT)
            server.complaint = process.communicate(timeout=SECONDS)[1].decode()
            self.serving.remove(process.pid)
        assert process.returncode == 0, server.complaint

    def memem(self, *arguments: str) -> str:
        """Run a command and return both of its streams."""
        done = subprocess.run(
            [*self.prefix, str(self.plugin.root / "hooks" / "memem"), *arguments],
            env=self.environ,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
        return done.stdout.decode()

    def settle(self) -> None:
        """Wait until all background processes have ended."""
        wait_until(quiet(self.processes), lambda: f"still running: {self.processes()}")

    def processes(self) -> list[str]:
        """The commands of what runs on this machine beside servers."""
        mark = os.fsencode(f"CLAUDE_PLUGIN_ROOT={self.plugin.root}"), os.fsencode(str(self.folder))
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environ, command = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
            except OSError:
                continue  # it ended meanwhile, or is another user's
            if int(folder.name) in self.serving:
                continue
            if command and mark[0] in environ.split(b"\0") and mark[1] in environ:
                found.append(command.replace(b"\0", b" ").decode("utf-8", "replace"))
        return found


def wait_until(done: Callable[[], object], otherwise: Callable[[], str]) -> None:
    until = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < until, otherwise()
        time.sleep(0.02)
