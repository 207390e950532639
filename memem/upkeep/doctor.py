"""`memem doctor`: everything that memem needs, one thing at a time, with what to do about what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from memem.core import files
from memem.core.errors import MememError, SettingsError
from memem.core.settings import PLUGIN, stored_plugin_options
from memem.mine.status import mining_state
from memem.upkeep import link
from memem.upkeep.checks import folders, hooks, mining, recall, setup
from memem.upkeep.checks.result import FINE, STATES, Diagnosis, broken, degraded, of_error

if TYPE_CHECKING:
    from memem.workspace import Workspace


VERDICTS = dict(zip(STATES, ("HEALTHY", "DEGRADED", "FAILING"), strict=True))
MAKE_USABLE = "Make it readable and writable for you, and try again."
IN_CLAUDE_CODE = "Correct it in Claude Code: `/plugin configure memem@memem-marketplace`."
REPORT = "`MEMEM_DEBUG=1 memem doctor` shows where; please report it."

Check = Callable[["Workspace"], list[Diagnosis]]


def verdict(found: Iterable[Diagnosis]) -> str:
    """HEALTHY, DEGRADED or FAILING: as the worst of them."""
    return VERDICTS[max((each.state for each in found), key=STATES.index, default=FINE)]


def diagnose(ws: Workspace) -> list[Diagnosis]:
    """All of it. The index is brought up to date, calls that a killed miner left are ended, and the hooks do what they
    do in a session; nothing else is changed."""
    return [diagnosis for what, check in _CHECKS for diagnosis in _careful(ws, what, check)]


def integrity(ws: Workspace) -> list[Diagnosis]:
    """The databases alone, thoroughly."""
    return _careful(ws, "databases", recall.check_databases)


def unopened(problem: SettingsError) -> list[Diagnosis]:
    """What can be said where the settings do not even name a home."""
    fix = IN_CLAUDE_CODE if PLUGIN in str(problem) else "Correct it there, and try again."
    return [*setup.check(), broken("settings", str(problem), fix)]


def _careful(ws: Workspace, what: str, check: Check) -> list[Diagnosis]:
    """One thing that cannot be looked at is a finding, and does not keep the others from being looked at."""
    try:
        return check(ws)
    except MememError as problem:
        return [of_error(what, problem, MAKE_USABLE)]
    except OSError as problem:
        return [broken(what, f"cannot use {problem.filename}: {files.reason(problem)}", MAKE_USABLE)]
    except Exception as problem:
        if ws.settings.debug:
            raise
        told = " ".join(f"{type(problem).__name__}: {problem}".split())
        return [broken(what, f"could not be looked at: {told}", REPORT)]


def _settings(ws: Workspace) -> list[Diagnosis]:
    """The options of the plugin, as its hooks have left them."""
    if ws.settings.problems:
        return [degraded("settings", each, IN_CLAUDE_CODE) for each in ws.settings.problems]
    file = ws.home.plugin_options
    if not file.exists() or stored_plugin_options(ws.home) or file.read_bytes().strip() == b"{}":
        return []
    anew = f"Delete {file}; the next session writes it anew."
    return [degraded("settings", f"{file} cannot be read: the plugin's options do not count", anew)]


def _claude(ws: Workspace) -> list[Diagnosis]:
    mines = bool(mining_state(ws).since)
    return mining.check_claude(ws, wanted=mines and ws.settings.extractor == "claude")


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
