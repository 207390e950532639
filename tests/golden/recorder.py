"""Runs memem as its users do, on a machine in a folder, and writes down what it answers."""

import json
import os
import re
import shlex
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.command_line import Outcome
from tests.golden import frozen
from tests.golden.commands import PLAIN_ENVIRONMENT, ROOT, become_memem, prepare, run_command, wait_for_background
from tests.mcp_client import Client

_SETTINGS = {"MEMEM_FSYNC": "0", "MEMEM_ENCODER": "none", "MEMEM_BACKGROUND": "0", "MEMEM_RETRY_BASE_SECONDS": "0"}
_TOOLS = ("/usr/local/bin", "/usr/bin", "/bin")


def make_environ(folder: Path) -> dict[str, str]:
    """The environment of a user whose whole machine is this folder; makes the folders it names."""
    for each in ("user", "temporary", "runtime"):
        (folder / each).mkdir(0o700, exist_ok=True)
    return {
        "HOME": str(folder / "user"),
        "PATH": os.pathsep.join([str(folder / "claude"), *_TOOLS]),
        "TMPDIR": str(folder / "temporary"),
        "XDG_RUNTIME_DIR": str(folder / "runtime"),
        frozen.ENVIRONMENT: str(folder / "environment"),
        **PLAIN_ENVIRONMENT,
    }


class Recorder:
    """A user's machine in a folder, and the pages on which their commands are written down."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.user = self.folder / "user"
        self.home = self.user / ".memem"
        self.vault = self.user / "vault"
        self.claude = self.folder / "claude"
        self.pages: dict[str, list[str]] = {}
        self.typed_secret = ""
        environ = {**make_environ(self.folder), "MEMEM_OBSIDIAN_VAULT": str(self.vault), **_SETTINGS}
        os.environ.clear()
        os.environ.update(environ)
        time.tzset()
        tempfile.tempdir = None  # read anew from TMPDIR
        frozen.use_environment(self.folder / "environment")
        prepare()

    def advance(self) -> None:
        """Begin the next step: a minute later, with other random numbers."""
        os.environ[frozen.STEP] = str(frozen.read_step() + 1)

    def run(
        self, *arguments: str, stdin: str = "", cwd: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> Outcome:
        """Run a command and write nothing down."""
        self.advance()
        return run_command(list(arguments), cwd or self.user, {**os.environ, **(environ or {})}, stdin)

    def record(self, page: str, *arguments: str, **more: Any) -> Outcome:
        """Run a command and write it down, with its answer."""
        outcome = self.run(*arguments, **more)
        variables = "".join(f"{name}={value} " for name, value in (more.get("environ") or {}).items())
        typed = shlex.join(["memem", *arguments])
        if self.typed_secret:  # no scanner is to report our pages, but a secret in an answer must be seen
            typed = typed.replace(self.typed_secret, "SECRET")
        parts = [f"$ {variables}{typed}\n"]
        if more.get("stdin"):
            parts.append(_with_margin("< ", more["stdin"]))
        parts.append(outcome.out if outcome.out.endswith("\n") or not outcome.out else f"{outcome.out}\n")
        parts.append(_with_margin("stderr| ", outcome.err))
        parts.append(f"exit {outcome.code}\n")
        self.note(page, "".join(parts))
        return outcome

    def record_both(self, page: str, *arguments: str, **more: Any) -> Any:
        """The same command as text and as JSON; returns the JSON."""
        self.record(page, *arguments, **more)
        return self.record(page, *arguments, "--json", **more).data

    def note(self, page: str, text: str) -> None:
        self.pages.setdefault(page, []).append(text if text.endswith("\n") else f"{text}\n")

    def hook(self, event: str, page: str, **envelope: Any) -> Outcome:
        """An event of Claude Code."""
        outcome = self.run("hook", event, stdin=json.dumps({"hook_event_name": event, **envelope}))
        given = json.dumps(envelope, ensure_ascii=False, indent=1)
        answer = json.dumps(json.loads(outcome.out), ensure_ascii=False, indent=1) if outcome.out else "(nothing)"
        text = f"{event} < {given}\n> {show_newlines(answer)}\n{_with_margin('stderr| ', outcome.err)}"
        self.note(page, f"{text}exit {outcome.code}\n")
        return outcome

    @contextmanager
    def serve(self, cwd: Path, **environ: str) -> Iterator[Client]:
        """The MCP server, as a process of its own."""
        self.advance()
        to_server, from_client = os.pipe()
        from_server, to_client = os.pipe()
        child = os.fork()
        if not child:
            os.close(from_client)
            os.close(from_server)
            log = os.open(self.folder / "server.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            become_memem(["serve"], (to_server, to_client, log), cwd, {**os.environ, **environ})
        os.close(to_server)
        os.close(to_client)
        client = Client(from_client, from_server)
        try:
            yield client
        finally:
            client.hang_up()
            os.close(from_server)
            os.waitpid(child, 0)
            wait_for_background()

    def normalise(self, text: str) -> str:
        """Without what depends on this machine."""
        for place, name in ((self.folder, "/folder"), (ROOT, "/repository")):
            text = text.replace(str(place), name).replace(str(place).replace("/", "-"), name.replace("/", "-"))
        for pattern, name in _DEPENDS_ON_MACHINE:
            text = re.sub(pattern, name, text)
        return text

    def write_pages(self, target: Path) -> None:
        """Write every page as a file below `target`."""
        for page, parts in self.pages.items():
            path = target / f"{page}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.normalise("\n".join(parts)), encoding="utf-8")


_DEPENDS_ON_MACHINE = (
    (r"\b\d+\.\d+\.\d+, SQLite \d+\.\d+\.\d+", "VERSION, SQLite VERSION"),
    (r"(memem[ \t]|\"version\": \"|\"memem\": \")\d+\.\d+\.\d+\w*", r"\1VERSION"),
    (r"[\d.,]+ (TB|GB|MB|KB|bytes)\b", "SIZE"),
    (r"(\"(?:index_)?bytes\"|index_bytes): \d+", r"\1: SIZE"),
    (r"index_bytes=\d+", "index_bytes=SIZE"),
    (r"cache/index/[0-9a-f]{8}", "cache/index/HASH"),  # of the vault's path
    (r"memem-demo-\w+", "memem-demo"),
    (r"(\"modified\": )\d+", r"\1TIME"),  # of the file, which no frozen clock sets
    (r"(\"key\": ?\")[0-9a-f]{16}\"", r'\1KEY"'),  # drawn from the numbers that name temporary files
    (r"(\"by\": ?\")[0-9a-f]{32}\"", r'\1SIGNATURE"'),  # by the home's own key
)
"""Patterns, each with what is written in its place."""


def show_newlines(text: str) -> str:
    """JSON whose long texts can be read, and compared line by line."""
    return text.replace("\\n", "\n    ")


def _with_margin(margin: str, text: str) -> str:
    return "".join(f"{margin}{line}\n" for line in text.splitlines())
