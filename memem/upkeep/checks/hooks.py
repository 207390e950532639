"""The plugin's hooks, run exactly as Claude Code runs them, with what it told them when this was recorded."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.core import processes, settings
from memem.core.errors import MememError
from memem.core.files import from_json
from memem.core.options import OPTIONS
from memem.core.settings import stored_plugin_options
from memem.core.surroundings import ROOT
from memem.inject import notices
from memem.model import plugin
from memem.model.plugin import Plugin
from memem.upkeep.checks.result import Diagnosis, broken, degraded, fine
from memem.upkeep.checks.setup import set_up

if TYPE_CHECKING:
    from memem.workspace import Workspace


SESSION = notices.DOCTOR_SESSION
SHELL = "/bin/sh"
SLOW_SECONDS = 1.0
USUAL_SECONDS = 60.0
"""How long a hook may take that states nothing else."""
LONGEST_CONTEXT = 10_000
"""In characters; more than that Claude Code replaces by a preview."""
RECONNECT = "In Claude Code run `/mcp`, choose memem, then Reconnect: that brings its tools back at once."
REINSTALL = "`claude plugin install memem@memem-marketplace` installs it again."
WARM = "It is quicker while Claude Code runs memem's server; `/mcp` there shows whether it does."
NOT_FOUND = (126, 127)
"""How a shell ends that cannot run, or cannot find, what it should."""
MOST_SAID = 300
SILENT = ("Stop", "SubagentStop", "PreCompact", "SessionEnd")
"""Whatever these print may go on with the conversation, or is lost."""

_TOOL = {"tool_use_id": "toolu_01A09q90qw90lq917835lq9", "prompt_id": "77464b00-fe9b-4154-b7d3-bc626e2f1441"}
_PROMPTED = {"prompt_id": _TOOL["prompt_id"], "permission_mode": "default"}
ENVELOPES: Mapping[str, Mapping[str, Any]] = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {**_PROMPTED, "prompt": "Which of the two ways did we choose, and why?"},
    "PreToolUse": {**_PROMPTED, **_TOOL, "tool_name": "Read", "tool_input": {"file_path": "/srv/shop/README.md"}},
    "PermissionRequest": {
        **_PROMPTED,
        "tool_name": "mcp__plugin_memem_memem__memory_search",
        "tool_input": {"query": "the way we chose"},
    },
    "Stop": {**_PROMPTED, "stop_hook_active": False, "last_assistant_message": "The first."},
    "PreCompact": {"trigger": "manual", "custom_instructions": ""},
    "SessionEnd": {"reason": "other"},
}
"""What each event is told beside what all are told, in the order in which they come."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A command of hooks.json."""

    event: str
    command: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Ran:
    """How it went: `code` is None when it had to be ended. `complaint` is what it said where Claude does not look."""

    code: int | None
    seconds: float
    output: str
    complaint: str


def check(ws: Workspace, beside: Path = ROOT) -> list[Diagnosis]:
    """The plugin, and each of its hooks. What they have noted about a session that never was is forgotten again."""
    found = plugin.find(ws, beside)
    if found is None:
        return [fine("plugin", "this memem is a mere package: there are no hooks to run")]
    try:
        hooks = read_hooks(found.hooks_file)
    except (OSError, ValueError) as problem:
        return [broken("plugin", f"{found.hooks_file} cannot be used: {problem}", REINSTALL)]
    if ws.is_a_call_of_ours or not Path(SHELL).exists():
        why = "MEMEM_HOOKS_OFF is set" if ws.is_a_call_of_ours else f"there is no {SHELL}"
        return [_of_plugin(found), *_of_server(ws), fine("hooks", f"not run, since {why}")]
    with tempfile.TemporaryDirectory(prefix="memem-", ignore_cleanup_errors=True) as folder:
        ran = [_judged(ws, hook, found, _run(ws, hook, found, Path(folder))) for hook in hooks]
    if ws.home.contexts_file.exists():
        with suppress(MememError):
            ws.contexts.forget(SESSION)
            ws.contexts.receipts.forget(SESSION)
    return [_of_plugin(found), *_of_server(ws), *ran]


def read_hooks(file: Path) -> list[Hook]:
    """The commands that Claude Code would run, in the order of their events. Raises ValueError for any other file."""
    try:
        events = from_json(file.read_bytes())["hooks"]
        hooks = [
            Hook(event, each["command"], float(each.get("timeout", USUAL_SECONDS)))
            for event, groups in events.items()
            for group in groups
            for each in group["hooks"]
            if each.get("type") == "command"
        ]
    except (ValueError, LookupError, TypeError, AttributeError) as problem:
        raise ValueError(f"it is not what hooks.json should be ({type(problem).__name__})") from None
    if not hooks:
        raise ValueError("it names no command")
    order = list(ENVELOPES)
    return sorted(dict.fromkeys(hooks), key=lambda hook: order.index(hook.event) if hook.event in order else len(order))


def envelope(event: str, folder: Path) -> dict[str, Any]:
    """What Claude Code says on standard input."""
    told = {"session_id": SESSION, "transcript_path": str(folder / f"{SESSION}.jsonl"), "cwd": str(folder)}
    return {**told, "hook_event_name": event, **ENVELOPES.get(event, {})}


def environment(ws: Workspace, found: Plugin, folder: Path) -> dict[str, str]:
    """What Claude Code sets, over the environment that it has itself: the user's."""
    usual = settings.locate_home(ws.environ, ws.user_home) == ws.home.root
    is_set = usual and ws.settings.sources["vault"] != "argument"
    options = settings.plugin_options(ws.environ) or stored_plugin_options(ws.home)
    told = {option.plugin_variable: options[option.key] for option in OPTIONS if option.key in options}
    told |= {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": SESSION,
        "CLAUDE_PROJECT_DIR": str(folder),
        "CLAUDE_PLUGIN_ROOT": str(found.root),
    }
    if found.data:
        told["CLAUDE_PLUGIN_DATA"] = str(found.data)
    return {**(ws.environ if is_set else ws.environ_for_children()), **told}


def _run(ws: Workspace, hook: Hook, found: Plugin, folder: Path) -> Ran:
    """Run a hook to its end, or until its time is up; then nothing of its group is left."""
    (folder / f"{SESSION}.jsonl").touch()
    said = json.dumps(envelope(hook.event, folder)).encode()
    log = _Log(ws.home.hooks_log)
    before = ws.ticks()
    process = subprocess.Popen(
        [SHELL, "-c", hook.command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(ws, found, folder),
        start_new_session=True,
    )
    with process:
        try:
            output, complaint = process.communicate(said, timeout=hook.seconds)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired as late:
            # One that has ended may have left somebody who holds its output open: Claude Code waits for that one too.
            processes.end_group(process.pid)
            output, complaint, code = late.output or b"", late.stderr or b"", None
    told = (complaint.decode("utf-8", "replace"), log.added())
    return Ran(code, ws.ticks() - before, output.decode("utf-8", "replace"), " ".join(" ".join(told).split()))


class _Log:
    """hooks.log, and what is added to it from now on: a hook that fails says so there, and nowhere else."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = self._measure()

    def added(self) -> str:
        size = self._measure()
        if size == self._size:
            return ""
        with self._path.open("rb") as file:
            file.seek(self._size if size > self._size else 0, os.SEEK_SET)
            return file.read().decode("utf-8", "replace")

    def _measure(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0


def _of_plugin(found: Plugin) -> Diagnosis:
    if not found.enabled:
        told = f"{found.root} is switched off in Claude Code"
        return degraded("plugin", told, f"`claude plugin enable {plugin.NAME}@{plugin.MARKETPLACE}` switches it on.")
    if found.data is None:
        return fine("plugin", f"{found.root}, which Claude Code has not installed")
    return fine("plugin", f"{found.root}, installed in Claude Code")


def _of_server(ws: Workspace) -> list[Diagnosis]:
    if not plugin.server_is_skipped(ws):
        return []
    return [degraded("server", "Claude Code does not start it for 15 minutes after a failed start", RECONNECT)]


def _judged(ws: Workspace, hook: Hook, found: Plugin, ran: Ran) -> Diagnosis:
    what, took = f"hook {hook.event}", f"{ran.seconds * 1000:.0f} ms"
    said = f": {ran.complaint[:MOST_SAID]}" if ran.complaint else ""
    environment = found.data / "venv" if found.data else found.root / ".venv"
    look = f"See {ws.home.hooks_log}; {set_up(found.root, environment, 'status')} sets up what is missing."
    if ran.code != 0:
        return broken(what, f"{_ended(hook, ran.code)}{said}", REINSTALL if ran.code in NOT_FOUND else look)
    if problem := _misprinted(hook.event, ran.output):
        return broken(what, f"{problem}: {' '.join(ran.output.split())[:MOST_SAID]}", REINSTALL)
    if ran.complaint:
        return degraded(what, f"complained{said}", look)
    if ran.seconds > SLOW_SECONDS:
        return degraded(what, f"took {took}: that is slow", WARM)
    return fine(what, took)


def _ended(hook: Hook, code: int | None) -> str:
    if code is None:
        return f"was not done after {hook.seconds:g} s"
    return "could not be started" if code in NOT_FOUND else f"ended with the exit code {code}"


def _misprinted(event: str, output: str) -> str:
    """Why Claude Code could do nothing with what a hook printed; empty when it can."""
    if not output.strip():
        return ""
    if event in SILENT:
        return "printed something, and should not"
    try:
        told = from_json(output)
        specific = told.get("hookSpecificOutput", {"hookEventName": event})
        context = specific.get("additionalContext", "")
        if specific["hookEventName"] != event or "additionalContext" in told or not isinstance(context, str):
            return "printed JSON that is not for this event"
    except (ValueError, LookupError, TypeError, AttributeError):
        return "printed something that is not the JSON it should be"
    return "printed more than Claude Code takes" if len(context) > LONGEST_CONTEXT else ""
