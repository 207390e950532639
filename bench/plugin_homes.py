"""Homes of the real Claude Code that differ only in the plugin installed there, each with a model stub of its own."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from bench import vaults
from bench.measure import Program, Task
from bench.scene import PROJECT, Server
from memem.core.memory import GENERAL
from memem.model.plugin import HOOKS
from memem.search import refresh
from memem.search.encoders import model
from memem.workspace import Workspace, open_workspace
from tests.e2e.claude_code import TOOL, Machine, copy_of_the_plugin, install
from tests.e2e.model_stub import model_stub

MANIFEST = Path(".claude-plugin", "plugin.json")
SERVER_CONFIG = ".mcp.json"
SERVER = "server"
PROMPTS = 20


@dataclass(frozen=True, slots=True)
class Variant:
    """A plugin to install: `parts` are hook events and `SERVER`; None keeps everything."""

    name: str
    parts: frozenset[str] | None = None


@dataclass(frozen=True)
class Home:
    """One home: a machine, the plugin installed on it, if any, and the folder sessions are about."""

    machine: Machine
    project: Path
    plugin: Path | None = None

    @property
    def environment(self) -> Path:
        """The virtual environment of the plugin."""
        return self.machine.data / "venv"

    @property
    def plugin_environ(self) -> dict[str, str]:
        """The variables Claude Code sets for the plugin's server."""
        return {
            **self.machine.env,
            "CLAUDE_PLUGIN_ROOT": str(self.plugin),
            "CLAUDE_PLUGIN_DATA": str(self.machine.data),
            "CLAUDE_PROJECT_DIR": str(self.project),
        }

    def session(self) -> Task:
        """`claude -p` with another prompt each time; whatever it leaves running ends before the next turn."""
        prompts = cycle(project_prompts())

        def task() -> float:
            begun = time.perf_counter()
            self.machine.run("-p", next(prompts), cwd=self.project)
            seconds = time.perf_counter() - begun
            self.machine.settle()
            return seconds

        return task

    def bare_start(self) -> Program:
        """The interpreter that the plugin's environment resolves to, doing nothing."""
        python = str((self.environment / "bin" / "python").resolve())
        return Program(lambda: (python, "-I", "-S", "-c", "pass"), self.machine.env, self.project)

    def start_server(self) -> Server:
        return Server(self.plugin_environ, self.project, self.plugin)

    def first_request_bytes(self) -> int:
        """The size of the request that carries a prompt; the largest, because helper requests are small."""
        return max(len(_serialised(request.body)) for request in self.machine.stub.requests)

    def complaints(self) -> list[str]:
        """Errors that hooks have logged, and a server that connected too late for the model to see its tools."""
        logged = self.machine.trouble().splitlines()
        if self.plugin and (self.plugin / SERVER_CONFIG).exists():
            requests = [_serialised(each.body) for each in self.machine.stub.requests]
            unaware = sum(TOOL.encode() not in request for request in requests)
            logged += [f"{unaware} of {len(requests)} requests without a tool of memem"] if unaware else []
        return logged


class Homes:
    """Makes homes in one folder; they share a vault and a project."""

    def __init__(self, place: Path, claude: Path, model: str | None) -> None:
        self._place = place
        self._claude = claude
        self._project = place / "work" / PROJECT
        self._memory = {
            "MEMEM_DIR": str(place / "memem"),
            "MEMEM_OBSIDIAN_VAULT": str(place / "vault"),
            "XDG_RUNTIME_DIR": str(place / "run"),
            **({"MEMEM_MODEL_DIR": model} if model else {"MEMEM_ENCODER": "none"}),
        }

    def prepare(self, notes: int) -> None:
        """Write the vault, index it and give it vectors where there is an encoder."""
        self._project.mkdir(parents=True)
        (self._place / "run").mkdir(mode=0o700)
        ws = self._workspace()
        try:
            vaults.write_notes(ws, notes)
            refresh.refresh(ws)
            if ws.settings.encoder != "none":
                model.encode_all(ws)
        finally:
            ws.close()

    @contextmanager
    def without_plugin(self) -> Iterator[Home]:
        with self._machine("none") as machine:
            yield Home(machine, self._project)

    @contextmanager
    def with_plugin(self, variant: Variant) -> Iterator[Home]:
        """A home with this variant installed and its environment made."""
        name = variant.name.replace(" ", "-")
        root = copy_of_the_plugin(self._place / "plugins" / name)
        if variant.parts is not None:
            keep_parts(root, variant.parts)
        with self._machine(name) as machine:
            install(machine, root)
            machine.set_up(root)
            yield Home(machine, self._project, root)

    @contextmanager
    def _machine(self, name: str) -> Iterator[Machine]:
        with model_stub() as stub:
            yield Machine(self._claude, self._place / "homes" / name, stub, dict(self._memory))

    def _workspace(self) -> Workspace:
        return open_workspace(actor="bench", environ={"HOME": str(self._place), **self._memory})


def project_prompts() -> list[str]:
    """Prompts about notes that a session of the project may see."""
    numbered = enumerate(vaults.prompts(10 * PROMPTS), start=1)
    seen = [text for number, text in numbered if vaults.memory(number).project in (PROJECT, GENERAL)]
    return seen[:PROMPTS]


def keep_parts(root: Path, parts: Iterable[str]) -> None:
    """Reduce a copy of the plugin to some of its hooks and its server; without any part, to its bare manifest."""
    kept = set(parts)
    hooks = _read(root / HOOKS)
    hooks["hooks"] = {event: entries for event, entries in hooks["hooks"].items() if event in kept}
    if hooks["hooks"]:
        _write(root / HOOKS, hooks)
    else:
        (root / HOOKS).unlink()
    if SERVER not in kept:
        (root / SERVER_CONFIG).unlink()
    for folder in ("commands", "skills", "agents"):
        if (root / folder).exists():
            (root / folder).rename(root / f"unused-{folder}")
    paths = ("commands", "skills", "agents", "hooks", "mcpServers")
    _write(root / MANIFEST, {key: value for key, value in _read(root / MANIFEST).items() if key not in paths})


def _serialised(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_bytes()))


def _write(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
