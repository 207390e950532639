"""Locate the plugin in Claude Code, and run commands that manage it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memem.core.files import from_json
from memem.core.surroundings import ROOT
from memem.model.claude import environment

if TYPE_CHECKING:
    from memem.workspace import Workspace


NAME = "memem"
MARKETPLACE = "memem-marketplace"
HOOKS = Path("hooks", "hooks.json")
COMMAND_SECONDS = 60
SERVER = "plugin:memem:memem"  # Claude Code's name for memem's MCP server
SKIPPED_SECONDS = 15 * 60  # for which Claude Code (2.1.197 to 2.1.326) does not restart a server after a failed start


@dataclass(frozen=True, slots=True)
class Plugin:
    """`data` is None if Claude Code has not installed it; if not `enabled`, it is installed and idle."""

    root: Path
    data: Path | None = None
    enabled: bool = True

    @property
    def hooks_file(self) -> Path:
        return self.root / HOOKS


@dataclass(frozen=True, slots=True)
class Installed:
    """An installation in Claude Code: for the user, or (`folder`) for one project."""

    key: str
    scope: str
    folder: Path | None = None

    @property
    def where(self) -> str:
        return f"for {self.folder}" if self.folder else "for all projects"


def installed(ws: Workspace) -> list[Installed]:
    """Return all installations, our own marketplace's first."""
    installations = []
    for key, entry in _installed(ws.claude_folder / "plugins"):
        folder = Path(str(entry.get("projectPath", "")))
        installations.append(Installed(key, str(entry.get("scope", "user")), folder if folder.is_absolute() else None))
    return installations


def marketplaces(ws: Workspace) -> list[str]:
    """Return our marketplace, if Claude Code has it."""
    listed = _read(ws.claude_folder / "plugins" / "known_marketplaces.json")
    return [MARKETPLACE] if MARKETPLACE in listed else []


def find(ws: Workspace, own_root: Path = ROOT) -> Plugin | None:
    """Return the installed plugin, else the one that this memem is part of, else None."""
    plugins = ws.claude_folder / "plugins"
    for key, entry in _installed(plugins):
        root = _local_folder(plugins, key.partition("@")[2]) or Path(str(entry.get("installPath", "")))
        enabled = _object(_read(ws.claude_folder / "settings.json").get("enabledPlugins")).get(key)
        return Plugin(root, plugins / "data" / key.replace("@", "-"), enabled is not False)
    return Plugin(own_root) if (own_root / HOOKS).is_file() else None


def server_is_skipped(ws: Workspace) -> bool:
    """Whether Claude Code does not start memem's server after a failed start, so that its tools are missing."""
    failure = _object(_read(ws.failed_servers_file).get(SERVER)).get("timestamp")
    if not isinstance(failure, int | float):
        return False
    now = ws.clock().timestamp() * 1000
    return now - SKIPPED_SECONDS * 1000 < failure <= now


def _installed(plugins: Path) -> list[tuple[str, dict[str, Any]]]:
    """List the installations of memem, our own marketplace's first, the user's before those of projects."""
    installations = []
    for key, entries in _object(_read(plugins / "installed_plugins.json").get("plugins")).items():
        if key.partition("@")[0] == NAME:
            listed = entries if isinstance(entries, list) else [entries]
            installations += [(key, entry) for entry in listed if isinstance(entry, dict)]
    return sorted(installations, key=lambda pair: (pair[0] != f"{NAME}@{MARKETPLACE}", pair[1].get("scope") != "user"))


def _local_folder(plugins: Path, marketplace: str) -> Path | None:
    """Return the folder of a plugin from a local marketplace, which runs there and not from its copy."""
    entry = _object(_read(plugins / "known_marketplaces.json").get(marketplace))
    if _object(entry.get("source")).get("source") != "directory":
        return None
    root = Path(str(entry.get("installLocation", "")))
    return root if (root / HOOKS).is_file() else None


def _read(path: Path) -> dict[str, Any]:
    try:
        return _object(from_json(path.read_bytes()))
    except (OSError, ValueError):
        return {}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def run_plugin_command(
    command: str, arguments: Sequence[str], environ: Mapping[str, str], folder: Path | None = None
) -> bool:
    """Run `claude plugin ARGUMENTS`, for the project in `folder` if given; return whether it worked."""
    try:
        done = subprocess.run(
            [command, "plugin", *arguments],
            cwd=folder,
            env=environment(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
