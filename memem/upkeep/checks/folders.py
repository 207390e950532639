"""Check the home folder: permissions, free space, leftovers, the write lock and the logs."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import locks
from memem.core.dates import moment
from memem.core.errors import Busy, HomeError
from memem.core.home import socket_address
from memem.search.rebuild import leftovers
from memem.upkeep.checks.result import Diagnosis, broken, degraded, fine, of_error

if TYPE_CHECKING:
    from memem.workspace import Workspace

LEAST_FREE = 200_000_000  # in bytes; the weights alone take 91 MB, and SQLite needs room to finish a transaction
WAIT_SECONDS = 2.0  # a write takes a fraction of that
LINES_SHOWN = 3
LOCKS = Path("/proc/locks")
CHANGE_HOME = "Make it a folder that you can write to, or set MEMEM_DIR to another."


def check(ws: Workspace) -> list[Diagnosis]:
    return [_home(ws), _space(ws), *_leftovers(ws), *_lock(ws)]


def is_usable(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def existing_parent(path: Path) -> Path:
    """The path, or the first folder above it that exists."""
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _home(ws: Workspace) -> Diagnosis:
    root = ws.home.root
    if not root.is_dir():
        parent = existing_parent(root)
        if parent.is_dir() and is_usable(parent):
            return fine("home", f"{root}, created when it is needed")
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
        return fine("home", f"{root}; its path is too long for a socket, which is in {folder} instead")
    detail = f"the path {root} is too long for a socket, and {folder} is not private; sessions cannot share an engine"
    return degraded("home", detail, "Set MEMEM_DIR to a shorter path, or XDG_RUNTIME_DIR to a folder of mode 700.")


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
        return degraded("space", f"only {free / 1e6:,.0f} MB free on the disk with {place}", "Free some space.")
    return fine("space", f"{free / 1e9:,.1f} GB free")


def _leftovers(ws: Workspace) -> list[Diagnosis]:
    if not (files := sorted(leftovers(ws))):
        return []
    detail = f"{len(files)} temporary file{'s' * (len(files) > 1)} left by a killed process, such as {files[0]}"
    return [degraded("leftovers", detail, "Nothing to do: the next session removes them; no note is affected.")]


def _lock(ws: Workspace) -> list[Diagnosis]:
    """Check the lock that every writer waits for."""
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
    log = ws.home.hooks_log
    if recent := _lines_since(log, ws.clock() - timedelta(days=1)):
        fix = f"Follow its advice; {log} has all {len(recent)} lines of the last day."
        found.append(degraded("hooks log", " | ".join(recent[-LINES_SHOWN:]), fix))
    log = ws.home.bootstrap_log
    dated = [line for line in _lines(log) if moment(line.split(" ")[0])]
    if dated and " failed: " in dated[-1]:
        found.append(degraded("set-up", dated[-1].partition(" ")[2], f"See {log}, then run bootstrap.sh again."))
    return found


def _lines_since(log: Path, since: datetime) -> list[str]:
    """The lines of a log after a time; a line without a time has that of the line before it."""
    recent = []
    time: datetime | None = None
    for line in filter(str.strip, _lines(log)):
        time = moment(line.split(" ")[0]) or time
        if time and time > since:
            recent.append(line)
    return recent


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
