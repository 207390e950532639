"""Runs memem as its users do and writes down what it answers.

A command runs in a forked child of this process, which must have called `frozen.freeze` before memem was imported: it
has its own streams, and costs no start of an interpreter. After each command everything it began in the background has
ended.
"""

import ctypes
import importlib
import json
import os
import pkgutil
import re
import shlex
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.command_line import Outcome
from tests.golden import frozen
from tests.mcp_client import Client

ROOT = Path(__file__).resolve().parents[2]
SUBREAPER = 36
"""`PR_SET_CHILD_SUBREAPER` of Linux: orphaned processes become ours, so that we can wait for them."""
BACKGROUND_SECONDS = 60
_VARIABLES = {
    "MEMEM_FSYNC": "0",
    "MEMEM_ENCODER": "none",
    "MEMEM_BACKGROUND": "0",
    "MEMEM_RETRY_BASE_SECONDS": "0",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "PYTHONUTF8": "1",
    "COLUMNS": "80",
}
_TOOLS = ("/usr/local/bin", "/usr/bin", "/bin")


def import_everything() -> None:
    """Import all of memem here, whatever its modules are called, so that no forked child has to."""
    import memem

    for module in pkgutil.walk_packages(memem.__path__, "memem."):
        with suppress(ImportError):  # that of an extra
            importlib.import_module(module.name)


class Recorder:
    """A user's machine in a folder, and the pages on which their commands are written down."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.user = self.folder / "user"
        self.home = self.user / ".memem"
        self.vault = self.user / "vault"
        self.claude = self.folder / "claude"
        self.pages: dict[str, list[str]] = {}
        for each in ("user", "temporary", "runtime"):
            (self.folder / each).mkdir(0o700)
        self.environ = {
            "HOME": str(self.user),
            "PATH": os.pathsep.join([str(self.claude), *_TOOLS]),
            "MEMEM_OBSIDIAN_VAULT": str(self.vault),
            "TMPDIR": str(self.folder / "temporary"),
            "XDG_RUNTIME_DIR": str(self.folder / "runtime"),
            frozen.ENVIRONMENT: str(self.folder / "environment"),
            **_VARIABLES,
        }
        os.environ.clear()
        os.environ.update(self.environ)
        time.tzset()
        tempfile.tempdir = None  # read anew from TMPDIR
        frozen.use_environment(self.folder / "environment")
        import_everything()
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)

    def advance(self) -> None:
        """Begin the next step: a minute later, with other random numbers."""
        os.environ[frozen.STEP] = str(frozen.read_step() + 1)

    def run(
        self, *arguments: str, stdin: str = "", cwd: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> Outcome:
        """Run a command and write nothing down."""
        self.advance()
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(stdin.encode())
            given.seek(0)
            child = os.fork()
            if not child:
                streams = (given.fileno(), out.fileno(), err.fileno())
                _become_memem(arguments, streams, cwd or self.user, environ or {})
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            wait_for_background()
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read().decode())
        return Outcome(code, *texts)

    def record(self, page: str, *arguments: str, shown: str = "", **more: Any) -> Outcome:
        """Run a command and write it down, with its answer."""
        outcome = self.run(*arguments, **more)
        variables = "".join(f"{name}={value} " for name, value in (more.get("environ") or {}).items())
        parts = [f"$ {variables}{shown or shlex.join(['memem', *arguments])}\n"]
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
        common = {"hook_event_name": event, "cwd": str(self.user), "session_id": "11111111-aaaa-4bbb-8ccc-222222222222"}
        outcome = self.run("hook", event, stdin=json.dumps({**common, **envelope}))
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
            _become_memem(("serve",), (to_server, to_client, log), cwd, environ)
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
    (r"(memem |\"version\": \")\d+\.\d+\.\d+\w*", r"\1VERSION"),
    (r"[\d.,]+ (TB|GB|MB|KB|bytes)\b", "SIZE"),
    (r"(\"(?:index_)?bytes\"|index_bytes): \d+", r"\1: SIZE"),
    (r"index_bytes=\d+", "index_bytes=SIZE"),
    (r"cache/index/[0-9a-f]{8}", "cache/index/HASH"),  # of the vault's path
    (r"memem-demo-\w+", "memem-demo"),
    (r"(\"modified\": )\d+", r"\1TIME"),  # of the file, which no frozen clock sets
    (r"(\"key\": ?\")[0-9a-f]{16}\"", r'\1KEY"'),  # drawn from the numbers that name temporary files
)
"""Patterns, each with what is written in its place."""


def wait_for_background() -> None:
    """Wait until every process that a command has left running has ended."""
    until = time.monotonic() + BACKGROUND_SECONDS
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            assert time.monotonic() < until, "a background process does not end"
            time.sleep(0.005)


def show_newlines(text: str) -> str:
    """JSON whose long texts can be read, and compared line by line."""
    return text.replace("\\n", "\n    ")


def _with_margin(margin: str, text: str) -> str:
    return "".join(f"{margin}{line}\n" for line in text.splitlines())


def _become_memem(
    arguments: tuple[str, ...], streams: tuple[int, int, int], cwd: Path, environ: Mapping[str, str]
) -> None:
    """Run a command in this process, which is a child, and end it."""
    code = 1
    try:
        for target, source in enumerate(streams):
            os.dup2(source, target)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, mode, encoding="utf-8", closefd=False) for number, mode in enumerate(("r", "w", "w"))
        )
        os.environ.update(environ)
        os.chdir(cwd)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        sys.argv = ["memem", *arguments]
        from memem.__main__ import main

        try:
            main()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
    except BaseException:  # noqa: BLE001 - nobody else would print it in a forked child
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
