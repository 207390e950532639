"""`run/history.json`: the progress of history mining, written by the process that mines."""

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from memem.core import files, processes
from memem.core.files import from_json

RUNNING, DONE, BUDGET, STOPPED = "running", "done", "budget", "stopped"


@dataclass(frozen=True, slots=True)
class HistoryProgress:
    """The progress or the result of a run."""

    state: str  # running, done, budget (today's is spent) or stopped
    sessions_done: int
    sessions: int  # 0 until they are counted
    calls: int
    dollars: float
    memories: int
    began: str
    ended: str = ""
    detail: str = ""  # why it was stopped
    pid: int = 0
    process_start: str = ""
    boot: str = ""
    failed: int = 0  # sessions

    def of_this_process(self) -> Self:
        pid = os.getpid()
        return replace(self, pid=pid, process_start=processes.read_start_time(pid) or "", boot=processes.read_boot_id())


def read(path: Path) -> HistoryProgress | None:
    """Read the last run, reported as stopped if its process is gone. None without a readable record."""
    try:
        progress = HistoryProgress(**from_json(path.read_bytes()))
        if progress.state != RUNNING:
            return progress
        is_alive = progress.boot == processes.read_boot_id() and processes.is_same(progress.pid, progress.process_start)
    except (OSError, ValueError, TypeError):
        return None
    if is_alive:
        return progress
    return replace(progress, state=STOPPED, detail="Its process ended unexpectedly.")


def write(path: Path, progress: HistoryProgress) -> None:
    files.make_private_folder(path.parent)
    files.write_atomic(path, json.dumps(asdict(progress)).encode(), fsync=False, mode=files.PRIVATE_FILE)
