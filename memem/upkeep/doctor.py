"""`memem doctor`: check everything that memem needs, and say how to repair it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.errors import ExtractError, MememError, SettingsError
from memem.core.settings import PLUGIN, stored_plugin_options
from memem.mine.status import mining_state
from memem.model import plugin
from memem.model.claude import Claude
from memem.upkeep import link, projects
from memem.upkeep.checks import endpoint, hooks, machine, recall
from memem.upkeep.checks.result import DEGRADED, FINE, STATES, Diagnosis, broken, degraded, fine, of_error

if TYPE_CHECKING:
    from memem.workspace import Workspace

VERDICTS = dict(zip(STATES, ("HEALTHY", "DEGRADED", "FAILING"), strict=True))
IN_CLAUDE_CODE = "Correct it in Claude Code: `/plugin configure memem@memem-marketplace`."
REPORT = "Run `MEMEM_DEBUG=1 memem doctor` for details, and please report this."
INSTALL = "Install Claude Code and put `claude` on your PATH, or run `memem config extractor rules`."
LOG_IN = "Run `claude auth login`, or `memem config extractor rules` to mine without it."
TRY_IT = "Run `claude --version`; reinstall Claude Code if it does not answer."
MAKE_USABLE = "Make it readable and writable, and try again."

Check = Callable[["Workspace"], list[Diagnosis]]


def verdict(results: Iterable[Diagnosis]) -> str:
    return VERDICTS[max((result.state for result in results), key=STATES.index, default=FINE)]


def diagnose(ws: Workspace) -> list[Diagnosis]:
    """Run every check. This refreshes the index, ends orphaned model calls and runs the hooks; nothing else changes."""
    return [diagnosis for what, check in _CHECKS for diagnosis in _run(ws, what, check)]


def integrity(ws: Workspace) -> list[Diagnosis]:
    return _run(ws, "databases", recall.check_databases)


def unopened(problem: SettingsError) -> list[Diagnosis]:
    """Check what can be checked when the settings are too broken to open a home."""
    fix = IN_CLAUDE_CODE if PLUGIN in str(problem) else "Correct it there, and try again."
    return [*machine.check_environment(), broken("settings", str(problem), fix)]


def _run(ws: Workspace, what: str, check: Check) -> list[Diagnosis]:
    """Run a check; its failure is a result, so that the other checks still run."""
    try:
        return check(ws)
    except MememError as problem:
        return [of_error(what, problem, MAKE_USABLE)]
    except OSError as problem:
        return [broken(what, f"cannot use {problem.filename}: {files.reason(problem)}", MAKE_USABLE)]
    except Exception as problem:
        if ws.settings.debug:
            raise
        error = " ".join(f"{type(problem).__name__}: {problem}".split())
        return [broken(what, f"could not be checked: {error}", REPORT)]


def _settings(ws: Workspace) -> list[Diagnosis]:
    if ws.settings.problems:
        return [degraded("settings", problem, IN_CLAUDE_CODE) for problem in ws.settings.problems]
    file = ws.home.plugin_options
    if not file.exists() or stored_plugin_options(ws.home) or file.read_bytes().strip() == b"{}":
        return []
    fix = f"Delete {file}; the next session writes it again."
    return [degraded("settings", f"{file} cannot be read, so the plugin's options are ignored", fix)]


def check_claude(ws: Workspace, *, wanted: bool) -> list[Diagnosis]:
    """Check the CLI; if mining does not want it, nothing that is missing is a problem."""
    command = ws.claude_command
    if not command:
        missing = "`claude` is not on the PATH"
        if wanted:
            return [degraded("claude", f"{missing}: mining uses rules, which find less", INSTALL)]
        return [fine("claude", f"{missing}, but nothing uses it")]
    try:
        # Outside of the home and its state, which may be broken.
        with tempfile.TemporaryDirectory(prefix="memem-") as folder:
            claude = Claude(
                command,
                model=ws.settings.model,
                seconds=ws.settings.model_timeout,
                folder=Path(folder),
                environ=ws.environ,
                flags_file=ws.home.claude_flags,
                clock=ws.clock,
            )
            account = plugin.look_at_account(claude.says)
    except ExtractError as problem:
        return [of_error("claude", problem, TRY_IT, DEGRADED)]
    login = "login status unknown" if account.logged_in is None else "not logged in"
    login = f"logged in ({account.method})" if account.logged_in else login
    detail = f"{account.version or 'unknown version'} at {command}, {login}"
    needs_login = wanted and account.logged_in is False
    return [Diagnosis("claude", DEGRADED if needs_login else FINE, detail, LOG_IN if needs_login else "")]


def _wants_claude(ws: Workspace) -> bool:
    return ws.settings.extractor == "claude" and not ws.settings.model_url and bool(mining_state(ws).since)


def _mining(ws: Workspace) -> list[Diagnosis]:
    state = mining_state(ws)
    if state.problem:
        return [of_error("mining", MememError(state.problem), MAKE_USABLE)]
    earlier = ws.state.opt_in_record.count_sessions() if state.since else 0
    kept_out = f"; earlier sessions left unread: {earlier}" if earlier else ""
    found = [fine("mining", f"{state.switched_on}{kept_out}" or "off; `memem mine on` switches it on")]
    if ws.home.state_file.exists():
        try:
            ended = ws.state.children.end_orphans()
            calls = "1 model call" if ended == 1 else f"{ended} model calls"
            ended_calls = degraded(
                "orphans", f"stopped {calls} left running by a mining process that has ended", "Nothing to do."
            )
            found += [ended_calls] if ended else []
        except MememError as problem:
            found.append(of_error("orphans", problem, MAKE_USABLE))
    if state.stopped:
        fix = "Wait, or run `memem mine --all` to call it anyway."
        found.append(degraded("model", f"not called at the moment: {state.stopped}", fix))
    if state.dead_letters:
        parts = "1 part of a session" if state.dead_letters == 1 else f"{state.dead_letters} parts of sessions"
        fix = "Run `memem mine --retry` to try again."
        found.append(degraded("dead letters", f"{parts} could not be mined", fix))
    return found


_CHECKS: tuple[tuple[str, Check], ...] = (
    ("set-up", lambda _: machine.check_environment()),
    ("command", link.check),
    ("settings", _settings),
    ("home", machine.check_home),
    ("recall", recall.check),
    ("vault", recall.check_vault),
    ("databases", recall.check_records),
    ("claude", lambda ws: check_claude(ws, wanted=_wants_claude(ws))),
    ("model server", endpoint.check),
    ("mining", _mining),
    ("projects", projects.check),
    ("hooks", hooks.check),
    ("logs", machine.check_logs),
)
