"""A real Claude Code on a machine of its own: a fresh home, a stubbed model, nothing inherited, nothing left behind."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.e2e.model_stub import ModelStub
from tests.quiet import quiet

PLUGIN = Path(__file__).resolve().parents[2]
MARKETPLACE = "memem-marketplace"
INSTALLED = f"memem@{MARKETPLACE}"
TOOL = "mcp__plugin_memem_memem__"
SECONDS = 120
_LEFT_OUT = shutil.ignore_patterns(
    *(".git", ".venv*", ".claude-cli", ".coverage*", ".hypothesis", "__pycache__", "*_cache", "results")
)
_QUIET = (
    *("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"),
    *("DISABLE_AUTOUPDATER", "DISABLE_BUG_COMMAND"),
)
_NOT_HANDED_ON = ("CLAUDE", "ANTHROPIC", "MCP", "MEMEM", "PYTHON", "XDG_", "VIRTUAL_ENV")


def copy_of_the_plugin(folder: Path) -> Path:
    """The tree as it is, without what a clone has beside it."""
    shutil.copytree(PLUGIN, folder, ignore=_LEFT_OUT)
    return folder


@dataclass(frozen=True)
class Conversation:
    """The events `claude -p` reported."""

    events: list[dict[str, Any]]

    @property
    def result(self) -> str:
        return str(self._last("result")["result"])

    @property
    def session(self) -> str:
        return str(self.events[-1]["session_id"])

    @property
    def servers(self) -> dict[str, str]:
        return {server["name"]: server["status"] for server in self._last("system", "init")["mcp_servers"]}

    @property
    def hooks(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event.get("subtype") == "hook_response"]

    def printed_by(self, event: str) -> list[str]:
        """Return the standard output of one event's hooks, in order."""
        return [hook["stdout"] for hook in self.hooks if hook["hook_event"] == event]

    def _last(self, kind: str, subtype: str | None = None) -> dict[str, Any]:
        found = [each for each in self.events if each["type"] == kind and subtype in (None, each.get("subtype"))]
        return found[-1]


@dataclass
class Machine:
    """A home in which Claude Code is installed, and the way to start it there."""

    claude: Path
    home: Path
    stub: ModelStub
    more: dict[str, str] = field(default_factory=dict)
    online: bool = False

    @property
    def data(self) -> Path:
        """Where Claude Code lets the plugin keep what an uninstall may take away."""
        return self.home / ".claude" / "plugins" / "data" / f"memem-{MARKETPLACE}"

    @property
    def memem_dir(self) -> Path:
        return Path(self.more.get("MEMEM_DIR") or self.home / ".memem")

    @property
    def vault(self) -> Path:
        return Path(self.more.get("MEMEM_OBSIDIAN_VAULT") or self.home / "obsidian-brain")

    @property
    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_HANDED_ON)}
        tools = [str(self.claude.parent), str(Path(sys.executable).resolve().parent), kept["PATH"]]
        return {
            **kept,
            **dict.fromkeys(_QUIET, "1"),
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "PATH": os.pathsep.join(tools),
            "ANTHROPIC_BASE_URL": self.stub.url,
            "ANTHROPIC_API_KEY": "sk-ant-dummy-000",
            **({} if self.online else dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")),
            "NO_PROXY": "127.0.0.1,localhost",
            **self.more,
        }

    def run(self, *arguments: str, cwd: Path | None = None) -> str:
        """`claude ARGUMENTS`, which must succeed."""
        return self.call([str(self.claude), *arguments], cwd)

    def memem(self, root: Path, *arguments: str, cwd: Path | None = None) -> str:
        """The launcher, as a slash command calls it."""
        return self.call([str(root / "hooks" / "memem"), *arguments], cwd, CLAUDE_PLUGIN_DATA=str(self.data))

    def set_up(self, root: Path) -> None:
        """Make the plugin's environment, as a person does who does not leave it to the first session."""
        command = ["bash", str(root / "bootstrap.sh"), "shell", "true"]
        replace(self, online=True).call(command, CLAUDE_PLUGIN_DATA=str(self.data))

    def call(self, command: list[str], cwd: Path | None = None, **more: str) -> str:
        (self.home / "tmp").mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            command,
            cwd=cwd or self.home,
            env=self.env | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def says(self, prompt: str, *options: str, cwd: Path) -> Conversation:
        """A whole conversation of one prompt, in which no hook may go wrong and Stop may say nothing."""
        shown = ("--output-format", "stream-json", "--verbose", "--include-hook-events")
        lines = self.run("-p", prompt, *shown, *options, cwd=cwd).splitlines()
        conversation = Conversation([json.loads(line) for line in lines])
        for hook in conversation.hooks:
            assert (hook["outcome"], hook["exit_code"], hook["stderr"]) == ("success", 0, ""), hook
        for event in ("Stop", "PreCompact", "SessionEnd"):
            assert not any(conversation.printed_by(event))
        return conversation

    def sessions(self) -> set[str]:
        """The sessions that Claude Code keeps files of."""
        return {path.stem for path in (self.home / ".claude" / "projects").rglob("*.jsonl")}

    def settle(self) -> None:
        """Wait for background processes to end, and fail if one is left."""
        wait_until(quiet(self.processes), lambda: f"still running: {self.processes()}")

    def processes(self) -> dict[int, str]:
        """Everything that runs on this machine of ours."""
        mark = f"HOME={self.home}".encode()
        return {pid: command for pid, environ, command in _all_processes() if mark in environ.split(b"\0")}

    def trouble(self) -> str:
        """Return the log of failed hooks, which print nothing themselves."""
        log = self.memem_dir / "hooks.log"
        return log.read_text(encoding="utf-8") if log.exists() else ""

    def notes(self) -> str:
        """Every memory there is, as text."""
        return "\n".join(path.read_text(encoding="utf-8") for path in self.vault.rglob("memem/memories/*.md"))


def wait_until(done: Callable[[], object], otherwise: Callable[[], str], seconds: float = SECONDS) -> None:
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, otherwise()
        time.sleep(0.05)


def _all_processes() -> Iterator[tuple[int, bytes, str]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environ, command = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
        except OSError:
            continue  # it ended meanwhile, or is another user's
        yield int(folder.name), environ, command.replace(b"\0", b" ").decode("utf-8", "replace")


def install(machine: Machine, plugin: Path | str, config: Mapping[str, str] | None = None) -> None:
    """From a folder, in which Claude Code then runs it in place, or from a repository, of which it keeps a copy."""
    machine.run("plugin", "marketplace", "add", str(plugin))
    options = [part for name, value in (config or {}).items() for part in ("--config", f"{name}={value}")]
    machine.run("plugin", "install", INSTALLED, *options)
