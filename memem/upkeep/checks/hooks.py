"""Run the plugin's hooks exactly as Claude Code does, with recorded input, and judge the result."""

from __future__ import annotations

import json
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
from memem.upkeep.checks.machine import set_up
from memem.upkeep.checks.result import Diagnosis, broken, degraded, fine

if TYPE_CHECKING:
    from memem.workspace import Workspace

SESSION = notices.DOCTOR_SESSION
SHELL = "/bin/sh"
SLOW_SECONDS = 1.0
DEFAULT_TIMEOUT_SECONDS = 60.0
MAX_CONTEXT_CHARS = 10_000  # Claude Code replaces more by a preview
RECONNECT = "In Claude Code run `/mcp`, choose memem, then Reconnect: that brings its tools back at once."
REINSTALL = "Run `claude plugin install memem@memem-marketplace` to reinstall it."
WARM = "Hooks are faster while Claude Code runs memem's server; check with `/mcp` there."
NOT_STARTED = (126, 127)  # exit codes of a shell that cannot run or find a command
MAX_SHOWN_CHARS = 300
SILENT = ("Stop", "SubagentStop", "PreCompact", "SessionEnd")  # output would continue the conversation, or get lost

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
}  # by event, in the order in which they occur


@dataclass(frozen=True, slots=True)
class Hook:
    event: str
    command: str
    seconds: float


@dataclass(frozen=True, slots=True)
class HookRun:
    code: int | None  # None after a timeout
    seconds: float
    output: str
    complaint: str  # standard error, and new lines of the log


def check(ws: Workspace, default_root: Path = ROOT) -> list[Diagnosis]:
    """Check the plugin and each of its hooks. Their records of this session are deleted again."""
    found = plugin.find(ws, default_root)
    if found is None:
        return [fine("plugin", "memem is installed as a package, without hooks")]
    try:
        hooks = read_hooks(found.hooks_file)
    except (OSError, ValueError) as problem:
        return [broken("plugin", f"{found.hooks_file} cannot be used: {problem}", REINSTALL)]
    if ws.is_own_call or not Path(SHELL).exists():
        why = "MEMEM_HOOKS_OFF is set" if ws.is_own_call else f"there is no {SHELL}"
        return [*_check_plugin(ws, found), fine("hooks", f"not run, because {why}")]
    with tempfile.TemporaryDirectory(prefix="memem-", ignore_cleanup_errors=True) as folder:
        results = [_judge(ws, hook, found, _run(ws, hook, found, Path(folder))) for hook in hooks]
    if ws.home.contexts_file.exists():
        with suppress(MememError):
            ws.contexts.forget(SESSION)
            ws.contexts.receipts.forget(SESSION)
    return [*_check_plugin(ws, found), *results]


def read_hooks(file: Path) -> list[Hook]:
    """The commands that Claude Code would run, in the order of their events. Raises ValueError."""
    try:
        events = from_json(file.read_bytes())["hooks"]
        hooks = [
            Hook(event, each["command"], float(each.get("timeout", DEFAULT_TIMEOUT_SECONDS)))
            for event, groups in events.items()
            for group in groups
            for each in group["hooks"]
            if each.get("type") == "command"
        ]
    except (ValueError, LookupError, TypeError, AttributeError) as problem:
        raise ValueError(f"its structure is wrong ({type(problem).__name__})") from None
    if not hooks:
        raise ValueError("it has no commands")
    order = list(ENVELOPES)
    return sorted(dict.fromkeys(hooks), key=lambda hook: order.index(hook.event) if hook.event in order else len(order))


def _environment(ws: Workspace, found: Plugin, folder: Path) -> dict[str, str]:
    is_default = settings.locate_home(ws.environ, ws.user_home) == ws.home.root
    is_set = is_default and ws.settings.sources["vault"] != "argument"
    options = settings.plugin_options(ws.environ) or stored_plugin_options(ws.home)
    variables = {option.plugin_variable: options[option.key] for option in OPTIONS if option.key in options}
    variables |= {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": SESSION,
        "CLAUDE_PROJECT_DIR": str(folder),
        "CLAUDE_PLUGIN_ROOT": str(found.root),
    }
    if found.data:
        variables["CLAUDE_PLUGIN_DATA"] = str(found.data)
    return {**(ws.environ if is_set else ws.environ_for_children()), **variables}


def _run(ws: Workspace, hook: Hook, found: Plugin, folder: Path) -> HookRun:
    """Run a hook until it ends or its time is up; then end its whole process group."""
    transcript = folder / f"{SESSION}.jsonl"
    transcript.touch()
    given = {"session_id": SESSION, "transcript_path": str(transcript), "cwd": str(folder)}
    given |= {"hook_event_name": hook.event, **ENVELOPES.get(hook.event, {})}
    log, before = ws.home.hooks_log, ws.ticks()
    log_size = _size(log)
    command, environ, pipe = [SHELL, "-c", hook.command], _environment(ws, found, folder), subprocess.PIPE
    process = subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env=environ, start_new_session=True
    )
    with process:
        try:
            output, complaint = process.communicate(json.dumps(given).encode(), timeout=hook.seconds)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired as late:
            # A child that keeps the output open counts too: Claude Code also waits for it.
            processes.end_group(process.pid)
            output, complaint, code = late.output or b"", late.stderr or b"", None
    if (new_size := _size(log)) != log_size:  # a failing hook reports its error only there
        complaint += b" " + log.read_bytes()[log_size if new_size > log_size else 0 :]  # it may have been rotated
    errors = " ".join(complaint.decode("utf-8", "replace").split())
    return HookRun(code, ws.ticks() - before, output.decode("utf-8", "replace"), errors)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _check_plugin(ws: Workspace, found: Plugin) -> list[Diagnosis]:
    results = [fine("plugin", f"{found.root}, {'' if found.data else 'not '}installed in Claude Code")]
    if not found.enabled:
        fix = f"Run `claude plugin enable {plugin.NAME}@{plugin.MARKETPLACE}` to enable it."
        results = [degraded("plugin", f"{found.root} is disabled in Claude Code", fix)]
    if plugin.server_is_skipped(ws):
        detail = "Claude Code does not start it for 15 minutes after a failed start"
        results.append(degraded("server", detail, RECONNECT))
    return results


def _judge(ws: Workspace, hook: Hook, found: Plugin, run: HookRun) -> Diagnosis:
    what, duration = f"hook {hook.event}", f"{run.seconds * 1000:.0f} ms"
    errors = f": {run.complaint[:MAX_SHOWN_CHARS]}" if run.complaint else ""
    prefix = found.data / "venv" if found.data else found.root / ".venv"
    look = f"See {ws.home.hooks_log}, or run {set_up(found.root, prefix, 'status')} to set up what is missing."
    if run.code in NOT_STARTED:
        return broken(what, f"could not be started{errors}", REINSTALL)
    if run.code != 0:
        late = f"did not finish within {hook.seconds:g} s"
        return broken(what, f"{late if run.code is None else f'failed with exit code {run.code}'}{errors}", look)
    if problem := _output_problem(hook.event, run.output):
        return broken(what, f"{problem}: {' '.join(run.output.split())[:MAX_SHOWN_CHARS]}", REINSTALL)
    if run.complaint:
        return degraded(what, f"reported an error{errors}", look)
    if run.seconds > SLOW_SECONDS:
        return degraded(what, f"is slow: it took {duration}", WARM)
    return fine(what, duration)


def _output_problem(event: str, output: str) -> str:
    if not output.strip():
        return ""
    if event in SILENT:
        return "printed output, but must be silent"
    try:
        printed = from_json(output)
        specific = printed.get("hookSpecificOutput", {"hookEventName": event})
        context = specific.get("additionalContext", "")
        if specific["hookEventName"] != event or "additionalContext" in printed or not isinstance(context, str):
            return "printed JSON for another event"
    except (ValueError, LookupError, TypeError, AttributeError):
        return "printed something other than the expected JSON"
    return "printed more than Claude Code accepts" if len(context) > MAX_CONTEXT_CHARS else ""
