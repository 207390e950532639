"""bootstrap.sh in a small project of its own, with a fake uv where an installer is needed."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.mcp_client import Client

SCRIPT = Path(__file__).resolve().parent.parent / "bootstrap.sh"
LAUNCHER = SCRIPT.parent / "hooks" / "memem"
SECONDS = 60
# All the script may count on besides Python.
TOOLS = [
    *("bash", "cat", "cp", "date", "dirname", "env", "find", "ls"),
    *("mkdir", "mktemp", "mv", "readlink", "rm", "sh", "sleep", "tail", "true", "wc"),
]
IMPORTED = {
    "ijson": "ijson",
    "numpy": "numpy",
    "portalocker": "portalocker",
    "python-frontmatter": "frontmatter",
    "pyyaml": "yaml",
    "rapidfuzz": "rapidfuzz",
    "rich": "rich",
}
START = ("hook", "SessionStart")
PROMPT = ("hook", "UserPromptSubmit")
SHOW_CALL = """
import json, sys
print(json.dumps({"argv": sys.argv[1:], "module": __file__, "stdin": sys.stdin.read()}))
"""


@dataclass(frozen=True)
class Call:
    """The output of a finished run."""

    code: int
    stdout: str
    stderr: str

    @property
    def shown(self) -> dict[str, object]:
        shown = json.loads(self.stdout)
        assert isinstance(shown, dict)
        return shown


@dataclass(frozen=True)
class Server:
    """A running server and its client."""

    process: "subprocess.Popen[str]"
    client: Client


@dataclass
class Project:
    """A copy of bootstrap.sh beside a tiny package `memem`, a fresh home, and a PATH with little on it."""

    root: Path
    home: Path
    bin: Path
    env: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def ours(self) -> Path:
        return self.venv / ".memem"

    @property
    def memem_dir(self) -> Path:
        return self.home / ".memem"

    @property
    def log(self) -> str:
        return (self.memem_dir / "bootstrap.log").read_text(encoding="utf-8")

    @property
    def capabilities(self) -> dict[str, object]:
        return tomllib.loads((self.memem_dir / ".capabilities").read_text(encoding="utf-8"))

    @property
    def uv_calls(self) -> list[str]:
        calls = self.home / "uv-calls"
        return calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []

    def tool(self, name: str, body: str) -> None:
        """Put a shell script on the PATH."""
        script = self.bin / name
        script.unlink(missing_ok=True)
        script.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        script.chmod(0o755)

    def uv(self, body: str = "exit 0") -> None:
        """A fake uv that notes each call, then does `body`."""
        self.tool("uv", f'echo "$*" >>"$HOME/uv-calls"\n{body}')

    def start(
        self, *arguments: str, cwd: Path | None = None, program: str = "bootstrap.sh", **env: str
    ) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(self.root / program), *arguments],
            cwd=cwd or self.home,
            env=self.env | env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str, cwd: Path | None = None, stdin: str = "", **env: str) -> Call:
        return finish(self.start(*arguments, cwd=cwd, **env), stdin)

    def launch(self, *arguments: str, stdin: str = "", **env: str) -> Call:
        """Run as Claude Code does: hooks and the server."""
        return finish(self.start(*arguments, cwd=None, program="hooks/memem", **env), stdin)

    def use_real_server(self) -> None:
        """Put memem's own loop where Claude Code starts the server; the rest of memem stays away."""
        door = Path("memem", "doors", "mcp")
        (self.root / door).mkdir(parents=True)
        for path in ("memem/__init__.py", "memem/serve.py", "memem/doors/__init__.py"):
            shutil.copy(SCRIPT.parent / path, self.root / path)
        for found in (SCRIPT.parent / door).iterdir():
            if found.is_file():
                shutil.copy(found, self.root / door)

    def serve(self, **env: str) -> Server:
        """The server, as Claude Code starts it."""
        process = self.start("serve", cwd=None, program="hooks/memem", **env)
        assert process.stdin
        assert process.stdout
        return Server(process, Client(process.stdin.fileno(), process.stdout.fileno()))

    def change_lock(self) -> None:
        """As with a new version that needs another package."""
        (self.root / "requirements.lock").write_text("tiny==1.0 --hash=sha256:00\n", encoding="utf-8")

    def go_offline(self) -> None:
        self.uv("echo no network; exit 2")
        self.env["PIP_NO_INDEX"] = "1"

    @property
    def set_up_has_failed(self) -> bool:
        """Whether a set-up has failed and its process has ended: it writes when it failed as its last but one step."""
        return (self.ours / "failed-at").exists() and not (self.ours / "under-way").exists()

    def forget_when_it_failed(self) -> None:
        """As if a failed set-up were long enough ago to be tried again."""
        (self.ours / "failed-at").unlink(missing_ok=True)

    def under_way(self) -> int:
        """The process, and group of processes, that sets up in the background; 0 for none."""
        try:
            return int((self.venv / ".memem" / "under-way").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return 0

    def wait_for_set_up(self) -> None:
        """The one in the background is done, however it ended."""
        wait_until(lambda: not self.under_way(), "the set-up in the background does not end")


def wait_until(done: Callable[[], bool], otherwise: str) -> None:
    until = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < until, otherwise
        time.sleep(0.01)


def is_process(pid: int) -> bool:
    """Also one that has ended, as long as nobody has asked how."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def finish(process: subprocess.Popen[str], stdin: str = "") -> Call:
    stdout, stderr = process.communicate(stdin, timeout=SECONDS)
    return Call(process.returncode, stdout, stderr)


@contextmanager
def project_in(root: Path, folder: Path) -> Iterator[Project]:
    home, tools = folder / "home", folder / "bin"
    for made in (home, tools, root / "memem"):
        made.mkdir(parents=True)
    shutil.copy(SCRIPT, root)
    shutil.copytree(LAUNCHER.parent, root / "hooks")
    (root / ".git").touch()
    (root / "requirements.lock").write_text("# nothing\n", encoding="utf-8")
    (root / "requirements-dev.lock").write_text("# nothing, for developers\n", encoding="utf-8")
    (root / "memem" / "__init__.py").touch()
    (root / "memem" / "__main__.py").write_text(SHOW_CALL, encoding="utf-8")
    (root / "memem" / "serve.py").write_text(SHOW_CALL, encoding="utf-8")
    (root / "memem" / "doors" / "hook").mkdir(parents=True)
    (root / "memem" / "doors" / "hook" / "client.py").write_text(SHOW_CALL, encoding="utf-8")
    (root / "pytest.py").write_text(SHOW_CALL, encoding="utf-8")
    for name in TOOLS:
        found = shutil.which(name)
        assert found, f"{name} is not on this machine"
        (tools / name).symlink_to(found)
    env = {"HOME": str(home), "PATH": str(tools), "TMPDIR": str(folder), "MEMEM_PYTHON": sys.executable}
    project = Project(root, home, tools, env)
    project.uv()
    try:
        yield project
    finally:
        if project.under_way():  # only after a test that failed
            os.killpg(project.under_way(), signal.SIGKILL)
        for process in project.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def opened_fifo(path: Path) -> int:
    os.mkfifo(path)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def wait_for_word(fifo: int) -> None:
    assert select.select([fifo], [], [], SECONDS)[0], "the installer was never started"
    os.close(fifo)
