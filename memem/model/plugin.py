"""Ask about the account and the plugin in Claude Code, and run commands that manage the plugin."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
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
_HAS_ACCOUNTS = re.compile(r"^ {1,8}auth\b", re.MULTILINE)
_VERSION = re.compile(r"(?<![\d.])\d+(?:\.\d+)+\S*")


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
    key: str
    scope: str
    folder: Path | None = None  # the project's; None: for the user

    @property
    def where(self) -> str:
        return f"for {self.folder}" if self.folder else "for all projects"


def installed(ws: Workspace) -> list[Installed]:
    installations = []
    for key, entry in _installed(ws.claude_folder / "plugins"):
        folder = Path(str(entry.get("projectPath", "")))
        installations.append(Installed(key, str(entry.get("scope", "user")), folder if folder.is_absolute() else None))
    return installations


def marketplaces(ws: Workspace) -> list[str]:
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


@dataclass(frozen=True, slots=True)
class Account:
    """`version` is empty and `logged_in` None if the CLI does not say; `method` is in its own words."""

    version: str
    logged_in: bool | None
    method: str = ""


def look_at_account(says: Callable[..., str]) -> Account:
    match = _VERSION.search(says("--version"))
    version, login = match[0] if match else "", {}
    if _HAS_ACCOUNTS.search(says("--help")):  # a CLI without that command would send its name to the model
        with suppress(ValueError):
            login = _object(from_json(says("auth", "status")))
    logged_in = login.get("loggedIn")
    is_known = isinstance(logged_in, bool)
    return Account(version, logged_in, str(login.get("authMethod") or "")) if is_known else Account(version, None)
