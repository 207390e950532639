"""Runs commands of memem in forked children of a process whose clock and randomness are frozen.

`run_command` needs such a process: one that has called `frozen.freeze` before memem was imported. `FrozenMemem` starts
one for those that are not, and sends it commands as lines of JSON.
"""

import ctypes
import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.command_line import Outcome
from tests.golden import frozen

ROOT = Path(__file__).resolve().parents[2]
SUBREAPER = 36
"""`PR_SET_CHILD_SUBREAPER` of Linux: orphaned processes become ours, so that we can wait for them."""
BACKGROUND_SECONDS = 60
PLAIN_ENVIRONMENT = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", "COLUMNS": "80"}


class FrozenMemem:
    """A process that runs commands by a fixed clock."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.golden.commands"],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], **PLAIN_ENVIRONMENT},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def run(self, *arguments: str, cwd: Path, environ: Mapping[str, str], stdin: str = "") -> Outcome:
        """Run a command to its end, with everything that it begins in the background."""
        assert self._process.stdin
        assert self._process.stdout
        request = {"arguments": arguments, "cwd": str(cwd), "environ": dict(environ), "stdin": stdin}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Outcome(*json.loads(self._process.stdout.readline()))


def answer_requests() -> None:
    """The other end of `FrozenMemem`, on standard input and output."""
    prepare()
    for line in sys.stdin:
        asked = json.loads(line)
        outcome = run_command(asked["arguments"], Path(asked["cwd"]), asked["environ"], asked["stdin"])
        print(json.dumps(outcome), flush=True)


def prepare() -> None:
    """Import all of memem here, whatever its modules are called, so that no forked child has to."""
    import memem

    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    for module in pkgutil.walk_packages(memem.__path__, "memem."):
        with suppress(ImportError):  # that of an extra
            importlib.import_module(module.name)


def run_command(arguments: list[str], cwd: Path, environ: Mapping[str, str], stdin: str = "") -> Outcome:
    """Run a command in a child, with this environment alone, and wait for all that it has begun."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        child = os.fork()
        if not child:
            become_memem(arguments, (given.fileno(), out.fileno(), err.fileno()), cwd, environ)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        wait_for_background()
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    return Outcome(code, *texts)


def become_memem(arguments: list[str], streams: tuple[int, int, int], cwd: Path, environ: Mapping[str, str]) -> None:
    """Run a command in this process, which is a child, and end it."""
    code = 1
    try:
        for target, source in enumerate(streams):
            os.dup2(source, target)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, mode, encoding="utf-8", closefd=False) for number, mode in enumerate(("r", "w", "w"))
        )
        os.environ.clear()
        os.environ.update(environ)
        os.chdir(cwd)
        time.tzset()
        tempfile.tempdir = None  # read anew from TMPDIR
        frozen.use_environment(Path(environ[frozen.ENVIRONMENT]))
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


if __name__ == "__main__":
    frozen.freeze()
    answer_requests()
