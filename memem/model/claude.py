"""Ask the claude CLI one question, without the user's tools, hooks, servers, settings and instructions."""

import errno
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple

from memem.core import files, processes
from memem.core.dates import Clock
from memem.core.errors import UNKNOWN_COST, CallFailed, CliMissing, HomeError, TookTooLong, Usage
from memem.core.files import from_json
from memem.model import errors
from memem.model.answer import MAX_TOKENS, ModelAnswer, parse_words, read_number

MAX_OUTPUT_BYTES = 5_000_000  # an answer with a hundred lessons has a hundredth
MAX_DOLLARS = 1_000.0  # of a call; larger reports are ignored
HELP_SECONDS = 20.0
CHECK_SECONDS = 1.0  # between checks of how much a running CLI has written
# Keep the user's tools, hooks, servers, settings and instructions out, and make the answer one JSON object.
WANTED = (
    *("--safe-mode", "--tools", "--system-prompt", "--no-session-persistence", "--strict-mcp-config"),
    *("--setting-sources", "--disable-slash-commands", "--model", "--session-id", "--output-format", "--json-schema"),
)
_LISTED = re.compile(r"^ {1,8}(?:-\w, )?(--[a-z-]+)", re.MULTILINE)  # descriptions are indented more

_SESSION_VARIABLES = re.compile(
    r"CLAUDECODE|CLAUDE_PID|CLAUDE_PROJECT_DIR|CLAUDE_PLUGIN_(ROOT|DATA|OPTION_.*)"
    r"|CLAUDE_CODE_(SESSION_.*|CHILD_SESSION|ENTRYPOINT|SSE_PORT)|CLAUDE.*MESSAGING.*"
)
_OUT_OF_RESOURCES = (errno.EAGAIN, errno.ENOMEM, errno.E2BIG, errno.EMFILE, errno.ENFILE)
_INSTRUCTIONS = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude", ".mcp.json")


class _Finished(NamedTuple):
    code: int
    output: str
    complaint: str


@dataclass
class Claude:
    """The claude CLI at `command`, run in an empty `folder`; others can end it with what `on_start` gets."""

    command: str
    model: str
    seconds: float
    folder: Path
    environ: Mapping[str, str] = field(repr=False)
    flags_file: Path
    clock: Clock
    makes_sessions: ClassVar[bool] = True  # a release without --no-session-persistence writes a session file
    on_start: Callable[[int, str], object] = lambda _pid, _start: None
    on_end: Callable[[int], object] = lambda _pid: None

    def ask(
        self, *, system: str, instruction: str, text: str, schema: Mapping[str, Any], session: str = ""
    ) -> ModelAnswer:
        """Return the model's answer about `text`. `session` is the id that a session file would have."""
        cli = Flags(self.command, self.flags_file, self._help)
        supported = cli.load()
        while True:
            line = _arguments(supported, system, instruction, schema, self.model, session)
            finished = self._run(line, text, self.seconds)
            refused = errors.unknown_option(finished.complaint) if finished.code else None
            if refused not in supported:
                break
            supported = cli.after_refusal(supported, refused)
        result = _result(finished.output)
        usage = _usage(result)
        problem = errors.explain(finished.code, result, finished.output, finished.complaint, self.clock())
        if problem:
            problem.usage = usage
            raise problem
        return ModelAnswer(_value(result, finished.output, usage), usage)

    def says(self, *arguments: str) -> str:
        """Return the CLI's output for arguments that need no model."""
        return self._run(arguments, "", HELP_SECONDS).output

    def _help(self) -> str:
        try:
            finished = self._run(["--help"], "", HELP_SECONDS)
        except (TookTooLong, CallFailed):
            return ""
        return "" if finished.code else finished.output

    def _run(self, arguments: Sequence[str], text: str, seconds: float) -> _Finished:
        try:
            files.make_private_folder(self.folder)
            for path in (self.folder / name for name in _INSTRUCTIONS):
                if path.exists():
                    raise HomeError(f"claude would read {path} as instructions while mining. Move it elsewhere.")
            with ExitStack() as stack:  # temporary files have no name, and vanish with this process
                streams = [stack.enter_context(tempfile.TemporaryFile(dir=self.folder)) for _ in range(3)]
                stdin, stdout, stderr = streams
                stdin.write(text.encode("utf-8", "replace"))
                stdin.seek(0)
                process = self._start(arguments, streams)
                try:
                    self.on_start(process.pid, processes.read_start_time(process.pid) or "")
                    code = _wait_for(process, (stdout, stderr), seconds)
                finally:
                    processes.end_group(process.pid)
                    process.wait()
                    self.on_end(process.pid)
                return _Finished(code, _read(stdout), _read(stderr))
        except OSError as error:
            raise HomeError(f"Cannot run claude in {self.folder}: {files.reason(error)}.") from None

    def _start(self, arguments: Sequence[str], streams: Sequence[IO[bytes]]) -> "subprocess.Popen[bytes]":
        stdin, stdout, stderr = streams
        try:
            return subprocess.Popen(
                [self.command, *arguments],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=self.folder,
                env=environment(self.environ),
                start_new_session=True,
                preexec_fn=processes.die_with_parent(),  # noqa: PLW1509 - one system call, looked up before the fork
            )
        except OSError as error:
            problem = f"{self.command} cannot be started: {files.reason(error)}."
            if error.errno in _OUT_OF_RESOURCES:
                raise CallFailed(problem) from None
            raise CliMissing(f"{problem} Install Claude Code and put claude on your PATH.") from None


def _arguments(
    flags: Collection[str], system: str, instruction: str, schema: Mapping[str, Any], model: str, session: str
) -> list[str]:
    """Return the command line, without the text: all users can see arguments. The prompt replaces missing options."""
    values = {
        "--tools": [""],
        "--system-prompt": [system],
        "--setting-sources": [""],
        "--model": [model],
        "--session-id": [session],
        "--output-format": ["json"],
        "--json-schema": [json.dumps(schema)],
    }
    given = [flag for flag in WANTED if flag in flags and (flag != "--session-id" or session)]
    options = [part for flag in given for part in (flag, *values.get(flag, []))]
    prompt = [instruction] if "--system-prompt" in flags else [system, instruction]
    if "--json-schema" not in flags:
        prompt.append(f"Answer with one JSON object of this schema and nothing else: {json.dumps(schema)}")
    return ["-p", *options, "--", "\n\n".join(prompt)]


class Flags:
    """The wanted options that the CLI at `command` has, cached in `file` for as long as it is the same CLI."""

    def __init__(self, command: str, file: Path, ask_help: Callable[[], str]) -> None:
        self._command = Path(command)
        self._file = file
        self._ask_help = ask_help
        self._refused: set[str] = set()

    def load(self) -> frozenset[str]:
        """Return the options, from the cache if it is about this CLI."""
        with suppress(OSError, ValueError, LookupError, TypeError):  # missing or unreadable
            cached = from_json(self._file.read_bytes())
            if cached["cli"] == self._identify_cli():
                return frozenset(cached["flags"]).intersection(WANTED)
        return self._store(self._read_help())

    def after_refusal(self, flags: frozenset[str], refused: str) -> frozenset[str]:
        """Return the options without a refused one; first read the help again, the cache may describe another CLI."""
        current = flags if self._refused else self._read_help()
        self._refused.add(refused)
        return self._store(current - self._refused)

    def _read_help(self) -> frozenset[str]:
        # Help that fails or names none of them proves nothing: a newer CLI may hide options.
        listed = _LISTED.findall(self._ask_help())
        return frozenset(WANTED).intersection(listed) or frozenset(WANTED)

    def _store(self, flags: frozenset[str]) -> frozenset[str]:
        with suppress(OSError):  # the help is read again next time, which takes half a second
            data = json.dumps({"cli": self._identify_cli(), "flags": sorted(flags)}).encode()
            files.make_private_folder(self._file.parent)
            files.write_atomic(self._file, data, fsync=False, mode=files.PRIVATE_FILE)
        return flags

    def _identify_cli(self) -> list[str | int]:
        # A new release is a new file; asking for the version would take longer.
        real = self._command.resolve()
        status = real.stat()
        return [str(real), status.st_mtime_ns, status.st_size]


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the CLI: the account and configuration, without the variables of a session."""
    inherited = {name: value for name, value in environ.items() if not _SESSION_VARIABLES.fullmatch(name)}
    # For a CLI that has no option against hooks, and one that would retry for minutes.
    return inherited | {"MEMEM_HOOKS_OFF": "1", "CLAUDE_CODE_MAX_RETRIES": "1"}


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MAX_OUTPUT_BYTES).decode("utf-8", "replace")


def _wait_for(process: "subprocess.Popen[bytes]", written: Sequence[IO[bytes]], seconds: float) -> int:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        try:
            return process.wait(min(left, CHECK_SECONDS))
        except subprocess.TimeoutExpired:
            if max(os.fstat(file.fileno()).st_size for file in written) > MAX_OUTPUT_BYTES:
                message = f"The claude CLI wrote more than {MAX_OUTPUT_BYTES:,} bytes and was stopped."
                raise CallFailed(message, UNKNOWN_COST) from None
    message = f"The claude CLI did not answer within {seconds:g} seconds and was stopped. Nothing is lost."
    raise TookTooLong(message, UNKNOWN_COST)


def _result(output: str) -> Mapping[str, Any] | None:
    """Return the CLI's report of a call; a verbose one lists all messages, and the report is the last."""
    try:
        report = from_json(output)
    except ValueError:
        return None
    last = report[-1] if isinstance(report, list) and report else report
    return last if isinstance(last, dict) and last.get("type") == "result" else None


def _value(result: Mapping[str, Any] | None, output: str, usage: Usage) -> Any:
    """Return the structured answer, or JSON from the model's words or the whole output."""
    if result and result.get("structured_output") is not None:
        return result["structured_output"]
    return parse_words(str(result.get("result", "")) if result else output, usage)


def _usage(result: Mapping[str, Any] | None) -> Usage:
    if result is None:
        return UNKNOWN_COST
    counted = result.get("usage")
    tokens = counted if isinstance(counted, dict) else {}
    read = [tokens.get(name) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")]
    written = read_number(tokens.get("output_tokens"), MAX_TOKENS)
    dollars = read_number(result.get("total_cost_usd"), MAX_DOLLARS)
    return Usage(int(sum(read_number(each, MAX_TOKENS) or 0 for each in read)), int(written or 0), dollars)
