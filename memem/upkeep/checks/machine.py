"""Check the machine: the interpreter, memem's environment and packages; its home folder, disk, lock and logs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sqlite3
import stat
import sys
from contextlib import closing, suppress
from datetime import datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import locks
from memem.core.dates import moment
from memem.core.errors import Busy, HomeError
from memem.core.home import socket_address
from memem.core.surroundings import ROOT
from memem.safety.quote import count_noun
from memem.search.rebuild import leftovers
from memem.upkeep.checks.result import Diagnosis, broken, degraded, fine, of_error
from memem.vault.verdicts import KEY_BYTES

if TYPE_CHECKING:
    from memem.workspace import Workspace

OLDEST_PYTHON = (3, 11)
LOCK = "requirements.lock"
MAX_NAMED = 5
LEAST_FREE = 200_000_000  # in bytes; the weights alone take 91 MB, and SQLite needs room to finish a transaction
WAIT_SECONDS = 2.0  # a write takes a fraction of that
LINES_SHOWN = 3
LOCKS = Path("/proc/locks")
CHANGE_HOME = "Make it a folder that you can write to, or set MEMEM_DIR to another."

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)( ;)?", re.MULTILINE)


def check_environment(root: Path = ROOT, prefix: Path | None = None) -> list[Diagnosis]:
    prefix = prefix or Path(sys.prefix)
    return [_python(), *_environment(root, prefix), *_packages(root, prefix)]


def check_home(ws: Workspace) -> list[Diagnosis]:
    return [_home(ws), _space(ws), *_leftovers(ws), *_review_key(ws), *_lock(ws)]


def read_text(path: Path) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


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
        return broken(
            "python", f"{sys.executable} is Python {version}", f"Set MEMEM_PYTHON to Python {oldest} or newer."
        )
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (text)")
        except sqlite3.OperationalError:
            detail = f"SQLite {sqlite3.sqlite_version} in {sys.executable} has no full-text search (FTS5)"
            fix = "Set MEMEM_PYTHON to a Python whose SQLite has it, such as python.org's or uv's."
            return broken("python", detail, fix)
    return fine("python", f"{version}, SQLite {sqlite3.sqlite_version}, {sys.executable}")


def _environment(root: Path, prefix: Path) -> list[Diagnosis]:
    ours = prefix / ".memem"
    if not ours.is_dir():
        return []
    built, lock, wanted = (read_text(path) for path in (ours / "built", ours / LOCK, root / LOCK))
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
    pins = _PIN.findall(read_text(root / LOCK))
    if not pins:
        return []  # installed by another installer, which checks them
    pinned: dict[str, set[str]] = {}
    for name, version, _ in pins:
        pinned.setdefault(name, set()).add(version)
    conditional = {name for name, _, condition in pins if condition}
    installed: dict[str, str] = {}
    for name in pinned:
        with suppress(metadata.PackageNotFoundError):
            if version := metadata.version(name):  # None for the rest of a removed package
                installed[name] = version
    missing = [name for name in pinned if name not in installed and name not in conditional]
    differing = [f"{name} {version}" for name, version in installed.items() if version not in pinned[name]]
    fix = f"Run {set_up(root, prefix)} to set it up again."
    if missing:
        return [broken("packages", f"missing: {_listed(missing)}", fix)]
    if differing:
        return [degraded("packages", f"versions that differ from the tested ones: {_listed(differing)}", fix)]
    return [fine("packages", f"{len(installed)} as pinned in {root / LOCK}")]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def is_usable(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def existing_parent(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _home(ws: Workspace) -> Diagnosis:
    root = ws.home.root
    if not root.is_dir():
        parent = existing_parent(root)
        if parent.is_dir() and is_usable(parent):
            return fine("home", f"{root}, to be created when needed")
        reason = "you cannot write to it" if parent.is_dir() else "it is a file"
        return broken("home", f"{root} cannot be created in {parent}: {reason}", CHANGE_HOME)
    for folder in (root, ws.home.state, ws.home.cache, ws.home.write_lock.parent):
        if folder.exists() and not is_usable(folder):
            return broken("home", f"you cannot read or write {folder}", CHANGE_HOME)
    if os.name == "posix" and root.stat().st_mode & 0o077:
        fix = f"Run `chmod -R go-rwx {shlex.quote(str(root))}` to close it."
        return degraded("home", f"{root} is open to other users of this machine", fix)
    return _socket_place(ws, root)


def _socket_place(ws: Workspace, root: Path) -> Diagnosis:
    run = ws.home.engine_lock.parent
    folder = socket_address(run, ws.environ.get("XDG_RUNTIME_DIR", ""), os.getuid()).parent
    if folder == run:
        return fine("home", str(root))
    if _is_private(folder):
        return fine("home", f"{root}; its path is too long for a socket, so the socket is in {folder} instead")
    reason = f"the path {root} is too long for a socket, and {folder} is not private"
    detail = f"{reason}, so sessions cannot share one memem process"
    return degraded("home", detail, "Set MEMEM_DIR to a shorter path, or XDG_RUNTIME_DIR to a folder with mode 700.")


def _is_private(folder: Path) -> bool:
    """Whether a folder is closed to others, or can be created so."""
    if not folder.exists():
        return is_usable(folder.parent)
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _space(ws: Workspace) -> Diagnosis:
    places = {existing_parent(path) for path in (ws.home.root, ws.settings.vault)}
    free, place = min((shutil.disk_usage(place).free, str(place)) for place in places)
    if free < LEAST_FREE:
        return degraded("space", f"only {free / 1e6:,.0f} MB free on the disk that holds {place}", "Free some space.")
    return fine("space", f"{free / 1e9:,.1f} GB free")


def _leftovers(ws: Workspace) -> list[Diagnosis]:
    if not (files := sorted(leftovers(ws))):
        return []
    detail = f"{count_noun(len(files), 'temporary file')} left by killed processes, in {Path(files[0]).parent}"
    return [degraded("leftovers", detail, "Nothing to do: the next session cleans up; no note is affected.")]


def _review_key(ws: Workspace) -> list[Diagnosis]:
    """Report a key that others can read, since they could accept notes, or that cannot be used."""
    path = ws.home.review_key
    with suppress(OSError):  # there is none
        status = path.stat()
        if os.name == "posix" and status.st_mode & 0o077:
            command = f"chmod 600 {shlex.quote(str(path))}"
            return [
                degraded("review key", f"other users can read {path} and accept notes with it", f"Run `{command}`.")
            ]
        if status.st_size != KEY_BYTES:
            detail = f"{path} is damaged: notes that you accepted may wait for review again"
            return [degraded("review key", detail, "Run `memem review` to accept them.")]
    return []


def _lock(ws: Workspace) -> list[Diagnosis]:
    path = ws.home.write_lock
    if not path.exists():
        return []
    try:
        with locks.holding(path, min(WAIT_SECONDS, ws.settings.lock_seconds)):
            return [fine("locks", "free")]
    except Busy:
        holder = holder_of(path)
        by = f"process {holder}" if holder else "another process"
        fix = f"Wait for it, or end it: `kill {holder}`." if holder else "Wait for it to finish."
        return [degraded("locks", f"{by} holds the lock {path}, so nothing else can write", fix)]
    except HomeError as problem:
        return [of_error("locks", problem, CHANGE_HOME)]


def holder_of(path: Path) -> str:
    """The id of the process that holds a lock, on systems that list them."""
    try:
        listed = LOCKS.read_text(encoding="ascii")
    except OSError:
        return ""
    inode = f":{path.stat().st_ino}"
    rows = [line.split() for line in listed.splitlines()]
    return next((row[4] for row in rows if len(row) > 5 and row[1] != "->" and row[5].endswith(inode)), "")


def check_logs(ws: Workspace) -> list[Diagnosis]:
    """Report errors of hooks in the last day, and of the last set-up: both run unseen."""
    found = []
    log, yesterday = ws.home.hooks_log, ws.clock() - timedelta(days=1)
    recent: list[str] = []
    time: datetime | None = None
    for line in filter(str.strip, read_text(log).splitlines()):
        time = moment(line.split(" ")[0]) or time  # a line without a time has that of the line before it
        if time and time > yesterday:
            recent.append(line)
    if recent:
        fix = f"These are the latest hook errors; follow any advice they give. {log} has the rest of the last day."
        found.append(degraded("hooks log", " | ".join(recent[-LINES_SHOWN:]), fix))
    log = ws.home.bootstrap_log
    dated = [line for line in read_text(log).splitlines() if moment(line.split(" ")[0])]
    if dated and " failed: " in dated[-1]:
        found.append(degraded("set-up", dated[-1].partition(" ")[2], f"See {log}, then run bootstrap.sh again."))
    return found
