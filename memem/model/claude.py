"""Call the claude CLI: one question, one answer. Nothing else calls it.

It gets none of the user's tools, hooks, servers, settings or instructions, and keeps no session file. The text goes
in on standard input. It runs in a process group of its own, which ends with the call.
"""

import errno
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from memem.core import files, processes
from memem.core.dates import Clock
from memem.core.errors import UNKNOWN_COST, CallFailed, CliMissing, ExtractError, HomeError, NotJson, TookTooLong, Usage
from memem.core.files import from_json
from memem.model import errors, flags

MOST_BYTES = 5_000_000  # of an answer that are read; one with a hundred lessons has a hundredth

MOST_TOKENS, MOST_DOLLARS = 1_000_000_000, 1_000.0  # more than a call can take or cost; larger reports are ignored

HELP_SECONDS = 20.0
LOOK_EVERY_SECONDS = 1.0  # between checks of how much a running CLI has written

# called with pid and start (see `processes`) of a CLI, so that others can end it
Started = Callable[[int, str], object]
Ended = Callable[[int], object]

_OF_THE_SESSION = re.compile(
    r"CLAUDECODE|CLAUDE_PID|CLAUDE_PROJECT_DIR|CLAUDE_PLUGIN_(ROOT|DATA|OPTION_.*)"
    r"|CLAUDE_CODE_(SESSION_.*|CHILD_SESSION|ENTRYPOINT|SSE_PORT)|CLAUDE.*MESSAGING.*"
)
_OUT_OF_RESOURCES = (errno.EAGAIN, errno.ENOMEM, errno.E2BIG, errno.EMFILE, errno.ENFILE)
_INSTRUCTIONS = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude", ".mcp.json")
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The model's answer, not yet checked against the schema."""

    value: Any
    usage: Usage


@dataclass(frozen=True, slots=True)
class _Finished:
    code: int
    output: str
    complaint: str


class Claude:
    """The user's own claude CLI at `command`, run in `folder`, which has nothing for it to read."""

    def __init__(
        self,
        command: str,
        *,
        model: str,
        seconds: float,
        folder: Path,
        environ: Mapping[str, str],
        flags_file: Path,
        clock: Clock,
        on_start: Started = lambda _pid, _start: None,
        on_end: Ended = lambda _pid: None,
    ) -> None:
        self._command = command
        self._model = model
        self._seconds = seconds
        self._folder = folder
        self._environ = environment(environ)
        self._flags = flags.Flags(command, flags_file, self._help)
        self._clock = clock
        self._on_start = on_start
        self._on_end = on_end

    def ask(
        self, *, system: str, instruction: str, text: str, schema: Mapping[str, Any], session: str = ""
    ) -> ModelAnswer:
        """Return the model's answer about `text`. `session` is the id that a session file would have."""
        question = flags.Question(system, instruction, schema, self._model, session)
        finished = self._run_supported(question, text)
        result = _result(finished.output)
        usage = _usage(result)
        problem = errors.explain(finished.code, result, finished.output, finished.complaint, self._clock())
        if problem:
            problem.usage = usage
            raise problem
        return ModelAnswer(_value(result, finished.output, usage), usage)

    def _run_supported(self, question: flags.Question, text: str) -> _Finished:
        """Ask with the options that the CLI has; one that it refuses is left out from then on."""
        flags = self._flags.load()
        while True:
            finished = self._run(question.arguments(flags), text, self._seconds)
            unknown = errors.unknown_option(finished.complaint) if finished.code else None
            if unknown not in flags:
                return finished
            flags = self._flags.after_refusal(flags, unknown)

    def says(self, *arguments: str) -> str:
        """Return what the CLI prints without a model: its version, commands or account."""
        return self._run(arguments, "", HELP_SECONDS).output

    def _help(self) -> str:
        """Return the CLI's help; empty if it fails."""
        try:
            finished = self._run(["--help"], "", HELP_SECONDS)
        except (TookTooLong, CallFailed):
            return ""
        return "" if finished.code else finished.output

    def _run(self, arguments: Sequence[str], text: str, seconds: float) -> _Finished:
        """Run the CLI to its end, and end everything that it started."""
        try:
            self._prepare_folder()
            with _temporary(self._folder) as said, _temporary(self._folder) as output, _temporary(self._folder) as told:
                said.write(text.encode("utf-8", "replace"))
                said.seek(0)
                process = self._start(arguments, said, output, told)
                code = self._finish(process, (output, told), seconds)
                return _Finished(code, _read(output), _read(told))
        except OSError as error:
            raise HomeError(f"Cannot ask claude from {self._folder}: {files.reason(error)}.") from None

    def _prepare_folder(self) -> None:
        files.make_private_folder(self._folder)
        for name in _INSTRUCTIONS:
            if (self._folder / name).exists():
                raise HomeError(f"{self._folder / name} would be read as instructions for mining. Move it away.")

    def _start(
        self, arguments: Sequence[str], said: IO[bytes], output: IO[bytes], told: IO[bytes]
    ) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(
                [self._command, *arguments],
                stdin=said,
                stdout=output,
                stderr=told,
                cwd=self._folder,
                env=self._environ,
                start_new_session=True,
                preexec_fn=processes.die_with_parent(),  # noqa: PLW1509 - one system call, looked up before the fork
            )
        except OSError as error:
            raise _not_started(self._command, error) from None

    def _finish(self, process: "subprocess.Popen[bytes]", written: Sequence[IO[bytes]], seconds: float) -> int:
        try:
            self._on_start(process.pid, processes.read_start_time(process.pid) or "")
            return _waited_for(process, written, seconds)
        finally:
            processes.end_group(process.pid)
            process.wait()
            self._on_end(process.pid)


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the CLI: the account and configuration, nothing of a session we may be part of.

    MEMEM_HOOKS_OFF stops memem's own hooks where the CLI has no option for that. Without CLAUDE_CODE_MAX_RETRIES
    it would retry for minutes.
    """
    kept = {name: value for name, value in environ.items() if not _OF_THE_SESSION.fullmatch(name)}
    return kept | {"MEMEM_HOOKS_OFF": "1", "CLAUDE_CODE_MAX_RETRIES": "1"}


def _temporary(folder: Path) -> IO[bytes]:
    return tempfile.TemporaryFile(dir=folder)  # private, and gone with us: it has no name


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MOST_BYTES).decode("utf-8", "replace")


def _waited_for(process: "subprocess.Popen[bytes]", written: Sequence[IO[bytes]], seconds: float) -> int:
    """Return the exit code, unless it takes too long or writes too much."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        try:
            return process.wait(min(left, LOOK_EVERY_SECONDS))
        except subprocess.TimeoutExpired:
            if max(os.fstat(each.fileno()).st_size for each in written) > MOST_BYTES:
                told = f"The claude CLI wrote more than {MOST_BYTES:,} bytes and was ended."
                raise CallFailed(told, UNKNOWN_COST) from None
    told = f"The claude CLI gave no answer within {seconds:g} seconds and was ended. Nothing is lost."
    raise TookTooLong(told, UNKNOWN_COST)


def _not_started(command: str, error: OSError) -> ExtractError:
    if error.errno in _OUT_OF_RESOURCES:
        return CallFailed(f"{command} could not be started: {files.reason(error)}.")
    return CliMissing(
        f"{command} cannot be started: {files.reason(error)}. Install Claude Code and put claude on your PATH."
    )


def _result(output: str) -> Mapping[str, Any] | None:
    """Return the CLI's report of a call; a verbose one lists all messages, and the report is the last."""
    try:
        said = from_json(output)
    except ValueError:
        return None
    last = said[-1] if isinstance(said, list) and said else said
    return last if isinstance(last, dict) and last.get("type") == "result" else None


def _value(result: Mapping[str, Any] | None, output: str, usage: Usage) -> Any:
    """Return the structured answer, or the JSON in the model's words, or in all output."""
    if result and result.get("structured_output") is not None:
        return result["structured_output"]
    words = str(result.get("result", "")) if result else output
    for candidate in (words, *_FENCED.findall(words), words[words.find("{") : words.rfind("}") + 1]):
        try:
            return from_json(candidate)
        except ValueError:
            continue
    raise NotJson(f"The model answered with {len(words):,} characters that are not JSON. Nothing is lost.", usage)


def _usage(result: Mapping[str, Any] | None) -> Usage:
    if result is None:
        return UNKNOWN_COST
    counted = result.get("usage")
    tokens = counted if isinstance(counted, dict) else {}
    read = [tokens.get(name) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")]
    written = _number(tokens.get("output_tokens"), MOST_TOKENS)
    dollars = _number(result.get("total_cost_usd"), MOST_DOLLARS)
    return Usage(int(sum(_number(each, MOST_TOKENS) or 0 for each in read)), int(written or 0), dollars)


def _number(value: Any, most: float) -> float | None:
    """Return a count or a price; None for anything that cannot be one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= most else None
