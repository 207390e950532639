"""`memem doctor`: check everything that memem needs, and say how to repair it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.errors import MememError, SettingsError
from memem.core.settings import PLUGIN, stored_plugin_options
from memem.mine.status import mining_state
from memem.upkeep import link
from memem.upkeep.checks import folders, hooks, mining, recall, setup
from memem.upkeep.checks.mining import MAKE_USABLE
from memem.upkeep.checks.result import FINE, STATES, Diagnosis, broken, degraded, of_error

if TYPE_CHECKING:
    from memem.workspace import Workspace

VERDICTS = dict(zip(STATES, ("HEALTHY", "DEGRADED", "FAILING"), strict=True))
IN_CLAUDE_CODE = "Correct it in Claude Code: `/plugin configure memem@memem-marketplace`."
REPORT = "Run `MEMEM_DEBUG=1 memem doctor` for details, and please report this."

Check = Callable[["Workspace"], list[Diagnosis]]


def verdict(results: Iterable[Diagnosis]) -> str:
    """HEALTHY, DEGRADED or FAILING, as the worst result."""
    return VERDICTS[max((result.state for result in results), key=STATES.index, default=FINE)]


def diagnose(ws: Workspace) -> list[Diagnosis]:
    """Run every check. This refreshes the index, ends orphaned model calls and runs the hooks; nothing else changes."""
    return [diagnosis for what, check in _CHECKS for diagnosis in _run(ws, what, check)]


def integrity(ws: Workspace) -> list[Diagnosis]:
    """Check the databases only, but thoroughly."""
    return _run(ws, "databases", recall.check_databases)


def unopened(problem: SettingsError) -> list[Diagnosis]:
    """Check what can be checked when the settings are too broken to open a home."""
    fix = IN_CLAUDE_CODE if PLUGIN in str(problem) else "Correct it there, and try again."
    return [*setup.check(), broken("settings", str(problem), fix)]


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
    """Check the plugin's options, as its hooks stored them."""
    if ws.settings.problems:
        return [degraded("settings", problem, IN_CLAUDE_CODE) for problem in ws.settings.problems]
    file = ws.home.plugin_options
    if not file.exists() or stored_plugin_options(ws.home) or file.read_bytes().strip() == b"{}":
        return []
    fix = f"Delete {file}; the next session writes it again."
    return [degraded("settings", f"{file} cannot be read, so the plugin's options are ignored", fix)]


def _claude(ws: Workspace) -> list[Diagnosis]:
    return mining.check_claude(ws, wanted=bool(mining_state(ws).since) and ws.settings.extractor == "claude")


_CHECKS: tuple[tuple[str, Check], ...] = (
    ("set-up", lambda _: setup.check()),
    ("command", link.check),
    ("settings", _settings),
    ("home", folders.check),
    ("recall", recall.check),
    ("vault", recall.check_vault),
    ("databases", recall.check_records),
    ("claude", _claude),
    ("mining", lambda ws: mining.check_mining(ws, mining_state(ws))),
    ("hooks", hooks.check),
    ("logs", folders.check_logs),
)
