"""Check what memem runs on: the interpreter, the environment of bootstrap.sh, and its packages."""

import re
import shlex
import sqlite3
import sys
from contextlib import closing
from importlib import metadata
from pathlib import Path

from memem.core.surroundings import ROOT
from memem.upkeep.checks.result import Diagnosis, broken, degraded, fine

OLDEST_PYTHON = (3, 11)
LOCK = "requirements.lock"
MAX_NAMED = 5

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)( ;)?", re.MULTILINE)


def check(root: Path = ROOT, prefix: Path | None = None) -> list[Diagnosis]:
    """Check all of it; `prefix` is the environment, by default the running one."""
    prefix = prefix or Path(sys.prefix)
    return [_python(), *_environment(root, prefix), *_packages(root, prefix)]


def set_up(root: Path, prefix: Path, verb: str = "doctor") -> str:
    """The command that repairs the environment, to be pasted into a terminal outside of Claude Code."""
    script = shlex.quote(str(root / "bootstrap.sh"))
    is_of_plugin = prefix.name == "venv" and not (root / ".git").exists()  # as bootstrap.sh decides it
    data = f"CLAUDE_PLUGIN_DATA={shlex.quote(str(prefix.parent))} " if is_of_plugin else ""
    return f"`{data}{script} shell memem {verb}`"


def _python() -> Diagnosis:
    version = sys.version.split()[0]
    if sys.version_info < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return broken("python", f"{sys.executable} is {version}", f"Set MEMEM_PYTHON to Python {oldest} or newer.")
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (text)")
        except sqlite3.OperationalError:
            detail = f"the SQLite {sqlite3.sqlite_version} of {sys.executable} has no FTS5"
            fix = "Set MEMEM_PYTHON to a Python whose SQLite has it, such as python.org's or uv's."
            return broken("python", detail, fix)
    return fine("python", f"{version}, SQLite {sqlite3.sqlite_version}, {sys.executable}")


def _environment(root: Path, prefix: Path) -> list[Diagnosis]:
    """Check an environment that bootstrap.sh made: complete, for this memem, and as the lock file says."""
    ours = prefix / ".memem"
    if not ours.is_dir():
        return []
    built, lock, wanted = (_text(path) for path in (ours / "built", ours / LOCK, root / LOCK))
    built_for = built.splitlines()[2:3]
    if not built_for or not lock:
        detail = f"{prefix} is incomplete"
    elif Path(built_for[0]).resolve() != root.resolve():
        detail = f"{prefix} belongs to the memem in {built_for[0]}"
    elif lock != wanted:
        detail = f"{prefix} does not match {root / LOCK}"
    else:
        return [fine("environment", str(prefix))]
    return [degraded("environment", detail, f"Run {set_up(root, prefix)} to set it up again.")]


def _packages(root: Path, prefix: Path) -> list[Diagnosis]:
    """Compare installed with pinned versions; a package that is pinned under a condition may be missing."""
    pins = _PIN.findall(_text(root / LOCK))
    if not pins:
        return []  # installed by another installer, which checks them
    pinned: dict[str, set[str]] = {}
    for name, version, _ in pins:
        pinned.setdefault(name, set()).add(version)
    conditional = {name for name, _, condition in pins if condition}
    installed = {name: _version(name) for name in pinned}
    missing = [name for name, version in installed.items() if not version and name not in conditional]
    differing = [
        f"{name} {installed[name]}" for name in pinned if installed[name] and installed[name] not in pinned[name]
    ]
    fix = f"Run {set_up(root, prefix)} to set it up again."
    if missing:
        return [broken("packages", f"missing: {_listed(missing)}", fix)]
    if differing:
        return [degraded("packages", f"versions that differ from the tested ones: {_listed(differing)}", fix)]
    return [fine("packages", f"{sum(map(bool, installed.values()))} as pinned in {root / LOCK}")]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
