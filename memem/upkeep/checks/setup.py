"""What memem runs on: the interpreter, the environment that bootstrap.sh made, and the packages in it."""

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
MOST_NAMED = 5

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)( ;)?", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def check(root: Path = ROOT, prefix: Path | None = None) -> list[Diagnosis]:
    """All three. `prefix` is the environment, if it is not the one that runs this."""
    return [_python(), *_environment(root, prefix or Path(sys.prefix)), *_packages(root, prefix or Path(sys.prefix))]


def set_up(root: Path, prefix: Path, verb: str = "doctor") -> str:
    """The command that makes the environment complete, as it can be pasted into a terminal.

    There nothing tells the script where Claude Code lets the plugin keep its environment.
    """
    script = shlex.quote(str(root / "bootstrap.sh"))
    is_of_plugin = prefix.name == "venv" and not (root / ".git").exists()  # as bootstrap.sh decides it
    data = f"CLAUDE_PLUGIN_DATA={shlex.quote(str(prefix.parent))} " if is_of_plugin else ""
    return f"`{data}{script} shell memem {verb}`"


def _again(root: Path, prefix: Path) -> str:
    return f"{set_up(root, prefix)} sets it up again."


def _python() -> Diagnosis:
    version = sys.version.split()[0]
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return broken("python", f"{sys.executable} is {version}", f"Set MEMEM_PYTHON to a Python {wanted} or newer.")
    if not _has_full_text():
        detail = f"the SQLite {sqlite3.sqlite_version} of {sys.executable} has no FTS5"
        return broken("python", detail, "Set MEMEM_PYTHON to a Python whose SQLite has it: python.org's, or uv's.")
    return fine("python", f"{version}, SQLite {sqlite3.sqlite_version}, {sys.executable}")


def _has_full_text() -> bool:
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (text)")
        except sqlite3.OperationalError:
            return False
    return True


def _environment(root: Path, prefix: Path) -> list[Diagnosis]:
    """Whether the environment is bootstrap.sh's, whole, of this memem, and as the lock file wants it."""
    ours = prefix / ".memem"
    if not ours.is_dir():
        return []  # somebody else made it, and keeps it
    built, lock, wanted = (_text(path) for path in (ours / "built", ours / LOCK, root / LOCK))
    of_root = built.splitlines()[2:3]
    if not of_root or not lock:
        return [degraded("environment", f"{prefix} was not finished", _again(root, prefix))]
    if Path(of_root[0]).resolve() != root.resolve():
        return [degraded("environment", f"{prefix} belongs to the memem in {of_root[0]}", _again(root, prefix))]
    if lock != wanted:
        return [degraded("environment", f"{prefix} is not as {root / LOCK} wants it", _again(root, prefix))]
    return [fine("environment", str(prefix))]


def _packages(root: Path, prefix: Path) -> list[Diagnosis]:
    """The installed versions against the pinned ones; what is pinned under a condition may be missing here."""
    pins = _PIN.findall(_text(root / LOCK))
    if not pins:
        return _required()
    wanted: dict[str, set[str]] = {}
    for name, version, _ in pins:
        wanted.setdefault(name, set()).add(version)
    conditional = {name for name, _, condition in pins if condition}
    have = {name: _version(name) for name in wanted}
    missing = [name for name, version in have.items() if not version and name not in conditional]
    others = [f"{name} {have[name]}" for name, versions in wanted.items() if have[name] and have[name] not in versions]
    if missing:
        return [broken("packages", f"missing: {_listed(missing)}", _again(root, prefix))]
    if others:
        return [degraded("packages", f"other versions than tested: {_listed(others)}", _again(root, prefix))]
    return [fine("packages", f"{sum(map(bool, have.values()))} as {root / LOCK} wants them")]


def _required() -> list[Diagnosis]:
    """Where there is no lock file, a package's own word for what it needs."""
    try:
        required = metadata.requires("memem") or []
    except metadata.PackageNotFoundError:
        return []
    names = [match[0] for text in required if "extra ==" not in text and (match := _NAME.match(text))]
    missing = [name for name in names if not _version(name)]
    if missing:
        return [broken("packages", f"missing: {_listed(missing)}", "Install memem again, with the same installer.")]
    return [fine("packages", f"{len(names)} installed")]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
