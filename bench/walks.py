"""How far the four main paths walk through the code: the modules they enter, and the calls from package to package.

Each path runs as a user's machine runs it, every process under a tracer: a Stop hook until the note is written, a
prompt until its slice is printed (no server up), `memem save`, and `memory_search` of the MCP server. Functions that
only importing runs do not count. A package is a folder of `memem/`, or of `memem/doors/`, or a single file there. A
call counts once for each pair of functions, however often it is made. `--root` traces another checkout.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measure import table
from tests import fake_claude
from tests.transcripts import AT_LENGTH

ROOT = Path(__file__).parents[1]
TRACER = Path(__file__).with_name("walk_tracer.py")
SESSION = "3f2c9a1e-0000-4000-8000-000000000001"
STATEMENT = "The staging database of the shop listens on port 6543, because 5432 is taken by the old one."
WAIT_SECONDS = 60.0
SETTLE_SECONDS = 1.0
"""A note that was just written is read again, since it may change within one tick of its time stamp."""
LIMIT = 0.6
"""How much of 0.8's walk a path may still need, in modules and in calls."""
OF_0_8: Mapping[str, tuple[int, int]] = {
    "prompt to slice": (61, 151),
    "memory_search": (56, 140),
    "memem save": (68, 117),
    "Stop to note": (145, 481),
}
"""Modules and calls of 0.8.1, by the same tracer with the weights in place: `--root` of a checkout gives them again."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The calls that one path made."""

    path: str
    calls: frozenset[tuple[str, str]]

    @property
    def modules(self) -> set[str]:
        return {function.partition(":")[0] for call in self.calls for function in call if function}

    @property
    def crossings(self) -> set[tuple[str, str]]:
        return {call for call in self.calls if call[0] and package_of(call[0]) != package_of(call[1])}


def package_of(function: str) -> str:
    """The folder of a module: the first below `memem/`, the second for a door; a file on its own is one itself."""
    parts = function.partition(":")[0].split("/")
    return "/".join(parts[:2]) if parts[0] == "doors" else parts[0]


class Scene:
    """A memory home with a few notes in it, and the launcher whose processes are traced."""

    def __init__(self, folder: Path, root: Path, weights: str) -> None:
        self.root, self.folder = root, folder
        self.records = folder / "records"
        self.project = folder / "shop"
        self.memories = folder / "vault" / "memem" / "memories"
        self.claude = folder / "claude"
        self.launcher = folder / "env" / "bin" / "python"
        self.environ = {
            "HOME": str(folder / "user"),
            "PATH": f"{self.claude}:/usr/bin:/bin",
            "MEMEM_DIR": str(folder / "home"),
            "MEMEM_OBSIDIAN_VAULT": str(folder / "vault"),
            **({"MEMEM_MODEL_DIR": weights} if weights else {"MEMEM_ENCODER": "none"}),
            "WALK_ROOT": str(root),
            "WALK_RECORDS": str(self.records),
            "WALK_LAUNCHER": str(self.launcher),
        }

    def prepare(self) -> None:
        for each in (self.records, self.project, self.folder / "user", self.launcher.parent):
            each.mkdir(parents=True)
        python = ROOT / ".venv" / "bin" / "python" if (ROOT / ".venv").exists() else Path(sys.executable)
        (self.launcher.parents[1] / "lib").symlink_to(Path(sys.prefix, "lib"))
        self.launcher.write_text(f'#!/bin/sh\nexec {shlex.quote(str(python))} -I {shlex.quote(str(TRACER))} "$@"\n')
        self.launcher.chmod(0o755)
        fake_claude.install(self.claude, [{"echo": True}])
        for number in range(12):
            body = f"Service number {number} of the warehouse writes its log to /var/log/service-{number}.log."
            self.run("-m", "memem", "save", body, "--title", f"Log of service {number}", "--project", "shop")
        if "MEMEM_MODEL_DIR" in self.environ:
            self.run("-m", "memem", "encode")
        self.run("-m", "memem", "mining", "on")

    def run(self, *command: str, text: str = "") -> str:
        done = subprocess.run(
            [str(self.launcher), *command],
            env=self.environ,
            cwd=self.project,
            input=text,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout

    def hook(self, event: str, **told: Any) -> str:
        common = {"session_id": SESSION, "transcript_path": str(self.transcript), "cwd": str(self.project)}
        envelope = json.dumps({**common, "hook_event_name": event, **told})
        client = self.root / "memem" / "doors" / "hook" / "client.py"
        return self.run("-I", "-S", str(client), "hook", event, text=envelope)

    @property
    def transcript(self) -> Path:
        folder = self.folder / "user" / ".claude" / "projects" / str(self.project).replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{SESSION}.jsonl"

    def stop(self) -> None:
        """A person tells a fact, and the Stop hook has it mined into a note."""
        before = len(list(self.memories.iterdir()))
        said = {"role": "user", "content": f"FACT-port: {STATEMENT}\n{AT_LENGTH}"}
        answer = {"role": "assistant", "id": "msg_1", "content": [{"type": "text", "text": "Noted."}]}
        common = {"sessionId": SESSION, "cwd": str(self.project), "isSidechain": False, "version": "2.1.325"}
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 1))
        lines = [
            {**common, "type": "user", "uuid": "u1", "timestamp": now, "message": said},
            {**common, "type": "assistant", "uuid": "u2", "timestamp": now, "message": answer},
        ]
        time.sleep(1.5)  # what was said before the opt-in is not mined
        self.transcript.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        self.hook("Stop", stop_hook_active=False, last_assistant_message="Noted.")
        self._wait_for(lambda: len(list(self.memories.iterdir())) > before, "the note")

    def prompt(self) -> None:
        """A prompt that a note answers gets its slice."""
        shown = self.hook("UserPromptSubmit", prompt="Where does service number 7 of the warehouse write its log?")
        if "service-7.log" not in shown:
            raise RuntimeError(f"The prompt got no slice: {shown!r}")

    def save(self) -> None:
        self.run("-m", "memem", "save", "Releases of the shop are cut on Tuesdays.", "--title", "Release day")

    def search(self) -> None:
        """One call of `memory_search`, from the start of a server to its end."""
        started = [str(self.launcher), "-I", "-S", str(self.root / "memem" / "serve.py")]
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
        with subprocess.Popen(
            started,
            env=self.environ,
            cwd=self.project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server:
            assert server.stdin
            assert server.stdout
            for number, (method, params) in enumerate(
                [
                    ("initialize", client),
                    ("tools/call", {"name": "memory_search", "arguments": {"query": "log of service 7"}}),
                ]
            ):
                server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
                server.stdin.write("\n")
                server.stdin.flush()
                answer = server.stdout.readline()
            server.stdin.close()
        if "service-7.log" not in answer:
            raise RuntimeError(f"memory_search found nothing: {answer!r}")

    def traced(self, path: str, walk: Callable[[], None]) -> Walk:
        shutil.rmtree(self.records)
        self.records.mkdir()
        walk()
        self._wait_until_quiet()
        calls = {(a, b) for each in self.records.iterdir() for a, b in json.loads(each.read_text(encoding="utf-8"))}
        return Walk(path, frozenset(calls))

    def _wait_until_quiet(self) -> None:
        """Until no process of this home runs: what a hook begins is part of its path."""
        self._wait_for(lambda: not list(_processes_of(self.launcher)), "the end of all processes")

    def _wait_for(self, is_so: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + WAIT_SECONDS
        while not is_so():
            if time.monotonic() > until:
                log = self.folder / "home" / "hooks.log"
                raise RuntimeError(f"Waited in vain for {what}. {log.read_text() if log.exists() else ''}")
            time.sleep(0.1)


def _processes_of(launcher: Path) -> Iterable[int]:
    for each in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"WALK_LAUNCHER={launcher}".encode() in each.read_bytes().split(b"\0"):
                yield int(each.parent.name)
        except OSError:
            continue


def row_of(walk: Walk) -> tuple[str, int, float, int, float, str]:
    """A row of the table: both counts, their share of 0.8's, and whether both are within the limit."""
    modules, calls = OF_0_8[walk.path]
    shares = len(walk.modules) / modules, len(walk.crossings) / calls
    said = "holds" if max(shares) <= LIMIT else "over"
    return walk.path, len(walk.modules), round(shares[0], 2), len(walk.crossings), round(shares[1], 2), said


def measure(root: Path, weights: str) -> list[Walk]:
    with tempfile.TemporaryDirectory(prefix="memem-walks-") as folder:
        scene = Scene(Path(folder), root, weights)
        scene.prepare()
        time.sleep(SETTLE_SECONDS)
        return [
            scene.traced("prompt to slice", scene.prompt),
            scene.traced("memory_search", scene.search),
            scene.traced("memem save", scene.save),
            scene.traced("Stop to note", scene.stop),
        ]


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench walks", description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to trace (default: this one)")
    parser.add_argument(
        "--weights", default=os.environ.get("MEMEM_MODEL_DIR", ""), help="folder of the model's weights"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write modules and calls to this file")
    options = parser.parse_args(arguments)
    walks = measure(options.root.resolve(), options.weights)
    print(table(("path", "modules", "of 0.8", "calls between packages", "of 0.8", ""), map(row_of, walks)))
    if options.json:
        told = {walk.path: sorted(walk.calls) for walk in walks}
        options.json.write_text(json.dumps(told, indent=1), encoding="utf-8")
    return 0
