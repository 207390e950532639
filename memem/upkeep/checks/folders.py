"""The home as a folder: whether it can be written, who can read it, how much room there is, and what was left in it."""

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

LEAST_FREE = 200_000_000
"""In bytes. The weights alone take 91 MB, and SQLite needs room to finish what it began."""
WAIT_SECONDS = 2.0
"""A write takes a fraction of that."""
LINES_SHOWN = 3
LOCKS = Path("/proc/locks")
ELSEWHERE = "Make it a folder that you can write, or set MEMEM_DIR to another."


def check(ws: Workspace) -> list[Diagnosis]:
    """The home, the room on its disk and the vault's, temporary files, and the lock of writers."""
    return [_home(ws), _space(ws), *_leftovers(ws), *_lock(ws)]


def is_usable(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def nearest(path: Path) -> Path:
    """The path, or the first folder above it that is there."""
    return next(each for each in (path, *path.parents) if each.exists())


def _home(ws: Workspace) -> Diagnosis:
    root = ws.home.root
    if not root.is_dir():
        return _home_to_be(root)
    for folder in (root, ws.home.state, ws.home.cache, ws.home.write_lock.parent):
        if folder.exists() and not is_usable(folder):
            return broken("home", f"{folder} cannot be used by you", ELSEWHERE)
    if os.name == "posix" and root.stat().st_mode & 0o077:
        close = f"`chmod -R go-rwx {shlex.quote(str(root))}` closes it."
        return degraded("home", f"{root} is open to other users of this machine", close)
    run = ws.home.engine_lock.parent
    folder = socket_address(run, ws.environ.get("XDG_RUNTIME_DIR", ""), os.getuid()).parent
    if folder != run:
        return _home_without_socket(root, folder)
    return fine("home", str(root))


def _home_without_socket(root: Path, folder: Path) -> Diagnosis:
    """A home whose path is too long for the socket by which sessions share what is loaded: that is in a folder."""
    if _may_hold_a_socket(folder):
        return fine("home", f"{root}; its path is too long for a socket, which is in {folder} instead")
    told = f"{root} is too long a path for a socket, and {folder} is not yours alone: each session loads all by itself"
    return degraded("home", told, "Set MEMEM_DIR to a shorter path, or XDG_RUNTIME_DIR to a folder of mode 700.")


def _may_hold_a_socket(folder: Path) -> bool:
    """Whether it is ours and closed to others, or can be made so."""
    if not folder.exists():
        return is_usable(folder.parent)
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _home_to_be(root: Path) -> Diagnosis:
    above = nearest(root)
    if above.is_dir() and is_usable(above):
        return fine("home", f"{root}, which is made when it is needed")
    why = "is closed to you" if above.is_dir() else "is a file"
    return broken("home", f"{root} cannot be made, since {above} {why}", ELSEWHERE)


def _space(ws: Workspace) -> Diagnosis:
    places = {nearest(path) for path in (ws.home.root, ws.settings.vault)}
    free, place = min((shutil.disk_usage(place).free, str(place)) for place in places)
    if free < LEAST_FREE:
        return degraded("space", f"{free / 1e6:,.0f} MB are free on the disk of {place}", "Free some space.")
    return fine("space", f"{free / 1e9:,.1f} GB free")


def _leftovers(ws: Workspace) -> list[Diagnosis]:
    """Temporary files of writers that were killed: incomplete, and in nobody's way but on the disk."""
    old = sorted(leftovers(ws))
    if not old:
        return []
    told = f"{len(old)} files that a killed writer left, the first {old[0]}"
    return [
        degraded("leftovers", told, "They go when the next session begins; what they were meant to replace is whole.")
    ]


def _lock(ws: Workspace) -> list[Diagnosis]:
    """The lock of writers, which all wait for; those of miners and encoders are left alone, since they give up."""
    path = ws.home.write_lock
    if not path.exists():
        return []
    try:
        with locks.holding(path, min(WAIT_SECONDS, ws.settings.lock_seconds)):
            return [fine("locks", "free")]
    except Busy:
        holder = holder_of(path)
        who = f"by process {holder}" if holder else "by another process"
        fix = f"Wait for it{f', or end it: `kill {holder}`' if holder else ''}; the lock ends with it."
        return [degraded("locks", f"{path} is held {who}: nobody else can write", fix)]
    except HomeError as problem:
        return [of_error("locks", problem, ELSEWHERE)]


def holder_of(path: Path) -> str:
    """The process that holds a lock, where the system lists them."""
    try:
        listed = LOCKS.read_text(encoding="ascii")
    except OSError:
        return ""
    inode = f":{path.stat().st_ino}"
    rows = [line.split() for line in listed.splitlines()]
    return next((row[4] for row in rows if len(row) > 5 and row[1] != "->" and row[5].endswith(inode)), "")


def check_logs(ws: Workspace) -> list[Diagnosis]:
    """What went wrong where nobody looks: in hooks of the last day, and in the last set-up."""
    return [*_hooks_log(ws), *_set_up_log(ws)]


def _hooks_log(ws: Workspace) -> list[Diagnosis]:
    log = ws.home.hooks_log
    recent = _since(log, ws.clock() - timedelta(days=1))
    if not recent:
        return []
    fix = f"Do what it says; {log} has all {len(recent)} lines of the last day."
    return [degraded("hooks log", " | ".join(recent[-LINES_SHOWN:]), fix)]


def _since(log: Path, since: datetime) -> list[str]:
    """The lines of a log after a moment; one without a time is of the time of the line before it."""
    recent = []
    said: datetime | None = None
    for line in filter(str.strip, _lines(log)):
        said = moment(line.split(" ")[0]) or said
        if said and said > since:
            recent.append(line)
    return recent


def _set_up_log(ws: Workspace) -> list[Diagnosis]:
    """bootstrap.sh, when a session started it in the background, has nobody to tell."""
    log = ws.home.bootstrap_log
    said = [line for line in _lines(log) if moment(line.split(" ")[0])]
    if not said or " failed: " not in said[-1]:
        return []
    return [degraded("set-up", said[-1].partition(" ")[2], f"See {log}, then run bootstrap.sh again.")]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
